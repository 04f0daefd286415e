//! Opens sockets, and sets and reads their options.

use super::{Readable, unsupported};
use crate::platform::Subflow;
use crate::protocol::Room;
use socket2::{Domain, Protocol, SockRef, Socket, Type};
use std::io;
use std::net::{IpAddr, TcpStream, UdpSocket};

/// Opens a TCP socket. Fails if `mptcp` is set.
pub fn stream_socket(domain: Domain, mptcp: bool) -> io::Result<Socket> {
    if mptcp {
        return Err(unsupported("MPTCP"));
    }
    Socket::new(domain, Type::STREAM, Some(Protocol::TCP))
}

/// Does nothing: this system accepts as much unsent data from the program as it likes.
pub fn limit_unsent(_stream: &TcpStream, _bytes: i32) -> io::Result<()> {
    Ok(())
}

/// Fails, because this system can't set a codepoint; [`super::refusals`] reports that earlier.
pub fn mark(_socket: &Socket, _address: IpAddr, _dscp: u8) -> io::Result<()> {
    Err(unsupported("a differentiated services codepoint"))
}

/// Does nothing: the port is chosen when the socket is bound.
pub fn bind_late(_socket: &Socket) -> io::Result<()> {
    Ok(())
}

/// Enlarges both buffers of `socket` to hold `bytes`, or as much of it as the system allows.
pub fn enlarge_buffers(socket: &UdpSocket, bytes: i32) -> io::Result<()> {
    size_buffers(&SockRef::from(socket), bytes);
    Ok(())
}

/// Sets both buffers of `socket` to the size `bytes`, which limits its receive window, or to as much of it as the
/// system allows.
pub fn set_window(socket: &Socket, bytes: i32) -> io::Result<()> {
    size_buffers(socket, bytes);
    Ok(())
}

/// Does nothing: the size of the receive buffer limits the window.
pub fn bound_window(_socket: &impl Readable, _bytes: i32) -> io::Result<()> {
    Ok(())
}

/// Fails, because only Linux has the option.
pub fn acknowledge_at_once(_socket: &impl Readable) -> io::Result<()> {
    Err(unsupported("acknowledging at once (TCP_QUICKACK)"))
}

/// Reads the sizes of the buffers of `stream`. No other limit of its window is known.
pub fn room(stream: &TcpStream) -> io::Result<Room> {
    let socket = SockRef::from(stream);
    // Linux, when it stands in for another system, reports twice the size that was requested.
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
    // Some systems refuse sizes that exceed their limit, and the socket then keeps its buffers.
    let _ = smaller().any(|bytes| socket.set_recv_buffer_size(bytes).is_ok());
    let _ = smaller().any(|bytes| socket.set_send_buffer_size(bytes).is_ok());
}

/// Fails, because connections on this system are not MPTCP and have no subflows.
pub fn subflows(_stream: &TcpStream) -> io::Result<Option<Vec<Subflow>>> {
    Err(unsupported("MPTCP"))
}
