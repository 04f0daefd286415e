//! A system that has only what Rust's standard library offers. Linux stands in for it when the tests of the agent
//! of other systems run (`--features portable`). In addition it has GSO packets, as Windows does.

use super::ProcessorTimes;
pub use super::other::unreported::{choose_congestion_control, congestion_control, limit_segments};
use super::other::unsupported;
use crate::tcp_state::TcpState;
use std::io;
use std::net::{TcpStream, UdpSocket};
use std::os::fd::AsRawFd;
use std::sync::LazyLock;
use std::time::Instant;

/// The clock's time when this process first reads it: an hour, so that earlier times can be represented, too.
const FIRST_NS: u64 = 3_600_000_000_000;
/// True if [`limit_segments`] limits segments on this system.
pub const LIMITS_SEGMENTS: bool = false;

static FIRST: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Returns the system's name for messages.
pub fn system_name() -> String {
    "another system".to_owned()
}

/// Returns the time of a monotonic clock of this process, in nanoseconds.
pub fn now_ns() -> u64 {
    FIRST_NS + u64::try_from(FIRST.elapsed().as_nanos()).unwrap_or(u64::MAX - FIRST_NS)
}

/// Returns `None`, because the standard library doesn't report the CPU time of a thread.
pub fn thread_cpu_ns() -> Option<u64> {
    None
}

/// Fails, because the standard library doesn't report how busy the machine's CPUs are.
///
/// # Errors
/// Always fails.
pub fn processors() -> io::Result<Vec<ProcessorTimes>> {
    Err(unsupported("reading the clocks of CPUs"))
}

/// Returns `None`, because the standard library doesn't report the path MTU of a socket.
pub fn path_mtu(_socket: &UdpSocket) -> io::Result<Option<u64>> {
    Ok(None)
}

/// Fails, because the standard library can't forbid fragmentation.
pub fn forbid_fragmentation(_socket: &UdpSocket) -> io::Result<()> {
    Err(unsupported("probing the path MTU"))
}

/// Returns false, because only [`forbid_fragmentation`] causes such errors.
pub fn is_too_large(_error: &io::Error) -> bool {
    false
}

/// Returns `None`, because the standard library doesn't report the state of a connection.
pub fn tcp_state(_stream: &TcpStream) -> io::Result<Option<TcpState>> {
    Ok(None)
}

/// Lets the system segment each longer datagram into datagrams of `bytes`, or none if `bytes` is 0 (UDP_SEGMENT).
pub fn cut_datagrams(socket: &UdpSocket, bytes: usize) -> io::Result<()> {
    let bytes = i32::try_from(bytes).map_err(io::Error::other)?;
    Ok(nix::sys::socket::setsockopt(socket, nix::sys::socket::sockopt::UdpGsoSegment, &bytes)?)
}

/// Lets the system coalesce datagrams that arrive (UDP_GRO).
pub fn coalesce_datagrams(socket: &UdpSocket, _bytes: usize) -> io::Result<()> {
    Ok(nix::sys::socket::setsockopt(socket, nix::sys::socket::sockopt::UdpGroSegment, &true)?)
}

/// Receives a message; returns its length, and the length of each of its datagrams if they were coalesced.
pub fn receive_coalesced(socket: &UdpSocket, buffer: &mut [u8]) -> io::Result<(usize, Option<usize>)> {
    use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg};
    let mut control = nix::cmsg_space!(i32);
    let mut slices = [io::IoSliceMut::new(buffer)];
    let flags = MsgFlags::empty();
    let message = recvmsg::<SockaddrStorage>(socket.as_raw_fd(), &mut slices, Some(&mut control), flags)?;
    let segment = message.cmsgs()?.find_map(|part| match part {
        ControlMessageOwned::UdpGroSegments(bytes) => usize::try_from(bytes).ok(),
        _ => None,
    });
    Ok((message.bytes, segment))
}
