//! smoltcp as the agent uses it.

use crate::device::Device;
use crate::listeners::Listener;
use nettrial_stack_agent::{Handle, HostOrder, Meter, Options, Stack, Stage, Wire};
use nettrial_traffic::{Error, Result};
use smoltcp::iface::{
    Config, Interface, PollIngressSingleResult, PollResult, Route, SocketHandle, SocketSet,
};
use smoltcp::socket::tcp::{CongestionControl, RecvError, Socket, SocketBuffer, State};
use smoltcp::socket::udp;
use smoltcp::time::Instant;
use smoltcp::wire::{EthernetAddress, IpAddress, IpCidr, IpEndpoint};
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, Hasher};
use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::RawFd;
use std::time::Duration;

/// The most frames that are taken, and the most rounds in which each socket sends, before others have their turn.
const ROUNDS: usize = 64;
/// The ports that a host chooses from (RFC 6335 section 6).
const FIRST_PORT: u16 = 49_152;
/// The most connections that wait out their last segments (TIME-WAIT); the oldest are forgotten.
const MOST_ENDING: usize = 64;
/// The time for which a closed connection waits for the other end, which may be gone.
const LONGEST_END: smoltcp::time::Duration = smoltcp::time::Duration::from_secs(30);
/// Bytes of the headers of Ethernet, IPv4 and UDP.
const HEADER_BYTES: usize = 42;
/// The most fragments of a datagram: a link has an MTU of at least 68 bytes (RFC 791 section 3.2).
const MOST_FRAGMENTS: usize = 2048;
/// The datagrams and their bytes that a UDP socket keeps in each direction.
const DATAGRAMS: usize = 4096;
const DATAGRAM_BYTES: usize = 4 << 20;

/// A host's smoltcp.
pub struct Smoltcp {
    device: Device,
    interface: Interface,
    sockets: SocketSet<'static>,
    settings: Settings,
    listeners: HashMap<u16, Listener>,
    handles: HashMap<Handle, SocketHandle>,
    next_handle: Handle,
    next_port: u16,
    /// Connections that the agent has closed.
    released: VecDeque<SocketHandle>,
}

/// What each connection has.
#[derive(Clone, Copy)]
struct Settings {
    congestion_control: CongestionControl,
    timestamps: bool,
    receive_bytes: usize,
    send_bytes: usize,
}

fn now() -> Instant {
    Instant::from_micros(i64::try_from(nettrial_traffic::now_ns() / 1000).unwrap_or(i64::MAX))
}

/// Returns the clock of timestamps (RFC 7323 section 5.4).
fn milliseconds() -> u32 {
    (nettrial_traffic::now_ns() / 1_000_000) as u32
}

impl Smoltcp {
    /// Brings up the stack of a host's order on its frames.
    ///
    /// # Errors
    /// Fails if smoltcp has none of the settings, or no room for the addresses or routes.
    pub fn start(order: &HostOrder, wire: Wire) -> Result<Self> {
        let settings = Settings {
            congestion_control: match order.stack.congestion_control.as_str() {
                "cubic" => CongestionControl::Cubic,
                "reno" => CongestionControl::Reno,
                other => {
                    return Err(Error::Unsupported(format!("smoltcp has no congestion control {other:?}")));
                }
            },
            timestamps: order.stack.timestamps,
            receive_bytes: usize::try_from(order.stack.receive_buffer.maximum.0)?,
            send_bytes: usize::try_from(order.stack.send_buffer.maximum.0)?,
        };
        let random = std::hash::RandomState::new().build_hasher().finish();
        let mut config = Config::new(EthernetAddress(wire.address).into());
        config.random_seed = random;
        let mut device = Device::new(wire);
        let mut interface = Interface::new(config, &mut device, now());
        let mut fits = true;
        interface.update_ip_addrs(|own| {
            for address in &order.interfaces[0].addresses {
                fits &= own.push(IpCidr::new(address.address().into(), address.0.prefix_len())).is_ok();
            }
        });
        interface.routes_mut().update(|table| {
            for route in &order.routes {
                let Some(gateway) = route.gateway else { continue };
                let network = route.destination;
                let cidr = IpCidr::new(network.addr().into(), network.prefix_len());
                let via_router = IpAddress::from(gateway);
                fits &=
                    table.push(Route { cidr, via_router, preferred_until: None, expires_at: None }).is_ok();
            }
        });
        if !fits {
            return Err(Error::Unsupported("smoltcp has no room for so many addresses or routes".into()));
        }
        Ok(Self {
            device,
            interface,
            sockets: SocketSet::new(Vec::new()),
            settings,
            listeners: HashMap::new(),
            handles: HashMap::new(),
            next_handle: 0,
            next_port: FIRST_PORT + (random % u64::from(u16::MAX - FIRST_PORT)) as u16,
            released: VecDeque::new(),
        })
    }

