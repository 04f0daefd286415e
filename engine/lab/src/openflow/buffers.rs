//! The memory for the frames that Open vSwitch sends and receives.
//!
//! Open vSwitch sends all frames of a thread through one packet socket. Frames in the kernel's queues count
//! against that socket's send buffer, which holds about 90 frames by default. If several queues fill, Open vSwitch
//! would drop frames for which the scenario's queues have room, and no counter would show it. Each port is read
//! through a socket of its own, whose receive buffer is equally small.

use crate::error::{Context, Result};
use crate::packet_socket::overflow;
use nettrial_traffic::sockets_of;
use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::{RcvBufForce, SndBufForce};
use socket2::Domain;
use std::fs;
use std::os::fd::OwnedFd;

/// The bytes that all frames to be sent may occupy.
const SEND_BYTES: usize = 512 << 20;
/// The bytes that the frames waiting to be read at a port may occupy.
const RECEIVE_BYTES: usize = 4 << 20;

/// The packet sockets of Open vSwitch.
pub struct Sockets(Vec<OwnedFd>);

impl Sockets {
    /// Finds the packet sockets of all processes below `process`, and enlarges their buffers.
    pub fn enlarge(process: u32) -> Result<Self> {
        let mut enlarged = Vec::new();
        for process in below(process)? {
            for socket in sockets_of(process).context("reaching the sockets of Open vSwitch")? {
                if socket.domain().is_ok_and(|domain| domain == Domain::PACKET) {
                    setsockopt(&socket, SndBufForce, &SEND_BYTES).context("enlarging a send buffer")?;
                    setsockopt(&socket, RcvBufForce, &RECEIVE_BYTES).context("enlarging a receive buffer")?;
                    enlarged.push(socket.into());
                }
            }
        }
        Ok(Self(enlarged))
    }

    /// Returns the number of frames for which a receive buffer had no room since the last call.
    pub fn take_lost(&self) -> Result<u64> {
        self.0.iter().map(overflow).sum()
    }
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
