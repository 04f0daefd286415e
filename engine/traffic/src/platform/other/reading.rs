//! Reads from sockets, and waits for them.

use polling::{Event, Events, Poller};
use socket2::SockRef;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
#[cfg(unix)]
use std::os::fd::{AsFd as AsSource, AsRawFd as AsRawSource};
#[cfg(windows)]
use std::os::windows::io::{AsRawSocket as AsRawSource, AsSocket as AsSource};
use std::time::Duration;

/// A socket that can be read.
pub trait Readable: AsSource + AsRawSource {}

impl<S: AsSource + AsRawSource> Readable for S {}

/// Returns false, because this system can't poll the interface of a socket before a read sleeps.
pub fn poll_interface(_socket: &impl Readable, _span: Duration) -> bool {
    false
}

/// Reads available bytes, and waits until there are some. Fails with an error of the kind `TimedOut` if nothing
/// arrives within the socket's timeout.
pub fn receive(socket: &impl Readable, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match (&*SockRef::from(socket)).read(buffer) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                return Err(io::Error::new(ErrorKind::TimedOut, "no data arrived within the time limit"));
            }
            result => return result,
        }
    }
}

/// Reads available bytes as [`receive`] does: only Linux has virtual time.
pub fn receive_full(socket: &impl Readable, buffer: &mut [u8]) -> io::Result<usize> {
    receive(socket, buffer)
}

/// Reads the bytes that are available now; returns `None` if there are none.
pub fn try_receive(socket: &impl Readable, buffer: &mut [u8]) -> io::Result<Option<usize>> {
    at_once(&SockRef::from(socket), |mut socket| socket.read(buffer))
}

/// Writes as much of `bytes` as there is room for now; returns the number of bytes written.
pub fn send_some(stream: &TcpStream, bytes: &[u8]) -> io::Result<usize> {
    Ok(at_once(&SockRef::from(stream), |mut socket| socket.write(bytes))?.unwrap_or(0))
}

/// Performs `call` on `socket` without waiting; returns `None` if it would have to wait.
fn at_once(
    socket: &socket2::Socket,
    call: impl FnOnce(&socket2::Socket) -> io::Result<usize>,
) -> io::Result<Option<usize>> {
    socket.set_nonblocking(true)?;
    let done = call(socket);
    socket.set_nonblocking(false)?;
    match done {
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(None),
        done => done.map(Some),
    }
}

/// Waits at most `limit` until there is something to read, or (if `writing`) room to write; returns true if there
/// is.
pub fn wait(socket: &impl Readable, writing: bool, limit: Duration) -> io::Result<bool> {
    let (poller, mut events) = (Poller::new()?, Events::new());
    // SAFETY: the socket is borrowed for longer than the poller lives, and is taken out of it below.
    unsafe { poller.add(socket, Event::new(0, true, writing))? };
    let ready = poller.wait(&mut events, Some(limit));
    poller.delete(socket)?;
    Ok(ready? > 0)
}
