//! UDP sockets, and the handshake that gives each sender a socket of its own at the receiver
//! (`engine/traffic/src/datagram.rs`).

use crate::Context;
use crate::connection::Connection;
use crate::host::Host;
use crate::meter::Key;
use crate::stack::{Handle, Stack};
use nettrial_flows::wire::Weight;
use nettrial_scenario::Fault;
use nettrial_traffic::parts::{ANSWER_BYTES, COOKIE_BYTES, MOST_SESSIONS, OPENING_BYTES, Purpose, WAITS};
use nettrial_traffic::{Error, Result, Side};
use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The time for which a socket waits for room for a datagram.
const ROOM_WAIT: Duration = Duration::from_secs(1);
/// The time for which a thread sleeps at a time that waits for as long as a flow may last.
pub const LONG: Duration = Duration::from_secs(3600);

/// The first event at a socket and a connection beside it.
pub enum Arrival {
    /// A datagram of so many bytes.
    Datagram(usize),
    /// So many bytes of the connection, or its end.
    Told(io::Result<usize>),
}

/// A UDP socket.
pub struct Socket<S: Stack> {
    host: Arc<Host<S>>,
    handle: Handle,
    /// The socket's port.
    pub port: u16,
    /// The other end, if the socket has only one.
    peer: Option<SocketAddr>,
}

impl<S: Stack> Socket<S> {
    /// Opens a socket at a port of `address`.
    pub fn bind(host: &Arc<Host<S>>, address: IpAddr) -> Result<Self> {
        let (handle, port) = host.with(|stack| stack.bind(address)).context("opening a UDP socket")?;
        Ok(Self { host: Arc::clone(host), handle, port, peer: None })
    }

    /// Chooses the only other end from now on.
    pub fn choose(&mut self, peer: SocketAddr) {
        let key = Key { is_tcp: false, port: self.port, peer };
        self.host.with(|stack| {
            if let Some(peer) = self.peer {
                stack.meter().end(Key { peer, ..key });
            }
            stack.meter().begin(key);
        });
        self.peer = Some(peer);
    }

    /// Sends a datagram to the chosen end.
    pub fn send(&self, bytes: &[u8]) -> io::Result<()> {
        let peer = self.peer.ok_or(io::ErrorKind::NotConnected)?;
        self.send_to(bytes, peer)
    }

    /// Sends a datagram, for which there is room soon.
    pub fn send_to(&self, bytes: &[u8], to: SocketAddr) -> io::Result<()> {
        let sent =
            self.host.wait(Instant::now() + ROOM_WAIT, |stack| match stack.send(self.handle, to, bytes) {
                Ok(true) => Some(Ok(())),
                Ok(false) => None,
                Err(error) => Some(Err(error)),
            });
        sent.unwrap_or_else(|| Err(io::ErrorKind::TimedOut.into()))
    }

    /// Reads the next datagram of the chosen end, and returns its length; `None` if none comes within `limit`.
    pub fn receive(&self, bytes: &mut [u8], limit: Duration) -> Option<usize> {
        self.receive_from(bytes, limit).map(|(length, _)| length)
    }

    /// Reads the next datagram, and returns its length and its sender.
    pub fn receive_from(&self, bytes: &mut [u8], limit: Duration) -> Option<(usize, SocketAddr)> {
        self.host.wait(Instant::now() + limit, |stack| self.next(stack, bytes))
    }

    /// Reads the next datagram of the chosen end, or, if there is none, what `control` has for `told`, which is read no
    /// more once it is empty; `None` if neither comes within `limit`.
    pub fn receive_or_read(
        &self,
        bytes: &mut [u8],
        control: &Connection<S>,
        told: &mut [u8],
        limit: Duration,
    ) -> Option<Arrival> {
        self.host.wait(Instant::now() + limit, |stack| match self.next(stack, bytes) {
            Some((length, _)) => Some(Arrival::Datagram(length)),
            None if told.is_empty() => None,
            None => control.read_now(stack, told).transpose().map(Arrival::Told),
        })
    }

    /// Takes the next datagram of the chosen end, or of any.
    fn next(&self, stack: &mut S, bytes: &mut [u8]) -> Option<(usize, SocketAddr)> {
        while let Some((length, from)) = stack.receive(self.handle, bytes) {
            if self.peer.is_none_or(|peer| peer == from) {
                return Some((length, from));
            }
        }
        None
    }

