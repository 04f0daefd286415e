//! Reading from a socket, and how long to try before sleeping.

use crate::options;
use nettrial_scenario::SocketOptions;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::socket::{MsgFlags, recv};
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::time::{Duration, Instant};

/// Reads from a socket as its flow asks.
pub struct Reader<'a, S> {
    socket: &'a S,
    /// How long to try again before sleeping.
    trying: Option<Duration>,
}

impl<'a, S: AsFd + AsRawFd> Reader<'a, S> {
    /// A reader of `socket`, which is connected. Where busy polling is asked for the kernel polls the
    /// interface, if it lets this process ask and the interface can be polled: else the reader does not
    /// sleep for that long.
    pub fn new(socket: &'a S, asked: &SocketOptions) -> Self {
        let trying = asked.busy_poll.map(|span| span.as_std()).filter(|span| {
            let microseconds = i32::try_from(span.as_micros()).unwrap_or(i32::MAX);
            let allowed = options::set(socket, libc::SOL_SOCKET, libc::SO_BUSY_POLL, microseconds).is_ok();
            let mut interface = 0i32;
            let known =
                options::get(socket, libc::SOL_SOCKET, libc::SO_INCOMING_NAPI_ID, &mut interface).is_ok();
            !(allowed && known && interface != 0)
        });
        Self { socket, trying }
    }

    /// Reads what is there, as soon as something is. An error of the kind `TimedOut` if nothing comes
    /// within the socket's own limit (SO_RCVTIMEO).
    pub fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(trying) = self.trying {
            let begin = Instant::now();
            loop {
                match self.try_read(buffer)? {
                    Some(count) => return Ok(count),
                    None if begin.elapsed() >= trying => break,
                    None => std::hint::spin_loop(),
                }
            }
        }
        loop {
            match recv(self.socket.as_raw_fd(), buffer, MsgFlags::empty()) {
                Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN) => {
                    return Err(io::Error::new(io::ErrorKind::TimedOut, "nothing came for too long"));
                }
                result => return Ok(result?),
            }
        }
    }

    /// Reads what is there now; `None` if nothing is.
    pub fn try_read(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        loop {
            match recv(self.socket.as_raw_fd(), buffer, MsgFlags::MSG_DONTWAIT) {
                Ok(count) => return Ok(Some(count)),
                Err(Errno::EAGAIN) => return Ok(None),
                Err(Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Reads until `buffer` is full; an error of the kind `UnexpectedEof` if the stream ends before.
    pub fn read_exact(&self, mut buffer: &mut [u8]) -> io::Result<()> {
        while !buffer.is_empty() {
            match self.read(buffer)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                count => buffer = &mut buffer[count..],
            }
        }
        Ok(())
    }

    /// Waits at most `limit` until there is something to read, or (if `writing`) room to write;
    /// whether there is.
    pub fn wait(&self, writing: bool, limit: Duration) -> io::Result<bool> {
        let events = if writing { PollFlags::POLLIN | PollFlags::POLLOUT } else { PollFlags::POLLIN };
        match ppoll(&mut [PollFd::new(self.socket.as_fd(), events)], Some(limit.into()), None) {
            Ok(ready) => Ok(ready > 0),
            Err(Errno::EINTR) => Ok(true),
            Err(error) => Err(error.into()),
        }
    }
}
