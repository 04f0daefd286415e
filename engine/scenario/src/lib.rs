//! The two documents that every nettrial backend shares, and the lines that carry them.
//!
//! A [`Scenario`] is one trial, fully resolved: nodes, links, addresses, routing policy, stack
//! settings, workload, measurement. It means the same on every backend. A [`Record`] is what that
//! trial measured, the checks made around it, and the warnings that follow from them. A [`Request`]
//! and an [`Event`] are one line each on an engine's standard input and output.
//!
//! This crate depends on no other crate of the workspace and does no input or output. Unknown fields are errors
//! everywhere. [`schema`] exports all types as JSON Schema, from which the Python package's `nettrial/scenario.py`
//! is generated.

#![forbid(unsafe_code)]

mod address;
mod capabilities;
mod checks;
mod controller;
mod delay_trace;
mod directory;
pub mod ethernet;
mod failure;
mod import;
mod machine;
mod measurement;
mod network;
mod outage;
mod problem;
mod protocol;
mod queue_limit;
pub mod random;
mod rate_trace;
mod record;
mod schema;
mod stack;
mod tunnel;
mod units;
mod wlan;
mod workload;

pub use address::{HostAddress, InterfaceAddress, IpVersion};
pub use capabilities::{Capabilities, Figure, Setting};
pub use checks::{check, is_sysctl};
pub use controller::{Controller, ControllerApplication, ControllerMode};
pub use delay_trace::DelayTrace;
pub use directory::Directory;
pub use failure::{During, Failure, FailureKind, Fault, chain};
pub use import::{
    ImportAnswer, ImportRequest, ImportedDocument, Iperf3Direction, Iperf3Gap, Iperf3Refusal, Iperf3Test,
};
pub use machine::{Machine, MachineInterface, MachineReach, Wireless};
pub use measurement::{Measurement, QueueDrops};
pub use network::{
    Discipline, GuestHardware, HostCost, Impairment, Interface, Link, LossBursts, Medium, Node, NodeKind,
    Reverse, RoutingPolicy,
};
pub use outage::Outage;
pub use problem::{Place, Problem};
pub use protocol::{
    Capture, Environment, Estimate, Event, Measure, MeasuredMtu, MtuMeans, Preflight, Request, Shortfall,
    TimerLateness,
};
pub use queue_limit::QueueLimit;
pub use rate_trace::RateTrace;
pub use record::{
    Absence, Airtime, Callbacks, ChannelRecord, Check, CongestionRecord, ControllerRecord, DelaySample,
    Distribution, DisturbanceRecord, FlowRecord, GuestRecord, Histogram, HostRecord, InterfaceRecord,
    InterfaceSample, Interval, MachineRecord, MechanismsRecord, OutageRecord, Pacing, PacketCounts,
    PacketSize, Phases, ProcessorRecord, RadioRecord, RateSample, RateUse, Record, SizeRecord, Span,
    StackRecord, StationRecord, SubflowRecord, ToolRecord, Warning,
};
pub use schema::schema;
pub use stack::{Buffer, Offloads, Scheduler, Stack};
pub use tunnel::Tunnel;
pub use units::{Duration, Rate, Size, UnitError, nanoseconds};
pub use wlan::{Band, FrameErrors, RateControl, Wlan, WlanDiscipline, WlanMode, WlanStandard, WlanStation};
pub use workload::{
    Answer, Connecting, FileTransfer, Flow, MESSAGE_HEADER_BYTES, OnOff, Packets, RequestResponse, Share,
    SocketOptions, Sweep, TIMED_RESPONSE_BYTES, Tool, ToolName, Traffic, Transfer, Transport, Truncation,
    Variate,
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The version of the scenario and record documents. A reader refuses a higher one.
pub const FORMAT: u32 = 1;

/// One trial, fully resolved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// The document's version: [`FORMAT`].
    pub format: u32,
    /// Hosts, routers and switches, each with a unique name.
    pub nodes: Vec<Node>,
    /// Links between nodes.
    pub links: Vec<Link>,
    /// The policy by which one of several paths is chosen.
    pub routing: RoutingPolicy,
    /// The OpenFlow controller of the switches. If absent, they are learning bridges that forward along a spanning tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub controller: Option<Controller>,
    /// The flows, all started relative to the same instant.
    pub workload: Vec<Flow>,
    /// The measurements made in addition to those of every flow.
    pub measurement: Measurement,
    /// The links and nodes that fail while traffic goes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<Outage>,
    /// Seed of the random numbers of a trial, simulated or in virtual time, that have no seed of their own: the start
    /// of each flow within its first millisecond, and the ports of connections, or all that the kernel in virtual time
    /// draws. Real hosts choose these themselves.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub seed: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Reads a scenario from a JSON document. Fails where a field is unknown, missing or of another type.
///
/// Tests write their scenarios as JSON. This implementation compiles the reading of scenarios once here, and not
/// in every test crate.
impl TryFrom<serde_json::Value> for Scenario {
    type Error = serde_json::Error;

    fn try_from(document: serde_json::Value) -> Result<Self, Self::Error> {
        serde_json::from_value(document)
    }
}

impl Scenario {
    /// The node called `name`.
    pub fn node(&self, name: &str) -> Option<&Node> {
        self.nodes.iter().find(|node| node.name == name)
    }

    /// The stack of the host called `name`.
    pub fn stack(&self, name: &str) -> Option<&Stack> {
        self.node(name)?.stack.as_ref()
    }

    /// Returns the payload bytes that the flows with the records `flows` moved from or to `host` as transfers, files
    /// and packets.
    pub fn payload_bytes(&self, host: &str, flows: &[FlowRecord]) -> u64 {
        let of_host = |(flow, record): (&Flow, &FlowRecord)| {
            let counts =
                matches!(flow.traffic, Traffic::Transfer(_) | Traffic::FileTransfer(_) | Traffic::Packets(_));
            (counts && (flow.from == host || flow.to == host)).then_some(record.bytes)
        };
        self.workload.iter().zip(flows).filter_map(of_host).fold(0, u64::saturating_add)
    }
}
