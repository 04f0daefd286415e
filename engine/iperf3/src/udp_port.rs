//! One UDP port for the streams of several tests.
//!
//! The word that opens a stream names no test, so the sender's address identifies the test: one test of each
//! address at a time may open streams, and others wait for their turn. An open stream has a socket of its own that
//! is connected to its peer, and the kernel prefers this socket to the port's for the peer's datagrams.

use crate::datagram;
use nettrial_admission::Log;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, setsockopt, sockopt};
use socket2::{Domain, Protocol, Socket, Type};
use std::collections::HashMap;
use std::io::{self, IoSliceMut};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6, UdpSocket};
use std::os::fd::AsRawFd;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The wait after an error of reading the port.
const RECOVERY: Duration = Duration::from_millis(10);

/// The port, and the tests that wait for streams on it.
pub struct UdpPort {
    opening: Mutex<HashMap<IpAddr, Opening>>,
    freed: Condvar,
}

/// A test that waits for its streams.
struct Opening {
    streams: Sender<UdpSocket>,
    /// The number of streams that the test still waits for, and the most that it gets.
    awaited: usize,
}

/// A test's turn to open streams from its address.
pub struct Turn {
    port: Arc<UdpPort>,
    peer: IpAddr,
    streams: Receiver<UdpSocket>,
}

impl UdpPort {
    /// Opens the port at `address`, which is that of the TCP port, and answers on it in a thread.
    pub fn open(address: SocketAddr, log: Arc<Log>) -> io::Result<Arc<Self>> {
        let socket = bind(address)?;
        ask_for_destinations(&socket)?;
        let port = Arc::new(Self { opening: Mutex::default(), freed: Condvar::new() });
        let shared = Arc::clone(&port);
        std::thread::spawn(move || shared.answer(&socket, address, &log));
        Ok(port)
    }

