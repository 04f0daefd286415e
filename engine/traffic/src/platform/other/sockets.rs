//! Sockets and their options.

use super::unsupported;
use crate::platform::Subflow;
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

/// Refuses to tell the subflows of a connection, which is none of MPTCP.
pub fn subflows(_stream: &TcpStream) -> io::Result<Option<Vec<Subflow>>> {
    Err(unsupported("MPTCP"))
}
