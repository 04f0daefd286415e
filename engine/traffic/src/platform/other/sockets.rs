//! Sockets and their options.

use super::{Readable, unsupported};
use crate::platform::Subflow;
use crate::protocol::Room;
use socket2::{Domain, Protocol, SockRef, Socket, Type};
use std::io;
use std::net::{IpAddr, TcpStream, UdpSocket};

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

/// Refuses to set a codepoint, which [`super::refusals`] has said before.
pub fn mark(_socket: &Socket, _address: IpAddr, _dscp: u8) -> io::Result<()> {
    Err(unsupported("a differentiated services codepoint"))
}

/// Leaves the choice of the port to the call that binds the socket.
pub fn bind_late(_socket: &Socket) -> io::Result<()> {
    Ok(())
}

/// Gives each of `socket`'s two buffers room for `bytes`, or for as much of it as the system allows.
pub fn enlarge_buffers(socket: &UdpSocket, bytes: i32) -> io::Result<()> {
    size_buffers(&SockRef::from(socket), bytes);
    Ok(())
}

/// Gives both buffers of `socket` the size `bytes`, which bounds its receive window, or as much of it as the system
/// allows.
pub fn set_window(socket: &Socket, bytes: i32) -> io::Result<()> {
    size_buffers(socket, bytes);
    Ok(())
}

/// Leaves the window to the size of the receive buffer.
pub fn bound_window(_socket: &impl Readable, _bytes: i32) -> io::Result<()> {
    Ok(())
}

/// Reads the sizes of the buffers of `stream`. No other bound on its window is known.
pub fn room(stream: &TcpStream) -> io::Result<Room> {
    let socket = SockRef::from(stream);
    // Where Linux stands in for a system, it tells twice what it was asked for.
    let told = |bytes: usize| Some(bytes as u64 / if cfg!(target_os = "linux") { 2 } else { 1 });
    Ok(Room {
        send_buffer_bytes: told(socket.send_buffer_size()?),
        receive_buffer_bytes: told(socket.recv_buffer_size()?),
        ..Room::default()
    })
}

fn size_buffers(socket: &Socket, bytes: i32) {
    let bytes = usize::try_from(bytes).unwrap_or(0);
    let smaller = || (0..8).map(|halvings| bytes >> halvings);
    // Some systems refuse what exceeds their limit, and the socket then keeps the buffers it has.
    let _ = smaller().any(|bytes| socket.set_recv_buffer_size(bytes).is_ok());
    let _ = smaller().any(|bytes| socket.set_send_buffer_size(bytes).is_ok());
}

/// Refuses to tell the subflows of a connection, which is none of MPTCP.
pub fn subflows(_stream: &TcpStream) -> io::Result<Option<Vec<Subflow>>> {
    Err(unsupported("MPTCP"))
}
