//! The platform on macOS and FreeBSD, which differ little here. `tools/check-other-systems.sh` compiles it, but
//! nothing runs it.

mod control;
pub mod host;
mod processors;
mod tcp_info;

pub use processors::processors;
pub use tcp_info::tcp_state;

pub use super::other::single::{coalesce_datagrams, cut_datagrams, receive_coalesced};
#[cfg(target_os = "macos")]
pub use super::other::unreported::{choose_congestion_control, congestion_control};
use socket2::Socket;
use std::io;
#[cfg(target_os = "freebsd")]
use std::net::TcpStream;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;

/// True if [`limit_segments`] limits segments on this system.
pub const LIMITS_SEGMENTS: bool = true;

/// Returns the system's name for messages.
pub fn system_name() -> String {
    if cfg!(target_os = "macos") { "macOS" } else { "FreeBSD" }.to_owned()
}

/// Returns the time of the monotonic clock in nanoseconds. All processes of the machine share this clock
/// (clock_gettime(2)).
pub fn now_ns() -> u64 {
    read(libc::CLOCK_MONOTONIC).unwrap_or(0)
}

/// Returns the CPU time that the calling thread has used, in nanoseconds.
pub fn thread_cpu_ns() -> Option<u64> {
    read(libc::CLOCK_THREAD_CPUTIME_ID)
}

fn read(clock: libc::clockid_t) -> Option<u64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the time is writable.
    let status = unsafe { libc::clock_gettime(clock, &raw mut time) };
    let (seconds, ns) = (u64::try_from(time.tv_sec).ok()?, u64::try_from(time.tv_nsec).ok()?);
    (status == 0).then_some(seconds * 1_000_000_000 + ns)
}

/// Sets the congestion control of `socket` to `name` (TCP_CONGESTION, tcp(4) of FreeBSD).
#[cfg(target_os = "freebsd")]
pub fn choose_congestion_control(socket: &Socket, name: &str) -> io::Result<()> {
    if name.is_empty() { Ok(()) } else { socket.set_tcp_congestion(name.as_bytes()) }
}

/// Returns the congestion control in force on a connection.
#[cfg(target_os = "freebsd")]
pub fn congestion_control(stream: &TcpStream) -> io::Result<String> {
    let name = socket2::SockRef::from(stream).tcp_congestion()?;
    let text: Vec<u8> = name.into_iter().take_while(|&byte| byte != 0).collect();
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// Limits the segments of `socket` to `bytes` of payload and options (TCP_MAXSEG).
pub fn limit_segments(socket: &Socket, bytes: i32) -> io::Result<()> {
    socket.set_tcp_mss(u32::try_from(bytes).map_err(io::Error::other)?)
}

/// Returns `None`, because no option reports the path MTU of a connected socket.
pub fn path_mtu(_socket: &UdpSocket) -> io::Result<Option<u64>> {
    Ok(None)
}

/// Sets "do not fragment" (IP_DONTFRAG, ip(4); IPV6_DONTFRAG, RFC 3542 section 11.2).
pub fn forbid_fragmentation(socket: &UdpSocket) -> io::Result<()> {
    let (level, option) = if socket.local_addr()?.is_ipv4() {
        (libc::IPPROTO_IP, libc::IP_DONTFRAG)
    } else {
        (libc::IPPROTO_IPV6, libc::IPV6_DONTFRAG)
    };
    let value: libc::c_int = 1;
    let length = libc::socklen_t::try_from(size_of_val(&value)).unwrap_or(0);
    // SAFETY: `value` is a readable integer of `length` bytes, and the descriptor is open for as long as `socket` is
    // borrowed.
    let status =
        unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, (&raw const value).cast(), length) };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Returns true if `error` means that a datagram is larger than the interface or the system can send.
pub fn is_too_large(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::EMSGSIZE)
}
