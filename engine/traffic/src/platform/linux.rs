//! The platform on Linux.

mod clock;
mod files;
mod inbox;
mod mptcp;
mod options;
mod outbox;
mod process;
mod processors;
mod program_sockets;
mod reading;
mod shelter;
mod sockets;
mod stamped;
mod tcp_info;
mod zerocopy;

pub use clock::{is_time_virtual, now_ns, sleep_until, thread_cpu_ns, wake_promptly};
pub use files::{SharedFile, nameless_file, send_file};
pub use inbox::Inbox;
pub use mptcp::subflows;
pub use outbox::Outbox;
pub use process::{clear_environment, contain, die_with_parent, interface_of, is_executable, listens, spawn};
pub use processors::processors;
pub use program_sockets::{congestion_controls_of, sockets_of};
pub use reading::{Readable, poll_interface, receive, receive_full, send_some, try_receive, wait};
pub use sockets::{
    acknowledge_at_once, bind_late, bound_window, choose_congestion_control, congestion_control,
    enlarge_buffers, forbid_fragmentation, is_too_large, limit_segments, limit_unsent, mark, path_mtu, room,
    set_window, stream_socket,
};
pub use stamped::{Departure, Stamped, wall_ns};
pub use tcp_info::tcp_state;
pub use zerocopy::ZeroCopy;

use super::Refusal;
use crate::error::Error;
use nettrial_scenario::Flow;
use nix::errno::Errno;

impl From<Errno> for Error {
    fn from(error: Errno) -> Self {
        Self::System(error.into())
    }
}

/// Returns the system's name for messages.
pub fn system_name() -> String {
    "Linux".to_owned()
}

/// Returns the settings of `flow` that Linux does not support, of which there are none.
pub fn refusals(_flow: &Flow) -> Vec<Refusal> {
    Vec::new()
}
