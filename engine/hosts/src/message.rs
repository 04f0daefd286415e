//! The lines between the engine that runs trials and the one on a machine: one JSON document a line, each question
//! answered by one line, and the reports of the machine's agent whenever they come.

use crate::settings::Change;
use nettrial_scenario::{Flow, Problem, Wireless};
use nettrial_session::Reading;
use nettrial_traffic::{Order, Report};
use serde::{Deserialize, Serialize};

/// Begins the first line of a machine's engine. What came before it is others', such as a login script's greeting.
pub const WELCOME: &str = "nettrial-machine ";

/// The first line, after [`WELCOME`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Welcome {
    /// The engine's version there: both ends must be of one.
    pub version: String,
}

/// A line to a machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ToMachine {
    /// Nothing but that somebody is there. Answered by [`FromMachine::StillHere`].
    StillHere,
    /// Ask for a description. Answered by [`FromMachine::Described`].
    Describe {
        /// The interfaces to describe.
        interfaces: Vec<String>,
    },
    /// Ask what of these the machine can't do. Answered by [`FromMachine::Problems`].
    Problems {
        /// The flows that it is to carry, with their numbers in the scenario.
        flows: Vec<(usize, Flow)>,
        /// The congestion controls that its connections are to have.
        controls: Vec<String>,
    },
    /// Begin a trial: put these settings in force, and start a new agent; the one before, and all it has opened, is
    /// gone. Answered by [`FromMachine::Begun`].
    Begin {
        /// The settings.
        settings: Vec<Change>,
        /// True if there is an agent.
        agent: bool,
    },
    /// For the agent. Its report is [`FromMachine::Report`].
    Order(Box<Order>),
    /// Ask for the time. Answered by [`FromMachine::Time`].
    Time,
    /// Ask how busy the machine is. Answered by [`FromMachine::Observed`].
    Observe {
        /// The interfaces to count at.
        interfaces: Vec<String>,
    },
    /// End the trial: the agent, and all it has opened, is gone. Answered by [`FromMachine::Ended`].
    End,
}

/// A line from a machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum FromMachine {
    /// Answers [`ToMachine::StillHere`].
    StillHere,
    /// Answers [`ToMachine::Describe`].
    Described(Box<nettrial_scenario::Machine>),
    /// Answers [`ToMachine::Problems`].
    Problems {
        /// The problems of the flows.
        flows: Vec<Problem>,
        /// The congestion controls that it has not.
        without: Vec<String>,
    },
    /// Answers [`ToMachine::Begin`].
    Begun,
    /// A report of the agent.
    Report(Box<Report>),
    /// The agent ended without being told to; the reason.
    AgentEnded(String),
    /// The time by the monotonic clock.
    Time {
        /// The time at which the question came, nanoseconds.
        heard_ns: i64,
        /// The time at which this was sent.
        answered_ns: i64,
        /// The wall clock less the monotonic clock, nanoseconds.
        wall_ns: i64,
    },
    /// Answers [`ToMachine::Observe`].
    Observed(Observation),
    /// Answers [`ToMachine::End`].
    Ended,
    /// A question could not be answered; why.
    Failed(String),
}

/// A machine at one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Observation {
    /// The clocks of its CPUs; none where it does not tell them.
    pub processors: Option<Reading>,
    /// The wall clock less the monotonic clock, nanoseconds.
    pub wall_ns: i64,
    /// Its interfaces, as they were asked for.
    pub interfaces: Vec<Counted>,
    /// The settings of the pace of its CPUs.
    pub pace: Pace,
    /// The largest lateness of a thread that wakes every 20 ms since the last observation, nanoseconds.
    pub late_ns: u64,
}

/// The settings of the pace of a machine's processors: what its system does not tell is absent or 0.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pace {
    /// The governor of each CPU and the highest frequency that it may take, kHz, as the kernel writes them; each
    /// once.
    pub policies: Vec<String>,
    /// True where it runs on mains power, false where on a battery.
    pub on_mains: Option<bool>,
    /// The number of times that CPUs were slowed down for their heat.
    pub throttled: u64,
    /// The number of times that it slept (suspended to memory or disk).
    pub slept: u64,
}

/// An interface at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counted {
    /// Its name.
    pub name: String,
    /// Bytes sent, Ethernet's headers counted.
    pub sent_bytes: u64,
    /// Packets sent.
    pub sent_pkts: u64,
    /// Bytes received, Ethernet's headers counted.
    pub received_bytes: u64,
    /// Packets received.
    pub received_pkts: u64,
    /// The number of times that its link came or went.
    pub carrier_changes: u64,
    /// The speed of its link, bits per second, where the driver says it.
    pub speed_bps: Option<u64>,
    /// Its radio, if it is a Wi-Fi interface.
    pub wireless: Option<Wireless>,
}
