//! lwIP with the sockets of `c/sockets.c`: the edge to C.

use std::ffi::{CStr, c_char, c_int, c_uint};
use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The results of `c/sockets.c` beside lwIP's errors.
const IS_FINISHED: c_int = -100;
/// The connection was reset.
const IS_RESET: c_int = -101;
/// lwIP's errors (`lwip/err.h`): no memory, no route, a port that is taken.
const ERR_MEM: c_int = -1;
const ERR_RTE: c_int = -4;
const ERR_USE: c_int = -8;

/// An address of `c/sockets.c`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Address {
    is_ipv6: u8,
    bytes: [u8; 16],
}

impl From<IpAddr> for Address {
    fn from(address: IpAddr) -> Self {
        let mut bytes = [0; 16];
        match address {
            IpAddr::V4(address) => bytes[..4].copy_from_slice(&address.octets()),
            IpAddr::V6(address) => bytes = address.octets(),
        }
        Self { is_ipv6: address.is_ipv6().into(), bytes }
    }
}

impl Address {
    fn at(self, port: u16) -> SocketAddr {
        let [a, b, c, d, ..] = self.bytes;
        let ip = if self.is_ipv6 == 0 { [a, b, c, d].into() } else { IpAddr::from(self.bytes) };
        SocketAddr::new(ip, port)
    }
}

unsafe extern "C" {
    fn nettrial_version() -> *const c_char;
    fn nettrial_start(ethernet: *const u8, mtu: c_uint, receive_bytes: c_uint, send_bytes: c_uint);
    fn nettrial_add_address(address: *const Address, prefix: c_uint) -> c_int;
    fn nettrial_add_route(network: *const Address, prefix: c_uint, gateway: *const Address) -> c_int;
    fn nettrial_take_frame(bytes: *const u8, length: c_uint);
    fn nettrial_next_frame(bytes: *mut u8, room: c_uint) -> c_uint;
    fn nettrial_poll() -> c_int;
    fn nettrial_due() -> c_uint;
    fn nettrial_listen(address: *const Address, no_delay: c_int, port: *mut u16) -> c_int;
    fn nettrial_accept(listener: c_uint) -> c_uint;
    fn nettrial_connect(own: *const Address, peer: *const Address, port: u16, no_delay: c_int) -> c_int;
    fn nettrial_stage(connection: c_uint) -> c_int;
    fn nettrial_ends(
        connection: c_uint,
        own: *mut Address,
        own_port: *mut u16,
        peer: *mut Address,
        peer_port: *mut u16,
    ) -> c_int;
    fn nettrial_write(connection: c_uint, bytes: *const u8, length: c_uint) -> c_int;
    fn nettrial_read(connection: c_uint, bytes: *mut u8, room: c_uint) -> c_int;
    fn nettrial_finish(connection: c_uint);
    fn nettrial_abort(connection: c_uint);
    fn nettrial_release(connection: c_uint);
    fn nettrial_bind(address: *const Address, port: *mut u16) -> c_int;
    fn nettrial_send(
        socket: c_uint,
        to: *const Address,
        port: u16,
        bytes: *const u8,
        length: c_uint,
    ) -> c_int;
    fn nettrial_receive(
        socket: c_uint,
        bytes: *mut u8,
        room: c_uint,
        from: *mut Address,
        port: *mut u16,
    ) -> c_int;
    fn nettrial_unbind(socket: c_uint);
}

/// Returns the time of lwIP's timers, ms (`lwip/sys.h`).
#[unsafe(no_mangle)]
extern "C" fn sys_now() -> u32 {
    (nettrial_traffic::now_ns() / 1_000_000) as u32
}

/// Returns a random number (`c/arch/cc.h`).
#[unsafe(no_mangle)]
extern "C" fn nettrial_random() -> c_uint {
    use std::hash::{BuildHasher, Hasher};
    std::hash::RandomState::new().build_hasher().finish() as c_uint
}

/// Returns lwIP's version.
pub fn version() -> &'static str {
    // SAFETY: it is a literal of the library.
    unsafe { CStr::from_ptr(nettrial_version()) }.to_str().unwrap_or("unknown")
}

fn length(bytes: &[u8]) -> c_uint {
    c_uint::try_from(bytes.len()).unwrap_or(c_uint::MAX)
}

