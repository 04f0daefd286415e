//! The platform on systems other than Linux. It uses Rust's standard library, socket2 and polling for all of them,
//! and the module `system` for the parts that differ: clocks, CPU time, the state of connections, path MTU.
//!
//! Datagrams are sent and received one at a time, or in the system's GSO packets, with the time at which this
//! program received them: the wait in the socket's buffer counts as delay. Other programs can't be run.
//! [`refusals`] refuses the settings of flows that need more.

mod files;
mod inbox;
mod outbox;
mod process;
mod reading;
#[cfg(any(target_os = "macos", target_os = "freebsd"))]
pub(super) mod single;
mod sockets;
mod stamped;
#[cfg(not(target_os = "freebsd"))]
pub(super) mod unreported;
mod zerocopy;

pub use super::system::{
    choose_congestion_control, congestion_control, forbid_fragmentation, is_too_large, limit_segments,
    now_ns, path_mtu, processors, system_name, tcp_state, thread_cpu_ns,
};
pub use files::{SharedFile, nameless_file, send_file};
pub use inbox::Inbox;
pub use outbox::Outbox;
pub use process::{congestion_controls_of, die_with_parent, interface_of, is_executable, listens, spawn};
pub use reading::{Readable, poll_interface, receive, receive_full, send_some, try_receive, wait};
pub use sockets::{
    acknowledge_at_once, bind_late, bound_window, enlarge_buffers, limit_unsent, mark, room, set_window,
    stream_socket, subflows,
};
pub use stamped::{Departure, Stamped, wall_ns};
pub use zerocopy::ZeroCopy;

use super::{Refusal, system};
use nettrial_scenario::{Flow, Traffic, Transport};
use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::sync::LazyLock;
use std::time::Duration;

/// Returns the settings of `flow` that this system does not support.
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
        (flow.traffic.has_mechanisms(), refusal(Some("traffic"), "mechanisms", "true", "false")),
        (socket.quick_ack, refusal(Some("socket"), "quick_ack", "true", "false")),
        (socket.zerocopy, refusal(Some("socket"), "zerocopy", "true", "false")),
        (socket.udp_gso && !BATCHES.0, refusal(Some("socket"), "udp_gso", "true", "false")),
        (socket.udp_gro && !BATCHES.1, refusal(Some("socket"), "udp_gro", "true", "false")),
    ];
    all.into_iter().filter(|(is_asked, _)| *is_asked).map(|(_, refusal)| refusal).collect()
}

/// True if the system segments GSO packets, and true if it coalesces datagrams, as tried on a socket.
static BATCHES: LazyLock<(bool, bool)> = LazyLock::new(|| {
    let Ok(socket) = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)) else { return (false, false) };
    (
        system::cut_datagrams(&socket, 1000).is_ok(),
        system::coalesce_datagrams(&socket, usize::from(u16::MAX)).is_ok(),
    )
});

/// Returns the error of an operation that only Linux supports.
pub(super) fn unsupported(what: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::Unsupported,
        format!("{what} needs Linux, and this system is {}", system_name()),
    )
}

/// Sleeps until the clock reaches `moment_ns`.
pub fn sleep_until(moment_ns: u64) {
    std::thread::sleep(Duration::from_nanos(moment_ns.saturating_sub(now_ns())));
}

/// Returns false: no such system has a virtual clock.
pub fn is_time_virtual() -> bool {
    false
}

/// Does nothing, because there is no such setting; the measured lateness shows how late threads wake.
pub fn wake_promptly() {}
