//! The documents that a client and a server exchange in a session.

use nettrial_scenario::HostAddress;
use nettrial_session::Surroundings;
use nettrial_traffic::{Order, Report};
use serde::{Deserialize, Serialize};

/// The longest document that a client may send, bytes.
pub const MOST_ORDER_BYTES: usize = 64 << 10;
/// The longest document that a server may send, bytes: a record with its intervals and histograms.
pub const MOST_REPORT_BYTES: usize = 64 << 20;

/// A document that a client sends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ToServer {
    /// Replaces the agent by a new one, and closes all that the old one had opened.
    NewAgent,
    /// An order for the agent, which answers it by a [`ToClient::Report`] with the order's number.
    Order(Box<Order>),
    /// A question for the time, answered by [`ToClient::Time`].
    Time,
    /// A question for the state of the machine, answered by [`ToClient::Surroundings`].
    Surroundings,
}

/// A document that a server sends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ToClient {
    /// The first document of a session.
    Welcome(Welcome),
    /// A report of the agent.
    Report(Box<Report>),
    /// The agent ended, although it was not told to.
    AgentEnded,
    /// The time by the monotonic clock, which the agents read.
    Time {
        /// The time at which the question arrived, nanoseconds.
        heard_ns: i64,
        /// The time at which this answer was sent, nanoseconds.
        answered_ns: i64,
    },
    /// The state of the machine.
    Surroundings(Surroundings),
}

/// The facts about the serving machine that a client needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Welcome {
    /// The engine's version, which must be the client's.
    pub engine_version: String,
    /// The machine's address of the control connection, to which data ports are bound.
    pub address: HostAddress,
    /// The MTU of the interface that has this address, bytes.
    pub interface_mtu: Option<u64>,
    /// The congestion control of the machine's connections.
    pub congestion_control: String,
    /// The number of other sessions at the start of this one.
    pub others: usize,
}