/// Returns the number that a call returned, or the error.
fn checked(result: c_int) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| match result {
        ERR_MEM => io::Error::new(ErrorKind::OutOfMemory, "lwIP has no room for more"),
        ERR_RTE => ErrorKind::HostUnreachable.into(),
        ERR_USE => ErrorKind::AddrInUse.into(),
        IS_FINISHED => ErrorKind::BrokenPipe.into(),
        IS_RESET => ErrorKind::ConnectionReset.into(),
        other => io::Error::other(format!("lwIP's error {other}")),
    })
}

/// lwIP, of which a process has one. Its functions are called through this value alone, so one at a time, and those of
/// `c/sockets.c` accept every number of a socket.
pub struct Library(());

static IS_TAKEN: AtomicBool = AtomicBool::new(false);

impl Library {
    /// Starts lwIP on an interface with this Ethernet address and MTU, and with these buffers for each connection, bytes.
    ///
    /// # Panics
    /// Panics if this process has started it before.
    pub fn start(ethernet: [u8; 6], mtu: u32, receive_bytes: u32, send_bytes: u32) -> Self {
        assert!(!IS_TAKEN.swap(true, Ordering::SeqCst), "lwIP starts once");
        // SAFETY: nobody else calls lwIP, and the address has the six bytes that are read.
        unsafe { nettrial_start(ethernet.as_ptr(), mtu, receive_bytes, send_bytes) };
        Self(())
    }

    /// Gives the interface an address of a network with this prefix.
    pub fn add_address(&mut self, address: IpAddr, prefix: u8) -> io::Result<()> {
        // SAFETY: only this value calls lwIP, and the address lives through the call.
        checked(unsafe { nettrial_add_address(&address.into(), prefix.into()) }).map(drop)
    }

    /// Adds a route to a network by a gateway.
    pub fn add_route(&mut self, network: IpAddr, prefix: u8, gateway: IpAddr) -> io::Result<()> {
        // SAFETY: only this value calls lwIP, and the addresses live through the call.
        checked(unsafe { nettrial_add_route(&network.into(), prefix.into(), &gateway.into()) }).map(drop)
    }

    /// Takes a frame that has arrived, of at most 65,535 bytes.
    pub fn take_frame(&mut self, frame: &[u8]) {
        // SAFETY: only this value calls lwIP, and the frame lives through the call.
        unsafe { nettrial_take_frame(frame.as_ptr(), length(frame)) }
    }

    /// Copies the next frame to send, and returns its length; `None` if there is none.
    pub fn next_frame(&mut self, frame: &mut [u8]) -> Option<usize> {
        // SAFETY: only this value calls lwIP, which writes no more than the length.
        let bytes = unsafe { nettrial_next_frame(frame.as_mut_ptr(), length(frame)) };
        Some(bytes as usize).filter(|length| *length > 0)
    }

    /// Does what is due. Returns whether a socket has changed since the last call.
    pub fn poll(&mut self) -> bool {
        // SAFETY: only this value calls lwIP.
        unsafe { nettrial_poll() != 0 }
    }

    /// Returns the time until something is due.
    pub fn due(&mut self) -> Duration {
        // SAFETY: only this value calls lwIP.
        Duration::from_millis(unsafe { nettrial_due() }.into())
    }

    /// Opens a port of `address` that accepts connections, and returns its socket and the port.
    pub fn listen(&mut self, address: IpAddr, no_delay: bool) -> io::Result<(usize, u16)> {
        let mut port = 0;
        // SAFETY: only this value calls lwIP, and the references live through the call.
        let socket = unsafe { nettrial_listen(&address.into(), no_delay.into(), &mut port) };
        Ok((checked(socket)?, port))
    }

    /// Returns the next connection that was opened to a listener's port.
    pub fn accept(&mut self, listener: usize) -> Option<usize> {
        // SAFETY: only this value calls lwIP.
        let accepted = unsafe { nettrial_accept(listener as c_uint) };
        Some(accepted as usize).filter(|connection| *connection > 0)
    }