    /// Waits for the turn of `peer` to open `awaited` streams; none if the turn does not come before `deadline`.
    pub fn turn(self: &Arc<Self>, peer: IpAddr, awaited: usize, deadline: Instant) -> Option<Turn> {
        let mut opening = self.lock();
        while opening.contains_key(&peer) {
            let left = deadline.checked_duration_since(Instant::now())?;
            opening = self.freed.wait_timeout(opening, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        let (sender, streams) = channel();
        opening.insert(peer, Opening { streams: sender, awaited });
        Some(Turn { port: Arc::clone(self), peer, streams })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<IpAddr, Opening>> {
        self.opening.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns true if a test waits for a stream that comes `from` this address.
    fn awaits(&self, from: SocketAddr) -> bool {
        self.lock().get(&from.ip().to_canonical()).is_some_and(|opening| opening.awaited > 0)
    }

    fn answer(&self, socket: &UdpSocket, address: SocketAddr, log: &Log) {
        let mut datagram = [0; 16];
        loop {
            match receive(socket, &mut datagram) {
                Ok((length, from, to)) => {
                    self.hear(&datagram[..length], from, to.unwrap_or(address), log);
                }
                Err(_) => std::thread::sleep(RECOVERY),
            }
        }
    }

    /// Handles a datagram that came to `address`, at which the stream that it opens is served: an answer from another
    /// one of this machine's addresses would not reach the client's socket.
    fn hear(&self, datagram: &[u8], from: SocketAddr, address: SocketAddr, log: &Log) {
        // Other datagrams are left over from a stream that has ended, or a stranger's. Neither is answered.
        if !datagram::opens(datagram) || !self.awaits(from) {
            return;
        }
        let mut strays = Vec::new();
        let opened = open_stream(address, from, &mut strays).and_then(|stream| {
            stream.send(&datagram::ANSWER)?;
            Ok(stream)
        });
        match opened {
            Ok(stream) => {
                if let Some(opening) = self.lock().get_mut(&from.ip().to_canonical()) {
                    opening.awaited = opening.awaited.saturating_sub(1);
                    // The waiting test may just have given up.
                    let _ = opening.streams.send(stream);
                }
            }
            Err(error) => {
                let kind = "a UDP stream could not be opened";
                log.line(from.ip(), kind, &format!("{kind}, for {from}: {error}"));
            }
        }
        for (stray, from) in strays {
            self.hear(&stray, from, address, log);
        }
    }
}

impl Turn {
    /// Returns the next stream, if one is opened before `deadline`.
    pub fn stream(&self, deadline: Instant) -> Option<UdpSocket> {
        self.streams.recv_timeout(deadline.checked_duration_since(Instant::now())?).ok()
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.port.lock().remove(&self.peer);
        self.port.freed.notify_all();
    }
}

/// Makes [`receive`] return the destinations of datagrams (IP_PKTINFO, ip(7), and IPV6_RECVPKTINFO, RFC 3542 section
/// 4). A socket of both IP versions gives IPv4 destinations in the form of IPv6 ones.
fn ask_for_destinations(socket: &UdpSocket) -> io::Result<()> {
    if socket.local_addr()?.is_ipv4() {
        setsockopt(socket, sockopt::Ipv4PacketInfo, &true)?;
    } else {
        setsockopt(socket, sockopt::Ipv6RecvPacketInfo, &true)?;
    }
    Ok(())
}

/// Receives a datagram, and returns its length, its source, and the address and port to which it was sent.
fn receive(socket: &UdpSocket, datagram: &mut [u8]) -> io::Result<(usize, SocketAddr, Option<SocketAddr>)> {
    let port = socket.local_addr()?.port();
    let mut control = nix::cmsg_space!(libc::in6_pktinfo);
    let mut parts = [IoSliceMut::new(datagram)];
    let flags = MsgFlags::empty();
    let message = recvmsg::<SockaddrStorage>(socket.as_raw_fd(), &mut parts, Some(&mut control), flags)?;
    let to = message.cmsgs()?.find_map(|part| match part {
        ControlMessageOwned::Ipv4PacketInfo(info) => {
            let address = Ipv4Addr::from(u32::from_be(info.ipi_spec_dst.s_addr));
            Some(SocketAddr::from((address, port)))
        }
        ControlMessageOwned::Ipv6PacketInfo(info) => {
            let address = Ipv6Addr::from(info.ipi6_addr.s6_addr);
            let zone = if address.is_unicast_link_local() { info.ipi6_ifindex } else { 0 };
            Some(SocketAddrV6::new(address, port, 0, zone).into())
        }
        _ => None,
    });
    let from = message.address.as_ref().and_then(|address| {
        let four = address.as_sockaddr_in().map(|&four| SocketAddr::V4(four.into()));
        four.or_else(|| address.as_sockaddr_in6().map(|&six| SocketAddr::V6(six.into())))
    });
    let from =
        from.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "a datagram without a source"))?;
    Ok((message.bytes, from, to))
}

fn bind(address: SocketAddr) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
    if address.is_ipv6() {
        socket.set_only_v6(address.ip() == address.ip().to_canonical() && !address.ip().is_unspecified())?;
    }
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    Ok(socket.into())
}

/// Opens a socket on the port that receives from `peer` alone. Until the socket is connected, the kernel may
/// choose it for datagrams of others; these are added to `strays`.
fn open_stream(
    address: SocketAddr,
    peer: SocketAddr,
    strays: &mut Vec<(Vec<u8>, SocketAddr)>,
) -> io::Result<UdpSocket> {
    let socket = bind(address)?;
    socket.connect(peer)?;
    socket.set_nonblocking(true)?;
    let mut datagram = [0; 16];
    while let Ok((length, from)) = socket.recv_from(&mut datagram) {
        if from != peer {
            strays.push((datagram[..length].to_vec(), from));
        }
    }
    socket.set_nonblocking(false)?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opened() -> (Arc<UdpPort>, SocketAddr) {
        let taken = nettrial_admission::bind(None, 0).unwrap();
        let port = taken.local_addr().unwrap().port();
        let udp = UdpPort::open((Ipv6Addr::UNSPECIFIED, port).into(), Arc::default()).unwrap();
        (udp, SocketAddr::new("127.0.0.1".parse().unwrap(), port))
    }

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(300)
    }

