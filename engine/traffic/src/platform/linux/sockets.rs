//! Opens sockets, and sets and reads their options.

use super::options;
use crate::protocol::Room;
use socket2::{Domain, Protocol, SockRef, Socket, Type};
use std::io;
use std::net::{IpAddr, TcpStream, UdpSocket};
use std::os::fd::AsRawFd;

/// An option of `IPPROTO_IP` (include/uapi/linux/in.h), which the library does not define.
const IP_BIND_ADDRESS_NO_PORT: i32 = 24;
/// The file with the default limit of a socket's unsent bytes; `u32::MAX` is no limit.
const UNSENT_SETTING: &str = "/proc/sys/net/ipv4/tcp_notsent_lowat";

/// Opens a TCP socket, or an MPTCP socket, which needs the sysctl net.mptcp.enabled to be 1.
pub fn stream_socket(domain: Domain, mptcp: bool) -> io::Result<Socket> {
    let protocol = if mptcp { Protocol::MPTCP } else { Protocol::TCP };
    Socket::new(domain, Type::STREAM, Some(protocol))
}

/// Sets the congestion control of `socket` to `name` (TCP_CONGESTION, tcp(7)).
pub fn choose_congestion_control(socket: &Socket, name: &str) -> io::Result<()> {
    socket.set_tcp_congestion(name.as_bytes())
}

