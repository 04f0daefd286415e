//! The lines between a backend and an agent: orders on the agent's standard input, reports on its
//! standard output, one JSON document a line. Every order is answered by one report with its number;
//! reports come when they are ready, not in order. The end of the input ends the agent.

use crate::Cookie;
use nettrial_scenario::{Flow, FlowRecord, Warning};
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, SocketAddr};

/// A numbered command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Order {
    /// Repeated in the answer.
    pub number: u64,
    /// What to do.
    pub command: Command,
}

/// A numbered answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// The order's.
    pub number: u64,
    /// What came of it.
    pub reply: Reply,
}

/// A flow as one of its hosts sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Side {
    /// The flow.
    pub flow: Flow,
    /// The trial's secret.
    pub cookie: Cookie,
    /// This host's address.
    pub address: IpAddr,
    /// This host's congestion control.
    pub congestion_control: String,
    /// How the two hosts' clocks stand to each other, if that is known: one-way delays mean something then.
    pub clock_offset: Option<ClockOffset>,
}

impl Side {
    /// By how much the clock of the flow's second host is ahead, if that is known.
    pub fn ahead_ns(&self) -> Option<i64> {
        self.clock_offset.map(|offset| offset.ahead_ns)
    }
}

/// By how much the monotonic clock of a flow's second host is ahead of its first host's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClockOffset {
    /// Nanoseconds to take off the second host's times.
    pub ahead_ns: i64,
    /// By how much that may be wrong, nanoseconds.
    pub error_ns: u64,
}

impl ClockOffset {
    /// Both hosts read the same clock.
    pub const ONE_CLOCK: Self = Self { ahead_ns: 0, error_ns: 0 };
}

/// What an agent can be told to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// Accept the flow's connections. Answered by [`Reply::Listening`].
    Listen(Side),
    /// Answer path MTU probes to `address`. Answered by [`Reply::Listening`].
    Respond {
        /// The trial's secret.
        cookie: Cookie,
        /// This host's address.
        address: IpAddr,
    },
    /// Probe the path with packets that may not be fragmented. Answered by [`Reply::PathMtu`].
    ProbePathMtu {
        /// The trial's secret.
        cookie: Cookie,
        /// This host's address.
        address: IpAddr,
        /// Where the other host responds.
        destination: SocketAddr,
        /// The path MTU that the scenario implies, bytes.
        expected: u64,
    },
    /// Open the flow's connection, look at it, close it. Answered by [`Reply::Inspected`].
    Inspect {
        /// This host's side of the flow.
        side: Side,
        /// Where the other host listens.
        destination: SocketAddr,
    },
    /// Run the flow. Answered by [`Reply::Finished`] at its end.
    Start {
        /// This host's side of the flow.
        side: Side,
        /// Where the other host listens.
        destination: SocketAddr,
        /// How often the transport's state is read, nanoseconds.
        sample_ns: u64,
    },
}

/// What an agent answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Reply {
    /// The port that was opened.
    Listening {
        /// TCP for a flow, UDP for probes.
        port: u16,
    },
    /// What the path carries.
    PathMtu(PathMtu),
    /// A connection as the kernel set it up.
    Inspected(Connection),
    /// A flow's figures, and why they may not be what they seem.
    Finished(Box<FlowRecord>, Vec<Warning>),
    /// The order could not be carried out.
    Failed {
        /// What was being done, and what went wrong.
        message: String,
    },
}

/// A connection's settings in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Connection {
    /// The sender's maximum segment size, bytes of payload.
    pub mss_bytes: u32,
    /// The sender's congestion control.
    pub congestion_control: String,
    /// Of `timestamps`, `sack` and `window_scaling`, those that both sides agreed to, in this order.
    pub options: Vec<String>,
}

/// What probes found of a path's MTU, in one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PathMtu {
    /// The largest probe that was answered, bytes of IP packet; 0 if none was.
    pub largest: u64,
    /// Whether a probe one byte above the expected MTU was answered, too.
    pub exceeded: bool,
}
