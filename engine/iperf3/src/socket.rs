//! Reads and sets the options of a test's sockets in the kernel.

use crate::parameters::Parameters;
use nettrial_admission::loaded_congestion_controls;
use socket2::SockRef;
use std::io;
use std::net::TcpStream;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

/// Sets the options of a data socket that a test's parameters ask for. Options that the kernel refuses keep their
/// values, and so does the congestion control if the kernel has not loaded the requested one. The results tell the
/// client which congestion control is in force, and it reads the sizes of its own buffers.
pub fn prepare(socket: &impl AsFd, parameters: &Parameters, is_ipv4: bool) {
    let socket = SockRef::from(socket);
    if parameters.window > 0 {
        let bytes = usize::try_from(parameters.window).unwrap_or(usize::MAX).min(i32::MAX as usize);
        let _ = socket.set_send_buffer_size(bytes);
        let _ = socket.set_recv_buffer_size(bytes);
    }
    if let Ok(tos) = u8::try_from(parameters.tos)
        && tos > 0
    {
        let _ = if is_ipv4 { socket.set_tos_v4(tos.into()) } else { socket.set_tclass_v6(tos.into()) };
    }
    if parameters.fqrate > 0 {
        let _ = limit_rate(&socket, parameters.fqrate / 8);
    }
    if parameters.tcp {
        let _ = socket.set_tcp_nodelay(parameters.nodelay);
        if let Some(name) = &parameters.congestion
            && loaded_congestion_controls().contains(name)
        {
            let _ = socket.set_tcp_congestion(name.as_bytes());
        }
    }
}

/// Returns the congestion control in force.
pub fn congestion_control(stream: &TcpStream) -> Option<String> {
    let name = SockRef::from(stream).tcp_congestion().ok()?;
    let text: Vec<u8> = name.into_iter().take_while(|&byte| byte != 0).collect();
    String::from_utf8(text).ok()
}

/// Limits the rate at which the kernel sends to `bytes_per_second` (SO_MAX_PACING_RATE, socket(7)).
fn limit_rate(socket: &SockRef, bytes_per_second: u64) -> io::Result<()> {
    let length = libc::socklen_t::try_from(size_of_val(&bytes_per_second)).expect("the size of an integer");
    // SAFETY: the value is a readable integer of `length` bytes, and the descriptor is open.
    let status = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_MAX_PACING_RATE,
            (&raw const bytes_per_second).cast(),
            length,
        )
    };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Returns the kernel's view of a connection (getsockopt TCP_INFO, tcp(7)).
pub fn tcp_info(stream: &TcpStream) -> io::Result<libc::tcp_info> {
    // SAFETY: the structure is plain integers, for which zero is a value.
    let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
    let mut length = libc::socklen_t::try_from(size_of_val(&info)).expect("a small structure");
    // SAFETY: `info` is a writable plain structure of `length` bytes, and the descriptor is open.
    let status = unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            (&raw mut info).cast(),
            &raw mut length,
        )
    };
    if status == 0 { Ok(info) } else { Err(io::Error::last_os_error()) }
}

/// Returns the time of the monotonic clock (CLOCK_MONOTONIC), with which iperf3 stamps its datagrams.
pub fn monotonic() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a writable timespec. The call cannot fail: every Linux has this clock.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    Duration::new(time.tv_sec.cast_unsigned(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Returns the CPU time of the calling thread in the program, and in the kernel.
pub fn thread_time() -> (Duration, Duration) {
    // SAFETY: the structure is plain integers, for which zero is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` is a writable structure of that type.
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) };
    let span = |time: libc::timeval| {
        Duration::from_secs(time.tv_sec.cast_unsigned()) + Duration::from_micros(time.tv_usec.cast_unsigned())
    };
    (span(usage.ru_utime), span(usage.ru_stime))
}