    #[test]
    fn streams_of_one_peer_each_hear_their_own_socket() {
        let (port, address) = opened();
        let turn = port.turn("127.0.0.1".parse().unwrap(), 8, soon()).unwrap();
        let clients: Vec<(UdpSocket, UdpSocket)> = (0..8)
            .map(|_| {
                let client = UdpSocket::bind("127.0.0.1:0").unwrap();
                client.connect(address).unwrap();
                client.send(&datagram::OPENING).unwrap();
                let mut answer = [0; 4];
                client.recv(&mut answer).unwrap();
                assert_eq!(answer, datagram::ANSWER);
                (client, turn.stream(soon()).unwrap())
            })
            .collect();
        for (number, (client, _)) in clients.iter().enumerate() {
            client.send(&[number as u8]).unwrap();
        }
        for (number, (_, stream)) in clients.iter().enumerate() {
            let mut byte = [255];
            stream.recv(&mut byte).unwrap();
            assert_eq!(usize::from(byte[0]), number);
        }
    }

    #[test]
    fn a_stream_is_served_at_the_address_that_it_was_sent_to() {
        for port_at in ["::", "0.0.0.0", "127.0.0.2"] {
            let at: IpAddr = port_at.parse().unwrap();
            let taken = nettrial_admission::bind(Some((at, 0).into()), 0).unwrap();
            let number = taken.local_addr().unwrap().port();
            let port = UdpPort::open((at, number).into(), Arc::default()).unwrap();
            let turn = port.turn("127.0.0.1".parse().unwrap(), 1, soon()).unwrap();
            let client = UdpSocket::bind("127.0.0.1:0").unwrap();
            client.set_read_timeout(Some(Duration::from_secs(300))).unwrap();
            // The kernel would answer from 127.0.0.1, and the client's socket accepts nothing from there.
            client.connect(("127.0.0.2", number)).unwrap();
            client.send(&datagram::OPENING).unwrap();
            let mut answer = [0; 4];
            client.recv(&mut answer).unwrap_or_else(|error| panic!("at {port_at}: {error}"));
            assert_eq!(answer, datagram::ANSWER);
            let stream = turn.stream(soon()).unwrap();
            assert_eq!(stream.local_addr().unwrap().ip().to_canonical().to_string(), "127.0.0.2");
            client.send(b"data").unwrap();
            assert_eq!(stream.recv(&mut [0; 8]).unwrap(), 4);
        }
    }

    #[test]
    fn only_one_test_of_an_address_opens_streams_at_a_time() {
        let (port, _) = opened();
        let peer: IpAddr = "192.0.2.1".parse().unwrap();
        let first = port.turn(peer, 1, soon()).unwrap();
        assert!(port.turn(peer, 1, Instant::now()).is_none());
        assert!(port.turn("192.0.2.2".parse().unwrap(), 1, Instant::now()).is_some());
        drop(first);
        assert!(port.turn(peer, 1, Instant::now()).is_some());
    }

    #[test]
    fn a_test_gets_no_more_streams_than_it_asked_for() {
        let (port, address) = opened();
        let turn = port.turn("127.0.0.1".parse().unwrap(), 2, soon()).unwrap();
        let opens_within = |patience| {
            let client = UdpSocket::bind("127.0.0.1:0").unwrap();
            client.connect(address).unwrap();
            client.set_read_timeout(Some(patience)).unwrap();
            client.send(&datagram::OPENING).unwrap();
            client.recv(&mut [0; 4]).is_ok()
        };
        assert!(opens_within(Duration::from_secs(300)) && opens_within(Duration::from_secs(300)));
        assert!(!opens_within(Duration::from_millis(200)));
        assert!(turn.stream(soon()).is_some() && turn.stream(soon()).is_some());
        assert!(turn.stream(Instant::now() + Duration::from_millis(200)).is_none());
    }

    #[test]
    fn strangers_get_no_answer() {
        let (port, address) = opened();
        let client = UdpSocket::bind("127.0.0.1:0").unwrap();
        client.connect(address).unwrap();
        client.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        client.send(&datagram::OPENING).unwrap(); // no test waits for it
        assert!(client.recv(&mut [0; 4]).is_err());
        let turn = port.turn("127.0.0.1".parse().unwrap(), 8, soon()).unwrap();
        client.send(b"nonsense").unwrap();
        assert!(client.recv(&mut [0; 4]).is_err());
        assert!(turn.stream(Instant::now()).is_none());
    }
}
