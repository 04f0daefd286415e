//! The lines between the planner of trials and an engine that runs them. Each line is one JSON document: requests
//! on the engine's standard input, events on its standard output. At the end of the input, the engine stops at
//! once and leaves nothing behind.

use crate::{Capabilities, Duration, FailureKind, Flow, Machine, Place, Problem, Record, Scenario, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A line to the engine, which answers each by one event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "request", rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// Asks whether this machine can run trials at all. Answered by [`Event::Preflight`].
    #[schemars(title = "PreflightRequest")]
    Preflight {
        /// Also try each congestion control that the engine brings, which takes the kernel a second. Otherwise
        /// each is tried when a scenario names it.
        #[serde(default)]
        thorough: bool,
    },
    /// Asks whether this backend could run this scenario. Nothing is built. Answered by [`Event::Checked`].
    #[schemars(title = "CheckRequest")]
    Check {
        /// The scenario.
        scenario: Box<Scenario>,
    },
    /// Runs a trial. Answered by [`Event::Record`] or [`Event::Failed`].
    #[schemars(title = "RunRequest")]
    Run {
        /// Repeated in the answer.
        trial: String,
        /// The scenario.
        scenario: Box<Scenario>,
        /// The packets to capture and their directory; if absent, nothing is captured.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        capture: Option<Capture>,
        /// The number of threads in which the simulator may run the trial. The record does not depend on it.
        #[serde(default = "one")]
        threads: u32,
    },
}

fn one() -> u32 {
    1
}

/// The packets of a trial to capture, and their directory. Capturing is not part of the scenario, because the
/// measurements mean the same with and without it, apart from its cost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Capture {
    /// The directory of the files, which must exist.
    pub directory: String,
    /// The trial's name in the names of the files. Each interface has one file: `NAME-NODE-INTERFACE.pcapng`.
    pub name: String,
    /// The interfaces, each a node's name (all its interfaces) or `NODE:INTERFACE`; empty for all interfaces. A
    /// radio channel is an interface of its access point, `INTERFACE-air`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interfaces: Vec<String>,
    /// The bytes kept of each frame, Ethernet's header included.
    pub snap_bytes: u32,
}

impl Capture {
    /// Returns true if the packets of this interface are captured.
    pub fn includes(&self, node: &str, interface: &str) -> bool {
        let is_it = |chosen: &String| match chosen.split_once(':') {
            Some((of, name)) => of == node && name == interface,
            None => chosen == node,
        };
        self.interfaces.is_empty() || self.interfaces.iter().any(is_it)
    }

    /// Returns the name under which the radio channel of this interface of an access point is captured; none if it
    /// is not captured.
    pub fn channel(&self, node: &str, interface: &str) -> Option<String> {
        let name = format!("{interface}-air");
        self.includes(node, &name).then_some(name)
    }

    /// Returns the name, without extension, of an interface's file.
    pub fn file_name(&self, node: &str, interface: &str) -> String {
        format!("{}-{node}-{interface}", self.name)
    }
}

/// A line to an engine that measures between this machine and another one. Answered by
/// [`Event::Record`], [`Event::Failed`], or [`Event::Checked`] with the problems of the flow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Measure {
    /// Repeated in the answer.
    pub trial: String,
    /// The traffic, from `client` (this machine) to `server` (the other one) or back.
    pub flow: Flow,
    /// The number of streams that carry this traffic at the same time, 1 to 128. Each is a flow of its own; of more
    /// than one, each name ends with the stream's number: `NAME-1`, `NAME-2`, and so on.
    #[serde(default = "one_stream")]
    pub streams: u32,
    /// The interval at which the flow's transport state is read.
    pub interval: Duration,
    /// The congestion control of both hosts' connections, by its name in their kernels; if absent, each host's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub congestion_control: Option<String>,
    /// The MTU whose packets are measured; if absent, that of the interfaces as they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu: Option<MeasuredMtu>,
}

/// An MTU whose packets are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MeasuredMtu {
    /// The size of the largest IP packets.
    pub size: Size,
    /// The means by which packets get this size.
    pub by: MtuMeans,
}

/// The means by which the packets of a measurement get the size of an MTU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MtuMeans {
    /// The MTU of this machine's interface, which is changed and restored at the end, whatever ends the session.
    Interface,
    /// TCP's segment size at both hosts (TCP_MAXSEG, tcp(7)), which needs no privileges.
    Segments,
}

impl Measure {
    /// The name of this machine in the flow.
    pub const CLIENT: &str = "client";
    /// The name of the other machine in the flow.
    pub const SERVER: &str = "server";
    /// The most streams of a measurement: as many as iperf3 allows (MAX_STREAMS of iperf.h).
    pub const MOST_STREAMS: u32 = 128;

