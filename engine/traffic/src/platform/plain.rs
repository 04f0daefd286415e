//! A system of which nothing is known but what Rust's standard library has: Linux stands in for it, where the tests of
//! the agent of other systems run (`--features portable`). It has GSO packets alone beside that, as Windows does.

use super::ProcessorTimes;
use super::other::unsupported;
pub use super::other::untold::{choose_congestion_control, congestion_control, limit_segments};
use crate::tcp_state::TcpState;
use std::io;
use std::net::{TcpStream, UdpSocket};
use std::os::fd::AsRawFd;
use std::sync::LazyLock;
use std::time::Instant;

/// The clock's reading at this process's first look, so that moments before it can be told, too: an hour.
const FIRST_NS: u64 = 3_600_000_000_000;
/// True where [`limit_segments`] does.
pub const LIMITS_SEGMENTS: bool = false;

static FIRST: LazyLock<Instant> = LazyLock::new(Instant::now);

/// The system's name in messages.
pub fn system_name() -> String {
    "another system".to_owned()
}

/// Nanoseconds of a monotonic clock of this process.
pub fn now_ns() -> u64 {
    FIRST_NS + u64::try_from(FIRST.elapsed().as_nanos()).unwrap_or(u64::MAX - FIRST_NS)
}

/// CPU time that the calling thread has used: the standard library doesn't tell.
pub fn thread_cpu_ns() -> Option<u64> {
    None
}

/// Refuses to tell how busy the machine's CPUs are.
///
/// # Errors
/// Always.
pub fn processors() -> io::Result<Vec<ProcessorTimes>> {
    Err(unsupported("telling how busy CPUs are"))
}

/// The path MTU that the system knows for a connected socket: it is not asked.
pub fn path_mtu(_socket: &UdpSocket) -> io::Result<Option<u64>> {
    Ok(None)
}

/// Refuses to send packets that may not be fragmented.
pub fn forbid_fragmentation(_socket: &UdpSocket) -> io::Result<()> {
    Err(unsupported("probing the path MTU"))
}

/// Returns whether `error` says that a datagram may not be sent whole, which only [`forbid_fragmentation`] makes.
pub fn is_too_large(_error: &io::Error) -> bool {
    false
}

/// The system's view of a connection: it is not asked.
pub fn tcp_state(_stream: &TcpStream) -> io::Result<Option<TcpState>> {
    Ok(None)
}

/// Has each datagram that is longer cut to `bytes`, none if that is 0 (UDP_SEGMENT).
pub fn cut_datagrams(socket: &UdpSocket, bytes: usize) -> io::Result<()> {
    let bytes = i32::try_from(bytes).map_err(io::Error::other)?;
    Ok(nix::sys::socket::setsockopt(socket, nix::sys::socket::sockopt::UdpGsoSegment, &bytes)?)
}

/// Has the datagrams that arrive coalesced (UDP_GRO).
pub fn coalesce_datagrams(socket: &UdpSocket, _bytes: usize) -> io::Result<()> {
    Ok(nix::sys::socket::setsockopt(socket, nix::sys::socket::sockopt::UdpGroSegment, &true)?)
}

/// Takes a message; gives its length, and that of each of its datagrams if they were coalesced.
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
