//! Sockets and their options.

use super::unsupported;
use crate::platform::Subflow;
use crate::tcp_state::TcpState;
use socket2::{Domain, Protocol, SockRef, Socket, Type};
use std::io;
use std::net::{TcpStream, UdpSocket};

/// Opens a socket of TCP.
pub fn stream_socket(domain: Domain, mptcp: bool) -> io::Result<Socket> {
    if mptcp {
        return Err(unsupported("MPTCP"));
    }
    Socket::new(domain, Type::STREAM, Some(Protocol::TCP))
}

/// Refuses every congestion control that has a name: a connection has the system's own.
pub fn choose_congestion_control(_socket: &Socket, name: &str) -> io::Result<()> {
    if name.is_empty() { Ok(()) } else { Err(unsupported("choosing a congestion control")) }
}

/// The congestion control in force on a connection, which is not known.
pub fn congestion_control(_stream: &TcpStream) -> io::Result<String> {
    Ok(String::new())
}

/// Refuses a limit of the segments of a connection.
pub fn limit_segments(_socket: &Socket, _bytes: i32) -> io::Result<()> {
    Err(unsupported("limiting segments"))
}

/// Leaves the system to take as much from the program as it likes before it has sent it.
pub fn limit_unsent(_stream: &TcpStream, _bytes: i32) -> io::Result<()> {
    Ok(())
}

/// Leaves the choice of the port to the call that binds the socket.
pub fn bind_late(_socket: &Socket) -> io::Result<()> {
    Ok(())
}

/// Gives each of `socket`'s two buffers room for `bytes`, or for as much of it as the system allows.
pub fn enlarge_buffers(socket: &UdpSocket, bytes: i32) -> io::Result<()> {
    let socket = SockRef::from(socket);
    let bytes = usize::try_from(bytes).unwrap_or(0);
    let smaller = || (0..8).map(|halvings| bytes >> halvings);
    // Some systems refuse what exceeds their limit, and the socket then keeps the buffers it has.
    let _ = smaller().any(|bytes| socket.set_recv_buffer_size(bytes).is_ok());
    let _ = smaller().any(|bytes| socket.set_send_buffer_size(bytes).is_ok());
    Ok(())
}

/// The path MTU that the system knows for a connected socket: it is not asked.
pub fn path_mtu(_socket: &UdpSocket) -> io::Result<Option<u64>> {
    Ok(None)
}

/// Refuses to send packets that may not be fragmented.
pub fn forbid_fragmentation(_socket: &UdpSocket) -> io::Result<()> {
    Err(unsupported("probing the path MTU"))
}

/// Returns whether `error` says that a datagram may not be sent whole, which only [`forbid_fragmentation`] makes.
pub fn is_too_large(_error: &io::Error) -> bool {
    false
}

/// The system's view of a connection: it is not asked.
pub fn tcp_state(_stream: &TcpStream) -> io::Result<Option<TcpState>> {
    Ok(None)
}

/// Refuses to tell the subflows of a connection, which is none of MPTCP.
pub fn subflows(_stream: &TcpStream) -> io::Result<Option<Vec<Subflow>>> {
    Err(unsupported("MPTCP"))
}