    /// Returns the flow of each stream.
    pub fn flows(&self) -> Vec<Flow> {
        if self.streams == 1 {
            return vec![self.flow.clone()];
        }
        let stream = |number| Flow { name: format!("{}-{number}", self.flow.name), ..self.flow.clone() };
        (1..=self.streams).map(stream).collect()
    }

    /// Returns the place of the flow in this document.
    pub fn flow_place(&self) -> Place {
        Place::new("/flow", format!("flow {:?}", self.flow.name))
    }
}

fn one_stream() -> u32 {
    1
}

/// A line from the engine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case", deny_unknown_fields)]
pub enum Event {
    /// Answers [`Request::Preflight`].
    #[schemars(title = "PreflightEvent")]
    Preflight {
        /// The findings.
        preflight: Box<Preflight>,
    },
    /// Answers [`Request::Check`].
    #[schemars(title = "CheckedEvent")]
    Checked {
        /// Everything that is wrong with the scenario on this backend; empty if it can run.
        problems: Vec<Problem>,
        /// The estimated work of running the scenario; only the simulator can tell it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        estimate: Option<Estimate>,
    },
    /// A trial's result.
    #[schemars(title = "RecordEvent")]
    Record {
        /// The request's.
        trial: String,
        /// The record of the trial.
        record: Box<Record>,
    },
    /// A trial that failed.
    #[schemars(title = "FailedEvent")]
    Failed {
        /// The request's.
        trial: String,
        /// The kind of the failure.
        kind: FailureKind,
        /// The action that failed, and the error, for people.
        message: String,
    },
    /// The line could not be read as a request.
    #[schemars(title = "RefusedEvent")]
    Refused {
        /// Why.
        message: String,
    },
}

/// The work of simulating a scenario.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Estimate {
    /// The number of times that packets would cross a link without losses.
    pub packet_hops: u64,
    /// The CPU time that this takes, seconds.
    pub seconds: f64,
}

/// The findings about what this machine can run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Preflight {
    /// Everything that keeps trials from running; empty if they can.
    pub missing: Vec<Shortfall>,
    /// The missing features without which trials can run, each with its consequence.
    pub limits: Vec<Shortfall>,
    /// The backend's statement of its capabilities if nothing is missing; absent if the backend does not run on
    /// this system at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<Box<Capabilities>>,
    /// The machine, for the run's record.
    pub environment: Environment,
}

/// A feature that the machine lacks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Shortfall {
    /// The feature that was tried.
    pub what: String,
    /// The result of trying it.
    pub why: String,
    /// The remedy.
    pub remedy: String,
    /// The kind of the failure that showed it, if programs tell it from others.
    #[serde(default, skip_serializing_if = "FailureKind::is_other")]
    pub kind: FailureKind,
}

impl Shortfall {
    /// Creates a shortfall of a kind that programs don't tell from others.
    pub fn new(what: impl Into<String>, why: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { what: what.into(), why: why.into(), remedy: remedy.into(), kind: FailureKind::Other }
    }

    /// Returns the shortfall with the kind of the failure that showed it.
    #[must_use]
    pub fn of_kind(self, kind: FailureKind) -> Self {
        Self { kind, ..self }
    }
}

/// The machine on which a run was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Environment {
    /// The engine's version.
    pub engine_version: String,
    /// The kernel's name, release and version.
    pub kernel: String,
    /// The CPU's model.
    pub processor: String,
    /// The number of CPUs that this process may use.
    pub processors: u32,
    /// `root`, or `user_namespace`.
    pub privileges: String,
    /// The congestion controls that the kernel has.
    pub congestion_controls: Vec<String>,
    /// The network settings of a new namespace that affect the results, by sysctl name.
    pub sysctls: BTreeMap<String, String>,
    /// The lateness of timers, measured at the start of the engine. Absent on the simulator, which uses none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timer_lateness: Option<TimerLateness>,
    /// The parts of the apparatus that may differ between sessions and affect results, each with its value in words:
    /// the shaper, the CPUs that are used and their behaviour, clocks. Empty on backends that depend on none of them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub apparatus: BTreeMap<String, String>,
    /// The user's machines on which trials ran, by name; absent if trials ran elsewhere.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub machines: Vec<Machine>,
}

/// The lateness of sleeps of 200 us, on all CPUs that the engine may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TimerLateness {
    /// Median, nanoseconds.
    pub median_ns: u64,
    /// 99th percentile, nanoseconds.
    pub p99_ns: u64,
    /// Percentile 99.9, nanoseconds.
    pub p99_9_ns: u64,
}
