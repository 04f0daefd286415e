//! The lines between the engine that runs trials and the engine on a machine, with one JSON document per line.
//! Each question is answered by one line, and the reports of the machine's agent may arrive at any time.

use crate::settings::Change;
use nettrial_scenario::{FailureKind, Flow, Problem, Wireless};
use nettrial_session::Surroundings;
use nettrial_traffic::{Order, Report};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The beginning of the first line of a machine's engine. Earlier lines come from other programs, such as login
/// scripts.
pub const WELCOME: &str = "nettrial-machine ";

/// The first line, after [`WELCOME`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Welcome {
    /// The version of the machine's engine, which must be the same at both ends.
    pub version: String,
}

/// A line to a machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ToMachine {
    /// A sign of life. The answer is [`FromMachine::StillHere`].
    StillHere,
    /// A request for a description. The answer is [`FromMachine::Described`].
    Describe {
        /// The interfaces to describe.
        interfaces: Vec<String>,
    },
    /// A question about the flows, congestion controls and sysctls that the machine can't have. The answer is
    /// [`FromMachine::Problems`].
    Problems {
        /// The flows that the machine is to carry, with their numbers in the scenario.
        flows: Vec<(usize, Flow)>,
        /// The congestion controls that the machine's connections are to have.
        controls: Vec<String>,
        /// The sysctls that the machine is to have in addition to those of a stack.
        sysctls: Vec<String>,
    },
    /// The start of a trial: the machine puts these settings in force and starts a new agent. The previous agent
    /// and its sockets are gone. The answer is [`FromMachine::Begun`].
    Begin {
        /// The settings.
        settings: Vec<Change>,
        /// True if the machine is to start an agent.
        agent: bool,
    },
    /// An order for the agent. Its report is [`FromMachine::Report`].
    Order(Box<Order>),
    /// A request for the time. The answer is [`FromMachine::Time`].
    Time,
    /// A request for an observation of the machine. The answer is [`FromMachine::Observed`].
    Observe {
        /// The interfaces to observe.
        interfaces: Vec<String>,
    },
    /// The end of the trial: the machine ends the agent and closes its sockets. The answer is
    /// [`FromMachine::Ended`].
    End,
}

/// A line from a machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum FromMachine {
    /// The answer to [`ToMachine::StillHere`].
    StillHere,
    /// The answer to [`ToMachine::Describe`].
    Described(Box<nettrial_scenario::Machine>),
    /// The answer to [`ToMachine::Problems`].
    Problems {
        /// The problems of the flows.
        flows: Vec<Problem>,
        /// The congestion controls that the machine does not have.
        without: Vec<String>,
        /// The values of the sysctls that were asked for, of those that the machine has.
        sysctls: BTreeMap<String, String>,
    },
    /// The answer to [`ToMachine::Begin`].
    Begun,
    /// A report of the agent.
    Report(Box<Report>),
    /// The agent ended without being told to, for this reason.
    AgentEnded(String),
    /// The answer to [`ToMachine::Time`]: times of the monotonic clock.
    Time {
        /// The time at which the question arrived, in nanoseconds.
        heard_ns: i64,
        /// The time at which this answer was sent, in nanoseconds.
        answered_ns: i64,
        /// The wall clock less the monotonic clock, nanoseconds.
        wall_ns: i64,
    },
    /// The answer to [`ToMachine::Observe`].
    Observed(Observation),
    /// The answer to [`ToMachine::End`].
    Ended,
    /// A question could not be answered.
    Failed {
        /// The kind of the failure.
        kind: FailureKind,
        /// The step that failed, and the reason.
        message: String,
    },
}

/// The state of a machine at one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Observation {
    /// The state of the machine.
    pub surroundings: Surroundings,
    /// The interfaces that were asked for.
    pub interfaces: Vec<Counted>,
    /// The settings that determine the speed of its CPUs.
    pub pace: Pace,
}

/// The settings that determine the speed of a machine's CPUs. Values that its system does not report are absent or
/// 0.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pace {
    /// The governors and highest permitted frequencies of the CPUs, in kHz, as the kernel writes them; equal ones
    /// appear once.
    pub policies: Vec<String>,
    /// True if the machine runs on mains power, false if on battery.
    pub on_mains: Option<bool>,
    /// The number of times that CPUs were slowed down because of heat.
    pub throttled: u64,
    /// The number of times that the machine slept (suspended to memory or disk).
    pub slept: u64,
}

/// The state of an interface at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counted {
    /// The interface's name.
    pub name: String,
    /// Bytes sent, including Ethernet headers.
    pub sent_bytes: u64,
    /// Packets sent.
    pub sent_pkts: u64,
    /// Bytes received, including Ethernet headers.
    pub received_bytes: u64,
    /// Packets received.
    pub received_pkts: u64,
    /// The number of times that its link went up or down.
    pub carrier_changes: u64,
    /// The speed of the interface's link in bits per second, if the driver reports it.
    pub speed_bps: Option<u64>,
    /// The state of its radio, if it is a Wi-Fi interface.
    pub wireless: Option<Wireless>,
}
