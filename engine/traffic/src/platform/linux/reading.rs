//! Reads from sockets, and waits for them.

use super::options;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::socket::{MsgFlags, recv, send};
use std::io;
use std::net::TcpStream;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

/// A socket that can be read.
pub trait Readable: AsFd + AsRawFd {}

impl<S: AsFd + AsRawFd> Readable for S {}

/// Asks the kernel to poll the interface of `socket` for `span` before a read sleeps (SO_BUSY_POLL, socket(7)).
/// Returns true if it will, which needs privileges and an interface that can be polled.
pub fn poll_interface(socket: &impl Readable, span: Duration) -> bool {
    let microseconds = i32::try_from(span.as_micros()).unwrap_or(i32::MAX);
    let allowed = options::set(socket, libc::SOL_SOCKET, libc::SO_BUSY_POLL, microseconds).is_ok();
    let mut interface = 0i32;
    let known = options::get(socket, libc::SOL_SOCKET, libc::SO_INCOMING_NAPI_ID, &mut interface).is_ok();
    allowed && known && interface != 0
}

/// Reads available bytes, and waits until there are some. Fails with an error of the kind `TimedOut` if nothing
/// arrives within the socket's timeout (SO_RCVTIMEO).
pub fn receive(socket: &impl Readable, buffer: &mut [u8]) -> io::Result<usize> {
    receive_with(socket, buffer, MsgFlags::empty())
}

fn receive_with(socket: &impl Readable, buffer: &mut [u8], flags: MsgFlags) -> io::Result<usize> {
    loop {
        match recv(socket.as_raw_fd(), buffer, flags) {
            Err(Errno::EINTR) => {}
            Err(Errno::EAGAIN) => {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "no data arrived within the time limit"));
            }
            result => return Ok(result?),
        }
    }
}

/// Reads until `buffer` is full, the stream ends, or the socket's timeout (SO_RCVTIMEO) has passed. The kernel copies and
/// acknowledges each segment when it arrives, as if it were read at once (tcp_recvmsg_locked in net/ipv4/tcp.c). Fails with an
/// error of the kind `TimedOut` if nothing arrives in that time.
pub fn receive_full(socket: &impl Readable, buffer: &mut [u8]) -> io::Result<usize> {
    receive_with(socket, buffer, MsgFlags::MSG_WAITALL)
}

/// Reads the bytes that are available now; returns `None` if there are none.
pub fn try_receive(socket: &impl Readable, buffer: &mut [u8]) -> io::Result<Option<usize>> {
    loop {
        match recv(socket.as_raw_fd(), buffer, MsgFlags::MSG_DONTWAIT) {
            Ok(count) => return Ok(Some(count)),
            Err(Errno::EAGAIN) => return Ok(None),
            Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Writes as much of `bytes` as there is room for now; returns the number of bytes written.
pub fn send_some(stream: &TcpStream, bytes: &[u8]) -> io::Result<usize> {
    match send(stream.as_raw_fd(), bytes, MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL) {
        Err(Errno::EAGAIN | Errno::EINTR) => Ok(0),
        result => Ok(result?),
    }
}

/// Waits at most `limit` until there is something to read, or (if `writing`) room to write; returns true if there
/// is.
pub fn wait(socket: &impl Readable, writing: bool, limit: Duration) -> io::Result<bool> {
    let events = if writing { PollFlags::POLLIN | PollFlags::POLLOUT } else { PollFlags::POLLIN };
    match ppoll(&mut [PollFd::new(socket.as_fd(), events)], Some(limit.into()), None) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::EINTR) => Ok(true),
        Err(error) => Err(error.into()),
    }
}
