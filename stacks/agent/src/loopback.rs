//! A stack for tests: a host that reaches nobody but itself, and loses nothing.

use crate::order;
use crate::{Handle, Host, Meter, Options, Stack, Stage};
use nix::sys::eventfd::EventFd;
use std::collections::{HashMap, VecDeque};
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::{AsRawFd, RawFd};
use std::sync::Arc;
use std::time::Duration;

/// The host's address.
pub const ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// The stack.
pub struct Loopback {
    /// A descriptor that can never be read.
    silent: EventFd,
    meter: Meter,
    /// The number of the next socket, which is also the port of a socket that gets one.
    next: Handle,
    listeners: HashMap<u16, VecDeque<Handle>>,
    streams: HashMap<Handle, Stream>,
    datagrams: HashMap<Handle, VecDeque<(SocketAddr, Vec<u8>)>>,
    has_changed: bool,
}

/// An end of a connection.
struct Stream {
    own: SocketAddr,
    peer: SocketAddr,
    other: Handle,
    incoming: VecDeque<u8>,
    has_ended: bool,
}

fn at(port: Handle) -> SocketAddr {
    SocketAddr::new(ADDRESS, u16::try_from(port).unwrap())
}

/// Starts a host with this stack.
pub fn host() -> Arc<Host<Loopback>> {
    let order = r#"{"interfaces": [{"name": "lo", "mtu_bytes": 1500, "addresses": []}], "routes": [], "stack": {
        "name": "loopback", "congestion_control": "none", "window_scaling": true, "sack": true, "timestamps": true,
        "receive_buffer": {"minimum": "1 B", "initial": "1 B", "maximum": "1 B"},
        "send_buffer": {"minimum": "1 B", "initial": "1 B", "maximum": "1 B"}}}"#;
    let stack = Loopback {
        silent: EventFd::new().unwrap(),
        meter: Meter::default(),
        next: 1000,
        listeners: HashMap::new(),
        streams: HashMap::new(),
        datagrams: HashMap::new(),
        has_changed: false,
    };
    Host::start(stack, &order::read(order).unwrap()).unwrap()
}

impl Loopback {
    fn new_handle(&mut self) -> Handle {
        self.next += 1;
        self.next
    }

    fn stream(&mut self, handle: Handle) -> io::Result<&mut Stream> {
        self.streams.get_mut(&handle).ok_or_else(|| ErrorKind::ConnectionReset.into())
    }
}

impl Stack for Loopback {
    fn poll(&mut self) -> bool {
        std::mem::take(&mut self.has_changed)
    }

    fn due(&mut self) -> Option<Duration> {
        None
    }

    fn descriptor(&self) -> RawFd {
        std::os::fd::AsFd::as_fd(&self.silent).as_raw_fd()
    }

    fn meter(&mut self) -> &mut Meter {
        &mut self.meter
    }

    fn listen(&mut self, _: IpAddr, _: Options) -> io::Result<u16> {
        let port = at(self.new_handle()).port();
        self.listeners.insert(port, VecDeque::new());
        Ok(port)
    }

    fn accept(&mut self, port: u16) -> Option<Handle> {
        self.listeners.get_mut(&port)?.pop_front()
    }

    fn connect(&mut self, _: IpAddr, to: SocketAddr, _: Options) -> io::Result<Handle> {
        let (near, far) = (self.new_handle(), self.new_handle());
        let waiting = self.listeners.get_mut(&to.port()).ok_or(ErrorKind::ConnectionRefused)?;
        waiting.push_back(far);
        let (own, incoming) = (at(near), VecDeque::new());
        let stream =
            |own, peer, other| Stream { own, peer, other, incoming: incoming.clone(), has_ended: false };
        self.streams.insert(near, stream(own, to, far));
        self.streams.insert(far, stream(to, own, near));
        self.has_changed = true;
        Ok(near)
    }

    fn stage(&mut self, connection: Handle) -> Stage {
        if self.streams.contains_key(&connection) { Stage::Open } else { Stage::Gone }
    }

    fn ends(&mut self, connection: Handle) -> Option<(SocketAddr, SocketAddr)> {
        self.stream(connection).ok().map(|stream| (stream.own, stream.peer))
    }

    fn write(&mut self, connection: Handle, bytes: &[u8]) -> io::Result<usize> {
        let other = self.stream(connection)?.other;
        self.stream(other)?.incoming.extend(bytes);
        self.has_changed = true;
        Ok(bytes.len())
    }

    fn read(&mut self, connection: Handle, bytes: &mut [u8]) -> io::Result<Option<usize>> {
        let stream = self.stream(connection)?;
        let count = bytes.len().min(stream.incoming.len());
        for (place, byte) in bytes.iter_mut().zip(stream.incoming.drain(..count)) {
            *place = byte;
        }
        Ok(if count > 0 || stream.has_ended { Some(count) } else { None })
    }

    fn finish(&mut self, connection: Handle) {
        let other = self.streams.get(&connection).map(|stream| stream.other);
        if let Some(other) = other.and_then(|other| self.streams.get_mut(&other)) {
            other.has_ended = true;
            self.has_changed = true;
        }
    }

    fn abort(&mut self, connection: Handle) {
        if let Some(stream) = self.streams.remove(&connection) {
            self.streams.remove(&stream.other);
            self.has_changed = true;
        }
    }

    fn release(&mut self, connection: Handle) {
        self.finish(connection);
        self.streams.remove(&connection);
    }

    fn bind(&mut self, _: IpAddr) -> io::Result<(Handle, u16)> {
        let handle = self.new_handle();
        self.datagrams.insert(handle, VecDeque::new());
        Ok((handle, at(handle).port()))
    }

    fn send(&mut self, socket: Handle, to: SocketAddr, bytes: &[u8]) -> io::Result<bool> {
        if let Some(queue) = self.datagrams.get_mut(&usize::from(to.port())) {
            queue.push_back((at(socket), bytes.to_vec()));
            self.has_changed = true;
        }
        Ok(true)
    }

    fn receive(&mut self, socket: Handle, bytes: &mut [u8]) -> Option<(usize, SocketAddr)> {
        while let Some((from, datagram)) = self.datagrams.get_mut(&socket)?.pop_front() {
            // A datagram that is longer than the buffer is nobody's.
            if let Some(place) = bytes.get_mut(..datagram.len()) {
                place.copy_from_slice(&datagram);
                return Some((datagram.len(), from));
            }
        }
        None
    }

    fn unbind(&mut self, socket: Handle) {
        self.datagrams.remove(&socket);
    }
}