/// Returns the congestion control in force on a connection (TCP_CONGESTION, tcp(7)).
pub fn congestion_control<'a>(socket: impl Into<SockRef<'a>>) -> io::Result<String> {
    let name = socket.into().tcp_congestion()?;
    let text: Vec<u8> = name.into_iter().take_while(|&byte| byte != 0).collect();
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// Limits the segments of `socket` to `bytes` of payload and options (TCP_MAXSEG, tcp(7)).
pub fn limit_segments(socket: &Socket, bytes: i32) -> io::Result<()> {
    options::set(socket, libc::IPPROTO_TCP, libc::TCP_MAXSEG, bytes)
}

/// Lets `stream` accept more data from the program only while less than `bytes` of the earlier data are unsent
/// (TCP_NOTSENT_LOWAT, tcp(7)), unless the machine has its own limit (net.ipv4.tcp_notsent_lowat).
pub fn limit_unsent(stream: &TcpStream, bytes: i32) -> io::Result<()> {
    let has_none = |text: String| text.trim().parse() == Ok(u32::MAX);
    if !std::fs::read_to_string(UNSENT_SETTING).is_ok_and(has_none) {
        return Ok(());
    }
    options::set(stream, libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, bytes)
}

/// Sets the differentiated services codepoint of the packets of `socket`, whose family is that of `address`, to
/// `dscp` (IP_TOS, ip(7); IPV6_TCLASS, ipv6(7)). TCP still sets the two bits of ECN.
pub fn mark(socket: &Socket, address: IpAddr, dscp: u8) -> io::Result<()> {
    let (level, option) = match address {
        IpAddr::V4(_) => (libc::IPPROTO_IP, libc::IP_TOS),
        IpAddr::V6(_) => (libc::IPPROTO_IPV6, libc::IPV6_TCLASS),
    };
    options::set(socket, level, option, i32::from(dscp) << 2)
}

/// Defers the choice of the port of `socket` until it connects, when the kernel knows which ports are free for the
/// destination (IP_BIND_ADDRESS_NO_PORT, ip(7)).
pub fn bind_late(socket: &Socket) -> io::Result<()> {
    options::set(socket, libc::IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1)
}

/// Limits the receive window of `socket`, which is not connected yet, to `bytes` (TCP_WINDOW_CLAMP, tcp(7)), and
/// sets both its buffers to that size. Without CAP_NET_ADMIN the system's limits apply (net.core.rmem_max and
/// wmem_max).
pub fn set_window(socket: &Socket, bytes: i32) -> io::Result<()> {
    bound_window(socket, bytes)?;
    size_buffers(socket, bytes)
}

/// Limits only the receive window of `socket`. When a connection opens, the kernel subtracts a segment from the
/// limit (net/ipv4/tcp_input.c, tcp_init_buffer_space).
pub fn bound_window(socket: &impl AsRawFd, bytes: i32) -> io::Result<()> {
    options::set(socket, libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, bytes)
}

/// Acknowledges what was read on `socket` at once, and what comes next as soon as it arrives, for a while.
pub fn acknowledge_at_once(socket: &impl AsRawFd) -> io::Result<()> {
    options::set(socket, libc::IPPROTO_TCP, libc::TCP_QUICKACK, 1)
}

/// Reads the sizes of the buffers of `stream`. The kernel reserves half of a buffer for its own use (socket(7)),
/// and reports both halves together.
pub fn room(stream: &TcpStream) -> io::Result<Room> {
    let socket = SockRef::from(stream);
    let mut window = 0i32;
    // An MPTCP connection does not have this limit.
    let bound = options::get(stream, libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, &mut window);
    Ok(Room {
        send_buffer_bytes: Some(socket.send_buffer_size()? as u64 / 2),
        receive_buffer_bytes: Some(socket.recv_buffer_size()? as u64 / 2),
        window_bytes: bound.ok().and_then(|()| u64::try_from(window).ok()),
        window_scale: None,
    })
}

/// Enlarges both buffers of `socket` to hold `bytes`. Without CAP_NET_ADMIN the system's limits apply
/// (net.core.rmem_max and wmem_max).
pub fn enlarge_buffers(socket: &UdpSocket, bytes: i32) -> io::Result<()> {
    size_buffers(socket, bytes)
}

fn size_buffers(socket: &impl AsRawFd, bytes: i32) -> io::Result<()> {
    for (forced, plain) in [(libc::SO_RCVBUFFORCE, libc::SO_RCVBUF), (libc::SO_SNDBUFFORCE, libc::SO_SNDBUF)]
    {
        options::set(socket, libc::SOL_SOCKET, forced, bytes)
            .or_else(|_| options::set(socket, libc::SOL_SOCKET, plain, bytes))?;
    }
    Ok(())
}

/// Returns the path MTU in bytes that the kernel holds for a connected socket (IP_MTU, ip(7)).
pub fn path_mtu(socket: &UdpSocket) -> io::Result<Option<u64>> {
    let (level, option) = if socket.local_addr()?.is_ipv4() {
        (libc::IPPROTO_IP, libc::IP_MTU)
    } else {
        (libc::IPPROTO_IPV6, libc::IPV6_MTU)
    };
    let mut mtu = 0i32;
    options::get(socket, level, option, &mut mtu)?;
    u64::try_from(mtu).map(Some).map_err(io::Error::other)
}

/// Sets "do not fragment", and ignores the path MTU that the kernel has learned (IP_PMTUDISC_PROBE, ip(7)).
pub fn forbid_fragmentation(socket: &UdpSocket) -> io::Result<()> {
    let (level, option, value) = if socket.local_addr()?.is_ipv4() {
        (libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, libc::IP_PMTUDISC_PROBE)
    } else {
        (libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, libc::IPV6_PMTUDISC_PROBE)
    };
    options::set(socket, level, option, value)
}

/// Returns true if `error` means that a datagram is larger than the interface or the kernel can send.
pub fn is_too_large(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::EMSGSIZE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::net::TcpListener;

    /// Returns the number of bytes that a connection accepts while the other end reads nothing.
    fn taken(limit: Option<i32>) -> usize {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        if let Some(bytes) = limit {
            limit_unsent(&stream, bytes).unwrap();
        }
        stream.set_nonblocking(true).unwrap();
        std::iter::from_fn(|| stream.write(&[0; 4096]).ok()).sum()
    }

    #[test]
    fn a_window_is_in_force_on_both_ends_of_a_connection() {
        const WINDOW: i32 = 65_536;
        let socket = || {
            let socket = stream_socket(Domain::IPV4, false).unwrap();
            set_window(&socket, WINDOW).unwrap();
            socket
        };
        let here: std::net::SocketAddr = "127.0.0.1:0".parse().unwrap();
        let listening = socket();
        listening.bind(&here.into()).unwrap();
        listening.listen(1).unwrap();
        let listener = TcpListener::from(listening);
        let connecting = socket();
        connecting.connect(&listener.local_addr().unwrap().into()).unwrap();
        let streams = [TcpStream::from(connecting), listener.accept().unwrap().0];
        for stream in &streams {
            bound_window(stream, WINDOW).unwrap();
            let found = room(stream).unwrap();
            let expected = Some(WINDOW.unsigned_abs().into());
            assert_eq!((found.send_buffer_bytes, found.receive_buffer_bytes), (expected, expected));
            assert_eq!(found.window_bytes, expected);
            let state = crate::platform::tcp_state(stream).unwrap().unwrap();
            assert_eq!(state.window_scale, Some(1), "64 KiB is one more than a window without scaling");
            assert!(state.peer_window_bytes.unwrap() <= WINDOW.unsigned_abs());
        }
    }

    #[test]
    fn what_is_sent_carries_the_codepoint() {
        for (address, level, option) in
            [("127.0.0.1", libc::IPPROTO_IP, libc::IP_TOS), ("::1", libc::IPPROTO_IPV6, libc::IPV6_TCLASS)]
        {
            let address: IpAddr = address.parse().unwrap();
            let Ok(socket) = UdpSocket::bind((address, 0)) else { continue };
            mark(&SockRef::from(&socket), address, 46).unwrap();
            let mut read = 0_i32;
            options::get(&socket, level, option, &mut read).unwrap();
            assert_eq!(read, 46 << 2);
        }
    }

    #[test]
    fn a_limit_of_what_is_unsent_keeps_a_writer_waiting() {
        let (limited, unlimited) = (taken(Some(1 << 16)), taken(None));
        assert!(limited < unlimited / 2, "{limited} and {unlimited} bytes");
    }
}
