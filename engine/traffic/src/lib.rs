//! Generates and measures traffic: the agent that runs on each host of a trial.
//!
//! The process that started an agent controls it over the agent's standard input and output ([`run_agent`]); there
//! is no control port. Data ports are opened for one trial and serve only connections that begin with that trial's
//! secret [`Cookie`]. A flow's sender gathers its figures; the receiver confirms the bytes that it read, stamps
//! the requests that it answers, and reports on the packets that arrived.
//!
//! Each transport and each kind of traffic is one module behind [`flow::run`] (the sender's side) and [`listener`]
//! (the receiver's side); [`problems`] lists the settings that are not supported. Other programs make their own
//! traffic; [`tool`] starts them and reads their output, and [`read_imports`] reads iperf3's of any other test. All differences between operating systems are behind
//! [`platform`].

mod agent;
mod cookie;
mod datagram;
mod error;
mod exchange;
mod file_transfer;
mod flow;
mod flow_record;
#[cfg(fuzzing)]
pub mod fuzzing;
#[cfg(not(target_os = "linux"))]
pub mod host;
mod iperf3;
mod listener;
mod message;
mod packets;
mod path_mtu;
mod platform;
mod protocol;
mod sampler;
mod sweep;
mod tcp;
mod tcp_state;
mod tool;
mod transfer;
mod waiting;

#[cfg(test)]
mod tests;

pub use agent::{run as run_agent, serve as serve_orders};
pub use cookie::Cookie;
pub use error::{Error, Result};
pub use iperf3::answer as read_imports;
pub use platform::{ProcessorTimes, die_with_parent, listens, now_ns, processors, system_name};
#[cfg(all(target_os = "linux", not(feature = "portable")))]
pub use platform::{clear_environment, contain, sockets_of};
#[cfg(not(target_os = "linux"))]
pub use platform::{forbid_fragmentation, is_too_large, path_mtu};
pub use protocol::{ClockOffset, Command, Connection, Order, PathMtu, Reply, Report, Room, Side};
pub use tool::{is_download, is_installed, lacking as lacking_tools, leaves_congestion_control};

/// The parts that this agent shares with those of hosts whose TCP/IP is a library's: the bytes on connections, the order in
/// which things are measured, and the figures.
pub mod parts {
    pub use crate::cookie::{COOKIE_BYTES, OPENING_BYTES, Purpose};
    pub use crate::datagram::{ANSWER_BYTES, LARGEST_BYTES, MOST_SESSIONS, WAITS};
    pub use crate::exchange::{Schedule, Tally};
    pub use crate::flow_record::{Cut, Figures};
    pub use crate::message::{HEADER_BYTES, Header};
    /// The parts of packets by schedule.
    pub mod packets {
        pub use crate::packets::batch::Batch;
        pub use crate::packets::datagrams::{GREETING_WAIT, TOGETHER};
        pub use crate::packets::header::{Header, tag};
        pub use crate::packets::sender::{Carrier, Sampling, Sent, send as send_due};
        pub use crate::packets::stream::{Parser, READ_BYTES, verify};
        pub use crate::packets::{MESSAGES_TOGETHER, largest_packet, read_received, record};
        pub use crate::platform::Datagrams;
    }
    pub use crate::path_mtu::{PROBE_BYTES, Probing, search};
    pub use crate::sampler::Samples;
    pub use crate::sweep::{Line, measure_all};
    pub use crate::transfer::{END_BYTES, end_ns, told_end};
}

use nettrial_scenario::{Flow, Place, Problem, Traffic};

/// Returns the settings of `flow`, which is at `place`, that the agent does not support; empty if it supports all.
pub fn problems(flow: &Flow, place: &Place) -> Vec<Problem> {
    let refusals = platform::refusals(flow);
    if !refusals.is_empty() {
        let hint = format!("it needs Linux, and this system is {}", system_name());
        let problem = |refusal: platform::Refusal| {
            let part = refusal.part.map_or_else(|| place.clone(), |part| place.within(part));
            part.problem(refusal.setting, refusal.value, refusal.expected, hint.clone())
        };
        return refusals.into_iter().map(problem).collect();
    }
    if let Some(tool) = tool::of(flow) {
        return tool::problems(flow, tool, place);
    }
    let mut problems = Vec::new();
    if let Traffic::FileTransfer(transfer) = &flow.traffic
        && let Err(error) = file_transfer::open(transfer)
    {
        let expected = "a regular file that can be read";
        problems.push(place.within("traffic").problem(
            "file",
            &transfer.file,
            expected,
            nettrial_scenario::chain(&error),
        ));
    }
    problems
}
