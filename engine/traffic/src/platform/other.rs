//! Systems other than Linux, by what Rust's standard library, socket2 and polling have for all of them, and by what
//! `system` has of each: clocks, CPU time, the state of connections, path MTU.
//!
//! Datagrams are sent and taken one at a time, or in the system's GSO packets, and bear the moment at which this program took them: the wait
//! in the socket's buffer counts as delay. Other programs are not run. Whatever a flow asks for beyond that is refused
//! by [`refusals`].

mod files;
mod inbox;
mod outbox;
mod process;
mod reading;
#[cfg(any(target_os = "macos", target_os = "freebsd"))]
pub(super) mod single;
mod sockets;
#[cfg(not(target_os = "freebsd"))]
pub(super) mod untold;
mod zerocopy;

pub use super::system::{
    choose_congestion_control, congestion_control, forbid_fragmentation, is_too_large, limit_segments,
    now_ns, path_mtu, processors, system_name, tcp_state, thread_cpu_ns,
};
pub use files::{SharedFile, nameless_file, send_file};
pub use inbox::Inbox;
pub use outbox::Outbox;
pub use process::{default_congestion_control, die_with_parent, is_executable, listens, spawn};
pub use reading::{Readable, poll_interface, receive, send_some, try_receive, wait};
pub use sockets::{
    bind_late, bound_window, enlarge_buffers, limit_unsent, mark, room, set_window, stream_socket, subflows,
};
pub use zerocopy::ZeroCopy;

use super::{Refusal, system};
use nettrial_scenario::{Flow, Traffic, Transport};
use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::sync::LazyLock;
use std::time::Duration;

/// The settings of `flow` that this system does not carry.
pub fn refusals(flow: &Flow) -> Vec<Refusal> {
    let socket = &flow.socket;
    let refusal = |part, setting, value, expected| Refusal { part, setting, value, expected };
    let all = [
        (flow.transport == Transport::Mptcp, refusal(None, "transport", "mptcp", "tcp, udp")),
        (
            matches!(flow.traffic, Traffic::Tool(_)),
            refusal(None, "traffic", "tool", "nettrial's own traffic"),
        ),
        (
            socket.mss.is_some() && !system::LIMITS_SEGMENTS,
            refusal(Some("socket"), "mss", "a size", "no limit"),
        ),
        (socket.dscp > 0, refusal(Some("socket"), "dscp", "a codepoint", "0")),
        (socket.zerocopy, refusal(Some("socket"), "zerocopy", "true", "false")),
        (socket.udp_gso && !BATCHES.0, refusal(Some("socket"), "udp_gso", "true", "false")),
        (socket.udp_gro && !BATCHES.1, refusal(Some("socket"), "udp_gro", "true", "false")),
    ];
    all.into_iter().filter(|(is_asked, _)| *is_asked).map(|(_, refusal)| refusal).collect()
}

/// True if the system cuts GSO packets, and if it coalesces datagrams: a socket is asked.
static BATCHES: LazyLock<(bool, bool)> = LazyLock::new(|| {
    let Ok(socket) = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)) else { return (false, false) };
    (
        system::cut_datagrams(&socket, 1000).is_ok(),
        system::coalesce_datagrams(&socket, usize::from(u16::MAX)).is_ok(),
    )
});

/// The error of what only Linux has.
pub(super) fn unsupported(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, format!("{what} needs Linux, and this is {}", system_name()))
}

/// Sleeps until the clock shows `moment_ns`.
pub fn sleep_until(moment_ns: u64) {
    std::thread::sleep(Duration::from_nanos(moment_ns.saturating_sub(now_ns())));
}

/// Has the system wake the calling thread as close to the asked moment as it can: it is left as it is, and
/// the lateness shows it.
pub fn wake_promptly() {}