    /// Returns a port that no socket has.
    fn port(&mut self) -> io::Result<u16> {
        for _ in FIRST_PORT..=u16::MAX {
            let port = self.next_port;
            self.next_port = port.checked_add(1).unwrap_or(FIRST_PORT);
            let is_taken = self.sockets.iter().any(|(_, socket)| match socket {
                smoltcp::socket::Socket::Tcp(socket) => {
                    socket.local_endpoint().is_some_and(|own| own.port == port)
                }
                smoltcp::socket::Socket::Udp(socket) => socket.endpoint().port == port,
            });
            if !is_taken && !self.listeners.contains_key(&port) {
                return Ok(port);
            }
        }
        Err(io::Error::new(ErrorKind::AddrInUse, "every port is taken"))
    }

    fn keep(&mut self, socket: SocketHandle) -> Handle {
        self.next_handle += 1;
        self.handles.insert(self.next_handle, socket);
        self.next_handle
    }

    fn tcp(&mut self, handle: Handle) -> io::Result<&mut Socket<'static>> {
        let socket = self.handles.get(&handle).copied().ok_or(ErrorKind::NotConnected)?;
        Ok(self.sockets.get_mut(socket))
    }

    fn udp(&mut self, handle: Handle) -> io::Result<&mut udp::Socket<'static>> {
        let socket = self.handles.get(&handle).copied().ok_or(ErrorKind::NotConnected)?;
        Ok(self.sockets.get_mut(socket))
    }

    /// Moves on connections that are being opened.
    fn attend_listeners(&mut self) {
        let settings = self.settings;
        for listener in self.listeners.values_mut() {
            listener.attend(&mut self.sockets, &mut self.released, |options| settings.socket(options));
        }
    }

    /// Sends all of a datagram of `length` bytes that was just given to its socket, if it is fragmented: smoltcp forgets the
    /// fragments that are left of one when it begins with the next.
    fn send_fragments(&mut self, length: usize) {
        if length + HEADER_BYTES <= self.device.wire.largest {
            return;
        }
        for _ in 0..MOST_FRAGMENTS {
            let now = now();
            self.interface.poll_egress(now, &mut self.device, &mut self.sockets);
            if self.interface.poll_delay(now, &self.sockets) != Some(smoltcp::time::Duration::ZERO) {
                break;
            }
        }
    }

    /// Removes the connections that have ended.
    fn forget(&mut self) {
        for _ in 0..self.released.len() {
            let Some(handle) = self.released.pop_front() else { return };
            match self.sockets.get::<Socket>(handle).state() {
                State::Closed => drop(self.sockets.remove(handle)),
                State::TimeWait if self.released.len() >= MOST_ENDING => drop(self.sockets.remove(handle)),
                _ => self.released.push_back(handle),
            }
        }
    }
}

impl Settings {
    fn socket(&self, options: Options) -> Socket<'static> {
        let buffer = |bytes| SocketBuffer::new(vec![0; bytes]);
        let mut socket = Socket::new(buffer(self.receive_bytes), buffer(self.send_bytes));
        socket.set_congestion_control(self.congestion_control);
        socket.set_nagle_enabled(!options.no_delay);
        socket.set_tsval_generator(self.timestamps.then_some(milliseconds as fn() -> u32));
        socket
    }
}

impl Stack for Smoltcp {
    fn poll(&mut self) -> bool {
        let (now, mut changed) = (now(), false);
        self.interface.poll_maintenance(now);
        for _ in 0..ROUNDS {
            match self.interface.poll_ingress_single(now, &mut self.device, &mut self.sockets) {
                PollIngressSingleResult::None => break,
                PollIngressSingleResult::PacketProcessed => {}
                PollIngressSingleResult::SocketStateChanged => {
                    changed = true;
                    self.attend_listeners();
                }
            }
        }
        for _ in 0..ROUNDS {
            match self.interface.poll_egress(now, &mut self.device, &mut self.sockets) {
                PollResult::None => break,
                PollResult::SocketStateChanged => changed = true,
            }
        }
        self.forget();
        changed
    }

    fn due(&mut self) -> Option<Duration> {
        self.interface.poll_delay(now(), &self.sockets).map(Into::into)
    }

    fn descriptor(&self) -> RawFd {
        self.device.wire.descriptor()
    }

    fn meter(&mut self) -> &mut Meter {
        &mut self.device.wire.meter
    }

    fn listen(&mut self, address: IpAddr, options: Options) -> io::Result<u16> {
        let port = self.port()?;
        self.listeners.insert(port, Listener::new(address, port, options));
        self.attend_listeners();
        Ok(port)
    }

