//! The memory for the frames that Open vSwitch sends and receives.
//!
//! Open vSwitch sends all frames of a thread through one packet socket. Frames in the kernel's queues count
//! against that socket's send buffer, which holds about 90 frames by default. If several queues fill, Open vSwitch
//! would drop frames for which the scenario's queues have room, and no counter would show it. Each port is read
//! through a socket of its own, whose receive buffer is equally small.

use anyhow::{Context, Result};
use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::{RcvBufForce, SndBufForce};
use std::fs;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// The bytes that all frames to be sent may occupy.
const SEND_BYTES: usize = 512 << 20;
/// The bytes that the frames waiting to be read at a port may occupy.
const RECEIVE_BYTES: usize = 4 << 20;

/// The packet sockets of Open vSwitch.
pub struct Sockets(Vec<OwnedFd>);

impl Sockets {
    /// Finds the packet sockets of all processes below `process`, and enlarges their buffers.
    pub fn enlarge(process: u32) -> Result<Self> {
        let mut found = Vec::new();
        for process in below(process)? {
            let pidfd = open(process).with_context(|| format!("opening process {process}"))?;
            let Ok(descriptors) = fs::read_dir(format!("/proc/{process}/fd")) else { continue };
            for descriptor in descriptors.flatten() {
                let is_socket = fs::read_link(descriptor.path())
                    .is_ok_and(|target| target.to_string_lossy().starts_with("socket:"));
                let number = descriptor.file_name().to_string_lossy().parse::<i32>();
                let (true, Ok(number)) = (is_socket, number) else { continue };
                let socket = take(&pidfd, number).context("reaching a socket of Open vSwitch")?;
                if is_packet_socket(&socket) {
                    setsockopt(&socket, SndBufForce, &SEND_BYTES).context("enlarging a send buffer")?;
                    setsockopt(&socket, RcvBufForce, &RECEIVE_BYTES).context("enlarging a receive buffer")?;
                    found.push(socket);
                }
            }
        }
        Ok(Self(found))
    }

    /// Returns the number of frames for which a receive buffer had no room since the last call.
    pub fn take_lost(&self) -> u64 {
        self.0.iter().map(lost).sum()
    }
}

/// Returns the number of frames for which the receive buffer of `socket` had no room since the last call
/// (packet(7), PACKET_STATISTICS).
fn lost(socket: &OwnedFd) -> u64 {
    // SAFETY: an all-zero value of that plain structure of numbers is valid.
    let mut statistics: libc::tpacket_stats = unsafe { std::mem::zeroed() };
    let mut length = libc::socklen_t::try_from(size_of::<libc::tpacket_stats>()).unwrap_or(0);
    // SAFETY: the descriptor is open, and both pointers are valid during the call, for as many bytes as it is
    // given.
    let status = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_PACKET,
            libc::PACKET_STATISTICS,
            (&raw mut statistics).cast(),
            &raw mut length,
        )
    };
    if status == 0 { statistics.tp_drops.into() } else { 0 }
}

/// Returns the child processes of `parent`.
pub fn below(parent: u32) -> Result<Vec<u32>> {
    let entries = fs::read_dir("/proc").context("listing processes")?;
    let numbers =
        entries.flatten().filter_map(|entry| entry.file_name().to_string_lossy().parse::<u32>().ok());
    let is_below = |process: &u32| {
        // The state and the parent follow the name in parentheses (proc(5)).
        let text = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        let fields = text.rsplit_once(')').map_or("", |(_, fields)| fields);
        fields.split_whitespace().nth(1).and_then(|field| field.parse::<u32>().ok()) == Some(parent)
    };
    Ok(numbers.filter(is_below).collect())
}

/// Opens a descriptor of a process.
fn open(process: u32) -> Result<OwnedFd> {
    // SAFETY: the call takes two numbers.
    owned(unsafe { libc::syscall(libc::SYS_pidfd_open, process, 0) })
}

/// Returns a copy of descriptor `number` of the process (pidfd_getfd(2)).
fn take(process: &OwnedFd, number: i32) -> Result<OwnedFd> {
    // SAFETY: the call takes three numbers, and the first is an open descriptor.
    owned(unsafe { libc::syscall(libc::SYS_pidfd_getfd, process.as_raw_fd(), number, 0) })
}

/// Returns the descriptor that a system call returned.
fn owned(answer: libc::c_long) -> Result<OwnedFd> {
    let number = i32::try_from(answer)?;
    if number < 0 {
        return Err(std::io::Error::last_os_error().into());
    }
    // SAFETY: the kernel has just created this descriptor for this process.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

/// Returns true if `socket` is a packet socket (packet(7)).
fn is_packet_socket(socket: &OwnedFd) -> bool {
    let mut domain: libc::c_int = 0;
    let mut length = libc::socklen_t::try_from(size_of::<libc::c_int>()).unwrap_or(0);
    // SAFETY: the descriptor is open, and both pointers are valid during the call, for as many bytes as it is
    // given.
    let status = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_DOMAIN,
            (&raw mut domain).cast(),
            &raw mut length,
        )
    };
    status == 0 && domain == libc::AF_PACKET
}
