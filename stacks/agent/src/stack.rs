//! What this crate needs of a TCP/IP.

use crate::meter::Meter;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::RawFd;
use std::time::Duration;

/// The number of a socket.
pub type Handle = usize;

/// The options of a connection.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// True if a message does not wait for the acknowledgment of the one before it (TCP_NODELAY).
    pub no_delay: bool,
}

/// The stage of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// It is being opened.
    Opening,
    /// It is open, in one direction at least.
    Open,
    /// It was refused or reset, or has ended.
    Gone,
}

/// A TCP/IP with one interface. No call waits; [`Host`](crate::Host) does.
pub trait Stack: Send + 'static {
    /// Takes the frames that have arrived, and sends what is due. Returns true if a socket may have changed.
    fn poll(&mut self) -> bool;

    /// Returns the time until something is due; `None` if only a frame can bring something.
    fn due(&mut self) -> Option<Duration>;

    /// Returns the descriptor that can be read when a frame has arrived.
    fn descriptor(&self) -> RawFd;

    /// Returns the measurements of the interface's frames.
    fn meter(&mut self) -> &mut Meter;

    /// Accepts connections to a port of `address`, and returns the port.
    ///
    /// # Errors
    /// Fails if the stack has no room for a socket.
    fn listen(&mut self, address: IpAddr, options: Options) -> io::Result<u16>;

    /// Returns the next connection that has been opened to `port`, a listener's.
    fn accept(&mut self, port: u16) -> Option<Handle>;

    /// Begins to open a connection, which gets a port of `address`.
    ///
    /// # Errors
    /// Fails if the stack has no room for a socket, or no route.
    fn connect(&mut self, address: IpAddr, to: SocketAddr, options: Options) -> io::Result<Handle>;

    /// Returns the stage of a connection.
    fn stage(&mut self, connection: Handle) -> Stage;

    /// Returns the addresses of this and the other end of a connection; `None` if it is gone.
    fn ends(&mut self, connection: Handle) -> Option<(SocketAddr, SocketAddr)>;

    /// Takes as many bytes as there is room for, maybe none, and returns their number.
    ///
    /// # Errors
    /// Fails if the connection takes no more.
    fn write(&mut self, connection: Handle, bytes: &[u8]) -> io::Result<usize>;

    /// Reads what has arrived; `None` if nothing has, and `Some(0)` after the other end's last byte.
    ///
    /// # Errors
    /// Fails if the connection was reset.
    fn read(&mut self, connection: Handle, bytes: &mut [u8]) -> io::Result<Option<usize>>;

    /// Sends no more than what was written.
    fn finish(&mut self, connection: Handle);

    /// Resets a connection.
    fn abort(&mut self, connection: Handle);

    /// Closes a connection, if it is open, after what was written is sent. The handle is used no more.
    fn release(&mut self, connection: Handle);

    /// Opens a UDP socket at a port of `address`; the stack chooses the port if it is 0.
    ///
    /// # Errors
    /// Fails if the stack has no room for a socket.
    fn bind(&mut self, address: IpAddr) -> io::Result<(Handle, u16)>;

    /// Sends a datagram. Returns false if there is no room for it now.
    ///
    /// # Errors
    /// Fails if it can't be sent at all.
    fn send(&mut self, socket: Handle, to: SocketAddr, bytes: &[u8]) -> io::Result<bool>;

    /// Reads the next datagram, and returns its length and its sender.
    fn receive(&mut self, socket: Handle, bytes: &mut [u8]) -> Option<(usize, SocketAddr)>;

    /// Closes a UDP socket.
    fn unbind(&mut self, socket: Handle);
}
