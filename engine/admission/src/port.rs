//! The port itself: each caller gets a thread, and one that keeps others waiting makes room for them.

use crate::pending::{Limits, Pending, Slot};
use crate::{Kind, Log};
use socket2::{Domain, Socket, Type};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

/// The most connections that may wait to be accepted.
const BACKLOG: i32 = 128;
/// Time to wait after a connection could not be accepted, for want of descriptors or memory.
const RECOVERY: Duration = Duration::from_millis(100);
/// The kind of log line about a connection that could not be accepted.
const NOT_ACCEPTED: Kind = "a connection could not be accepted";

/// A caller.
pub struct Visitor {
    /// The connection.
    pub stream: Arc<TcpStream>,
    /// The address of the caller. An IPv4 address is represented as such, also on a port that serves both
    /// versions.
    pub peer: SocketAddr,
    /// The caller's number, in the order in which the kernel accepted callers.
    pub number: u64,
    slot: Slot,
}

impl Visitor {
    /// Notes that the caller made a valid request, so that it no longer counts towards [`Limits`], and returns its
    /// connection, address and number; none if the connection was closed to make room for another.
    pub fn admit(self) -> Option<(TcpStream, SocketAddr, u64)> {
        self.slot.leave().then_some(())?;
        Arc::into_inner(self.stream).map(|stream| (stream, self.peer, self.number))
    }

    /// Keeps the caller, who did something wrong, waiting for `time`. Meanwhile, it counts as one of its address, and
    /// does not make room for others.
    pub fn delay(&self, time: Duration) {
        if self.slot.delay() {
            std::thread::sleep(time);
        }
    }
}

/// Opens the TCP port `address`, or `port` at every address of both IP versions if no address is given.
///
/// # Errors
/// Fails if the kernel refuses the address or the port.
pub fn bind(address: Option<SocketAddr>, port: u16) -> io::Result<TcpListener> {
    match address {
        Some(address) => listen(address),
        // A machine without IPv6 has no such address.
        None => listen((Ipv6Addr::UNSPECIFIED, port).into())
            .or_else(|_| listen((Ipv4Addr::UNSPECIFIED, port).into())),
    }
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    if address.is_ipv6() {
        socket.set_only_v6(!address.ip().is_unspecified())?;
    }
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

/// Calls `hear` for every caller of `listener` on a thread of its own, for ever. Callers beyond `limits` make older
/// ones end.
pub fn receive(
    listener: &TcpListener,
    limits: Limits,
    log: &Arc<Log>,
    hear: impl Fn(Visitor) + Send + Sync + 'static,
) -> ! {
    let pending = Pending::new(limits);
    let hear = Arc::new(hear);
    let here = listener.local_addr().map_or(Ipv4Addr::UNSPECIFIED.into(), |here| here.ip());
    for number in 0.. {
        let (stream, peer) = match listener.accept() {
            Ok(accepted) => accepted,
            Err(error) => {
                log.line(here, NOT_ACCEPTED, &format!("{NOT_ACCEPTED}: {error}"));
                std::thread::sleep(RECOVERY);
                continue;
            }
        };
        let peer = SocketAddr::new(peer.ip().to_canonical(), peer.port());
        let stream = Arc::new(stream);
        let Some(slot) = pending.admit(peer.ip(), number, &stream) else {
            log.refused(peer.ip(), "too many connections wait to be heard", "");
            continue;
        };
        let hear = Arc::clone(&hear);
        let visitor = Visitor { stream, peer, number, slot };
        if std::thread::Builder::new().spawn(move || hear(visitor)).is_err() {
            log.refused(peer.ip(), "the system gives no more threads", "");
        }
    }
    unreachable!("there are more numbers than callers")
}
