//! Sockets and their options.

use super::options;
use socket2::{Domain, Protocol, SockRef, Socket, Type};
use std::io;
use std::net::{TcpStream, UdpSocket};

/// Not in the library: `IPPROTO_IP` option of include/uapi/linux/in.h.
const IP_BIND_ADDRESS_NO_PORT: i32 = 24;

/// Opens a socket of TCP, or of MPTCP, which needs the sysctl net.mptcp.enabled to be 1.
pub fn stream_socket(domain: Domain, mptcp: bool) -> io::Result<Socket> {
    let protocol = if mptcp { Protocol::MPTCP } else { Protocol::TCP };
    Socket::new(domain, Type::STREAM, Some(protocol))
}

/// Has `socket` use the congestion control `name` (TCP_CONGESTION, tcp(7)).
pub fn choose_congestion_control(socket: &Socket, name: &str) -> io::Result<()> {
    socket.set_tcp_congestion(name.as_bytes())
}

/// The congestion control in force on a connection (TCP_CONGESTION, tcp(7)).
pub fn congestion_control(stream: &TcpStream) -> io::Result<String> {
    let name = SockRef::from(stream).tcp_congestion()?;
    let text: Vec<u8> = name.into_iter().take_while(|&byte| byte != 0).collect();
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// Limits the segments of `socket` to `bytes` of payload and options (TCP_MAXSEG, tcp(7)).
pub fn limit_segments(socket: &Socket, bytes: i32) -> io::Result<()> {
    options::set(socket, libc::IPPROTO_TCP, libc::TCP_MAXSEG, bytes)
}

/// Leaves the choice of `socket`'s port to the call that connects, when the kernel knows which ones are free
/// for the destination (IP_BIND_ADDRESS_NO_PORT, ip(7)).
pub fn bind_late(socket: &Socket) -> io::Result<()> {
    options::set(socket, libc::IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1)
}

/// Gives each of `socket`'s two buffers room for `bytes`. Without privileges over the network the system's
/// limit holds (net.core.rmem_max and wmem_max).
pub fn enlarge_buffers(socket: &UdpSocket, bytes: i32) -> io::Result<()> {
    for (forced, plain) in [(libc::SO_RCVBUFFORCE, libc::SO_RCVBUF), (libc::SO_SNDBUFFORCE, libc::SO_SNDBUF)]
    {
        options::set(socket, libc::SOL_SOCKET, forced, bytes)
            .or_else(|_| options::set(socket, libc::SOL_SOCKET, plain, bytes))?;
    }
    Ok(())
}

/// The path MTU in bytes that the kernel knows for a connected socket (IP_MTU, ip(7)).
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

/// Sets "do not fragment" and leaves the kernel's own idea of the path MTU aside (IP_PMTUDISC_PROBE, ip(7)).
pub fn forbid_fragmentation(socket: &UdpSocket) -> io::Result<()> {
    let (level, option, value) = if socket.local_addr()?.is_ipv4() {
        (libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, libc::IP_PMTUDISC_PROBE)
    } else {
        (libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, libc::IPV6_PMTUDISC_PROBE)
    };
    options::set(socket, level, option, value)
}

/// Returns whether `error` says that a datagram is larger than the interface or the kernel sends.
pub fn is_too_large(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::EMSGSIZE)
}
