//! Reading from a socket, and trying again before sleeping.

use crate::platform::{self, Readable};
use nettrial_scenario::SocketOptions;
use std::io;
use std::time::{Duration, Instant};

/// Reads from a socket as its flow asks.
pub struct Reader<'a, S> {
    socket: &'a S,
    /// Time to try again before sleeping.
    trying: Option<Duration>,
    /// The bound on the window of a connection: with data the kernel learns how much memory segments take, and sets the
    /// bound anew (net/ipv4/tcp_input.c, tcp_measure_rcv_mss, Linux 6.11 and later).
    window: Option<i32>,
    /// True if data is acknowledged as soon as it is read, which the kernel forgets (net/ipv4/tcp.c, __tcp_sock_set_quickack).
    quick_ack: bool,
}

impl<'a, S: Readable> Reader<'a, S> {
    /// A reader of `socket`, which is connected. Where busy polling is asked for the kernel polls the
    /// interface, if it lets this process ask and the interface can be polled: else the reader does not
    /// sleep for that long.
    pub fn new(socket: &'a S, asked: &SocketOptions) -> Self {
        let span = asked.busy_poll.map(|span| span.as_std());
        Self {
            socket,
            trying: span.filter(|span| !platform::poll_interface(socket, *span)),
            window: asked.window.and_then(|window| i32::try_from(window.0).ok()),
            quick_ack: asked.quick_ack,
        }
    }

    /// Returns true if a read neither tries again nor sets an option.
    pub fn is_plain(&self) -> bool {
        self.trying.is_none() && self.window.is_none() && !self.quick_ack
    }

    /// Reads what is there, as soon as something is. An error of the kind `TimedOut` if nothing comes
    /// within the socket's own limit.
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
        let count = platform::receive(self.socket, buffer)?;
        self.after_read()?;
        Ok(count)
    }

    fn after_read(&self) -> io::Result<()> {
        if self.quick_ack {
            platform::acknowledge_at_once(self.socket)?;
        }
        self.window.map_or(Ok(()), |bytes| platform::bound_window(self.socket, bytes))
    }

    /// Reads what is there now; `None` if nothing is.
    pub fn try_read(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        let count = platform::try_receive(self.socket, buffer)?;
        self.after_read()?;
        Ok(count)
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

    /// Waits at most `limit` until there is something to read, or (if `writing`) room to write; returns
    /// whether there is.
    pub fn wait(&self, writing: bool, limit: Duration) -> io::Result<bool> {
        platform::wait(self.socket, writing, limit)
    }
}
