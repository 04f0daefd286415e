//! Systems other than Linux, by what Rust's standard library, socket2 and polling have for all of them.
//!
//! Datagrams are sent and taken one at a time, and bear the moment at which this program took them: the wait
//! in the socket's buffer counts as delay. No transport statistics, CPU time or path MTU are read, and other
//! programs are not run. Whatever a flow asks for beyond that is refused by [`refusals`].

mod clock;
mod files;
mod inbox;
mod outbox;
mod process;
mod reading;
mod sockets;
mod zerocopy;

pub use clock::{now_ns, sleep_until, thread_cpu_ns, wake_promptly};
pub use files::{SharedFile, nameless_file, send_file};
pub use inbox::Inbox;
pub use outbox::Outbox;
pub use process::{default_congestion_control, die_with_parent, is_executable, listens, spawn};
pub use reading::{Readable, poll_interface, receive, send_some, try_receive, wait};
pub use sockets::{
    bind_late, choose_congestion_control, congestion_control, enlarge_buffers, forbid_fragmentation,
    is_too_large, limit_segments, limit_unsent, path_mtu, stream_socket, subflows, tcp_state,
};
pub use zerocopy::ZeroCopy;

use super::Refusal;
use nettrial_scenario::{Flow, Traffic, Transport};
use std::io;

/// True where [`tcp_state`] tells anything.
pub const READS_TCP_STATE: bool = false;

/// The settings of `flow` that this system does not carry.
pub fn refusals(flow: &Flow) -> Vec<Refusal> {
    let socket = &flow.socket;
    let refusal = |part, setting, value, legal| Refusal { part, setting, value, legal };
    let all = [
        (flow.transport == Transport::Mptcp, refusal(None, "transport", "mptcp", "tcp, udp")),
        (
            matches!(flow.traffic, Traffic::Tool(_)),
            refusal(None, "traffic", "tool", "nettrial's own traffic"),
        ),
        (socket.mss.is_some(), refusal(Some("socket"), "mss", "a size", "no limit")),
        (socket.zerocopy, refusal(Some("socket"), "zerocopy", "true", "false")),
        (socket.udp_gso, refusal(Some("socket"), "udp_gso", "true", "false")),
    ];
    all.into_iter().filter(|(is_asked, _)| *is_asked).map(|(_, refusal)| refusal).collect()
}

/// The error of what only Linux has.
fn unsupported(what: &str) -> io::Error {
    let system = std::env::consts::OS;
    io::Error::new(io::ErrorKind::Unsupported, format!("{what} needs Linux, and this is {system}"))
}
