//! The measurements made in addition to those of every flow.

use crate::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The meaning of a full queue in the trial: expected, or a disturbance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum QueueDrops {
    /// Queues may overflow; drops are counted.
    Allowed,
    /// No queue should overflow; drops are counted, and a warning reports them.
    Unexpected,
}

/// The measurements made in addition to those of every flow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Measurement {
    /// The interval at which a flow's transport state is read.
    pub interval: Duration,
    /// The hosts whose CPU time is measured. Each then needs a CPU of its own.
    #[serde(default)]
    pub cpu: Vec<String>,
    /// The rule for drops in a link's queue: `allowed` only counts them, `unexpected` also warns of them.
    pub queue_drops: QueueDrops,
    /// The mean interval at which the length of each shaped queue is read; if absent, lengths are not read. If it
    /// is given, records also have the delays at the stations of radio channels over time, in steps of 100 ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_interval: Option<Duration>,
    /// Keep each reading of a queue's length, with the bytes that the interface sent since the previous one. For
    /// simulated links only.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub queue_series: bool,
    /// Count the packets that each interface sends, by size.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub packet_sizes: bool,
    /// A flow has recovered from an event once its goodput is back at this share of its value before; 0.5 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub recovered_share: Option<f64>,
}
