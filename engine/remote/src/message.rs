//! .

use nettrial_session::Reading;
use nettrial_traffic::{Order, Report};
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// The longest document that a client may send, bytes.
pub const MOST_ORDER_BYTES: usize = 64 << 10;
/// The longest document that a server may send, bytes: a record with its intervals and histograms.
pub const MOST_REPORT_BYTES: usize = 64 << 20;

/// A document of the client's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ToServer {
    /// Begin with a new agent; the one before, and all it has opened, is gone.
    NewAgent,
    /// For the agent. Answered by [`ToClient::Report`] with its number.
    Order(Box<Order>),
    /// Ask for the time. Answered by [`ToClient::Time`].
    Time,
    /// Ask how busy the CPUs are. Answered by [`ToClient::Processors`].
    Processors,
}

/// A document of the server's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ToClient {
    /// The first.
    Welcome(Welcome),
    /// A report of the agent.
    Report(Box<Report>),
    /// The agent ended without being told to.
    AgentEnded,
    /// The time by the monotonic clock, which the agents read.
    Time {
        /// The time at which the question came, nanoseconds.
        heard_ns: i64,
        /// The time at which this was sent.
        answered_ns: i64,
    },
    /// The CPUs' times; none where the system does not tell them.
    Processors(Option<Reading>),
}

/// The facts that a client has to know of the machine that serves it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Welcome {
    /// The engine's version there: orders and reports are those of one version.
    pub engine_version: String,
    /// The machine's own address of the control connection, to which the data ports are bound.
    pub address: IpAddr,
    /// The MTU of the interface that has it, bytes.
    pub interface_mtu: Option<u64>,
    /// The congestion control that its connections have.
    pub congestion_control: String,
    /// Other sessions at this moment.
    pub others: usize,
}