    /// Begins to open a connection.
    pub fn connect(&mut self, own: IpAddr, peer: SocketAddr, no_delay: bool) -> io::Result<usize> {
        let (own, to) = (own.into(), peer.ip().into());
        // SAFETY: only this value calls lwIP, and the addresses live through the call.
        checked(unsafe { nettrial_connect(&own, &to, peer.port(), no_delay.into()) })
    }

    /// Returns the stage of a connection: 0 while it is being opened, and 1 while it is open.
    pub fn stage(&mut self, connection: usize) -> c_int {
        // SAFETY: only this value calls lwIP.
        unsafe { nettrial_stage(connection as c_uint) }
    }

    /// Returns this and the other end of a connection.
    pub fn ends(&mut self, connection: usize) -> Option<(SocketAddr, SocketAddr)> {
        let (mut own, mut own_port, mut peer, mut peer_port) = (Address::default(), 0, Address::default(), 0);
        // SAFETY: only this value calls lwIP, and the references live through the call.
        let known = unsafe {
            nettrial_ends(connection as c_uint, &mut own, &mut own_port, &mut peer, &mut peer_port)
        };
        (known != 0).then(|| (own.at(own_port), peer.at(peer_port)))
    }

    /// Takes as many bytes as there is room for.
    pub fn write(&mut self, connection: usize, bytes: &[u8]) -> io::Result<usize> {
        // SAFETY: only this value calls lwIP, which copies the bytes.
        checked(unsafe { nettrial_write(connection as c_uint, bytes.as_ptr(), length(bytes)) })
    }

    /// Reads what has arrived; `None` if nothing has, and `Some(0)` after the last byte.
    pub fn read(&mut self, connection: usize, bytes: &mut [u8]) -> io::Result<Option<usize>> {
        // SAFETY: only this value calls lwIP, which writes no more than the length.
        match unsafe { nettrial_read(connection as c_uint, bytes.as_mut_ptr(), length(bytes)) } {
            0 => Ok(None),
            IS_FINISHED => Ok(Some(0)),
            result => checked(result).map(Some),
        }
    }

    /// Sends no more than what was written.
    pub fn finish(&mut self, connection: usize) {
        // SAFETY: only this value calls lwIP.
        unsafe { nettrial_finish(connection as c_uint) }
    }

    /// Resets a connection.
    pub fn abort(&mut self, connection: usize) {
        // SAFETY: only this value calls lwIP.
        unsafe { nettrial_abort(connection as c_uint) }
    }

    /// Closes a connection, whose number is free then.
    pub fn release(&mut self, connection: usize) {
        // SAFETY: only this value calls lwIP.
        unsafe { nettrial_release(connection as c_uint) }
    }

    /// Opens a UDP socket at a port of `address`, and returns it and the port.
    pub fn bind(&mut self, address: IpAddr) -> io::Result<(usize, u16)> {
        let mut port = 0;
        // SAFETY: only this value calls lwIP, and the references live through the call.
        let socket = unsafe { nettrial_bind(&address.into(), &mut port) };
        Ok((checked(socket)?, port))
    }

    /// Sends a datagram of at most 65,535 bytes. Returns false if there is no room for it now.
    pub fn send(&mut self, socket: usize, to: SocketAddr, bytes: &[u8]) -> io::Result<bool> {
        let address = to.ip().into();
        // SAFETY: only this value calls lwIP, which copies the bytes.
        let result =
            unsafe { nettrial_send(socket as c_uint, &address, to.port(), bytes.as_ptr(), length(bytes)) };
        if result == ERR_MEM { Ok(false) } else { checked(result).map(|_| true) }
    }

    /// Reads the next datagram, and returns its length and its sender.
    pub fn receive(&mut self, socket: usize, bytes: &mut [u8]) -> Option<(usize, SocketAddr)> {
        let (mut from, mut port) = (Address::default(), 0);
        // SAFETY: only this value calls lwIP, which writes no more than the length, and the references live through the
        // call.
        let read = unsafe {
            nettrial_receive(socket as c_uint, bytes.as_mut_ptr(), length(bytes), &mut from, &mut port)
        };
        Some((usize::try_from(read).ok()?, from.at(port)))
    }

    /// Closes a UDP socket, whose number is free then.
    pub fn unbind(&mut self, socket: usize) {
        // SAFETY: only this value calls lwIP.
        unsafe { nettrial_unbind(socket as c_uint) }
    }
}