    fn accept(&mut self, port: u16) -> Option<Handle> {
        let socket = self.listeners.get_mut(&port)?.accept()?;
        Some(self.keep(socket))
    }

    fn connect(&mut self, address: IpAddr, to: SocketAddr, options: Options) -> io::Result<Handle> {
        let port = self.port()?;
        let mut socket = self.settings.socket(options);
        let (own, peer) = (IpEndpoint::from(SocketAddr::new(address, port)), IpEndpoint::from(to));
        socket
            .connect(self.interface.context(), peer, own)
            .map_err(|error| io::Error::other(error.to_string()))?;
        let socket = self.sockets.add(socket);
        Ok(self.keep(socket))
    }

    fn stage(&mut self, connection: Handle) -> Stage {
        match self.tcp(connection).map(|socket| socket.state()) {
            Ok(State::SynSent | State::SynReceived) => Stage::Opening,
            Ok(State::Closed) | Err(_) => Stage::Gone,
            Ok(_) => Stage::Open,
        }
    }

    fn ends(&mut self, connection: Handle) -> Option<(SocketAddr, SocketAddr)> {
        let socket = self.tcp(connection).ok()?;
        let of = |end: IpEndpoint| SocketAddr::new(end.addr.into(), end.port);
        Some((of(socket.local_endpoint()?), of(socket.remote_endpoint()?)))
    }

    fn write(&mut self, connection: Handle, bytes: &[u8]) -> io::Result<usize> {
        let socket = self.tcp(connection)?;
        let gone =
            if socket.state() == State::Closed { ErrorKind::ConnectionReset } else { ErrorKind::BrokenPipe };
        socket.send_slice(bytes).map_err(|_| gone.into())
    }

    fn read(&mut self, connection: Handle, bytes: &mut [u8]) -> io::Result<Option<usize>> {
        match self.tcp(connection)?.recv_slice(bytes) {
            Ok(0) if !bytes.is_empty() => Ok(None),
            Ok(count) => Ok(Some(count)),
            Err(RecvError::Finished) => Ok(Some(0)),
            Err(RecvError::InvalidState) => Err(ErrorKind::ConnectionReset.into()),
        }
    }

    fn finish(&mut self, connection: Handle) {
        if let Ok(socket) = self.tcp(connection) {
            socket.close();
        }
    }

    fn abort(&mut self, connection: Handle) {
        if let Ok(socket) = self.tcp(connection) {
            socket.abort();
        }
    }

    fn release(&mut self, connection: Handle) {
        let Ok(socket) = self.tcp(connection) else { return };
        // As with any system, the other end learns that nobody reads what it has sent.
        if socket.recv_queue() > 0 {
            socket.abort()
        } else {
            socket.close()
        }
        socket.set_timeout(Some(LONGEST_END));
        self.released.extend(self.handles.remove(&connection));
    }

    fn bind(&mut self, address: IpAddr) -> io::Result<(Handle, u16)> {
        let port = self.port()?;
        let buffer =
            || udp::PacketBuffer::new(vec![udp::PacketMetadata::EMPTY; DATAGRAMS], vec![0; DATAGRAM_BYTES]);
        let mut socket = udp::Socket::new(buffer(), buffer());
        let at = (IpAddress::from(address), port);
        socket.bind(at).map_err(|error| io::Error::other(error.to_string()))?;
        let socket = self.sockets.add(socket);
        Ok((self.keep(socket), port))
    }

    fn send(&mut self, socket: Handle, to: SocketAddr, bytes: &[u8]) -> io::Result<bool> {
        match self.udp(socket)?.send_slice(bytes, IpEndpoint::from(to)) {
            Ok(()) => {
                self.send_fragments(bytes.len());
                Ok(true)
            }
            Err(udp::SendError::BufferFull) => Ok(false),
            Err(error) => Err(io::Error::other(error.to_string())),
        }
    }

    fn receive(&mut self, socket: Handle, bytes: &mut [u8]) -> Option<(usize, SocketAddr)> {
        // A datagram that is longer than the buffer is nobody's.
        loop {
            match self.udp(socket).ok()?.recv_slice(bytes) {
                Ok((count, metadata)) => {
                    return Some((
                        count,
                        SocketAddr::new(metadata.endpoint.addr.into(), metadata.endpoint.port),
                    ));
                }
                Err(udp::RecvError::Truncated) => {}
                Err(udp::RecvError::Exhausted) => return None,
            }
        }
    }

    fn unbind(&mut self, socket: Handle) {
        if let Some(socket) = self.handles.remove(&socket) {
            self.sockets.remove(socket);
        }
    }
}