    /// Returns the packets that were sent to the chosen end, and their bytes by layer.
    pub fn weight(&self) -> Weight {
        let of =
            |peer| self.host.with(|stack| stack.meter().of(Key { is_tcp: false, port: self.port, peer }));
        self.peer.map(of).unwrap_or_default().weight
    }
}

impl<S: Stack> Drop for Socket<S> {
    fn drop(&mut self) {
        self.host.with(|stack| {
            stack.unbind(self.handle);
            if let Some(peer) = self.peer {
                stack.meter().end(Key { is_tcp: false, port: self.port, peer });
            }
        });
    }
}

/// Serves one sender from a socket of its own.
pub type Serve<S> = fn(&Socket<S>, &Side) -> Result<()>;

/// Opens a port for the flow of `side`. `serve` is called with a socket for each sender that shows the cookie, on a thread of
/// its own.
pub fn listen<S: Stack>(host: &Arc<Host<S>>, side: Side, serve: Serve<S>) -> Result<u16> {
    let socket = Socket::bind(host, side.address.ip)?;
    let (port, host) = (socket.port, Arc::clone(host));
    std::thread::spawn(move || {
        let sessions: Arc<Mutex<HashMap<SocketAddr, u16>>> = Arc::default();
        let mut opening = [0; OPENING_BYTES + 1];
        loop {
            let Some((length, sender)) = socket.receive_from(&mut opening, LONG) else { continue };
            let purpose = side.cookie.admit(&mut &opening[..length]);
            if length != OPENING_BYTES || !matches!(purpose, Ok(Purpose::Traffic)) {
                continue;
            }
            match session(&host, &side, sender, &sessions, serve) {
                Ok(port) => {
                    let answer = [side.cookie.0.as_slice(), &port.to_be_bytes()].concat();
                    // The sender asks again for an answer that is lost.
                    let _ = socket.send_to(&answer, sender);
                }
                Err(error) => eprintln!("flow {:?}: {}", side.flow.name, error.in_words()),
            }
        }
    });
    Ok(port)
}

/// Returns the port of the socket that serves `sender`, which is opened if there is none yet.
fn session<S: Stack>(
    host: &Arc<Host<S>>,
    side: &Side,
    sender: SocketAddr,
    sessions: &Arc<Mutex<HashMap<SocketAddr, u16>>>,
    serve: Serve<S>,
) -> Result<u16> {
    let mut known = sessions.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(port) = known.get(&sender) {
        return Ok(*port);
    }
    if known.len() >= MOST_SESSIONS {
        return Err(Error::Busy(format!("{MOST_SESSIONS} senders are served already")));
    }
    let mut socket = Socket::bind(host, side.address.ip)?;
    socket.choose(sender);
    let port = socket.port;
    known.insert(sender, port);
    let (side, sessions) = (side.clone(), Arc::clone(sessions));
    std::thread::spawn(move || {
        if let Err(error) = serve(&socket, &side) {
            eprintln!("flow {:?}: {}", side.flow.name, error.in_words());
        }
        sessions.lock().unwrap_or_else(PoisonError::into_inner).remove(&sender);
    });
    Ok(port)
}

/// Opens a socket of the flow to `destination`, where [`listen`] gave the port.
pub fn connect<S: Stack>(host: &Arc<Host<S>>, side: &Side, destination: SocketAddr) -> Result<Socket<S>> {
    let mut socket = Socket::bind(host, side.address.ip)?;
    socket.choose(destination);
    let round_trip = side.round_trip.unwrap_or_default().as_std();
    for &wait in WAITS {
        socket.send(&side.cookie.opening(Purpose::Traffic)).context("opening a flow")?;
        let mut answer = [0; ANSWER_BYTES + 1];
        let length = socket.receive(&mut answer, wait + round_trip * 2);
        if length == Some(ANSWER_BYTES) && answer[..COOKIE_BYTES] == side.cookie.0 {
            let port = u16::from_be_bytes([answer[COOKIE_BYTES], answer[COOKIE_BYTES + 1]]);
            socket.choose(SocketAddr::new(destination.ip(), port));
            return Ok(socket);
        }
    }
    Err(Error::TimedOut(format!(
        "{destination} does not answer: the flow's opening was sent {} times over UDP",
        WAITS.len()
    )))
}
