//! The measurements made beside what every flow gives.

use crate::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The role of a full queue in the trial: expected, or a disturbance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum QueueDrops {
    /// Queues are meant to overflow; drops are counted.
    Allowed,
    /// No queue is meant to overflow; a drop is counted and warned of.
    Unexpected,
}

/// The measurements made beside what every flow gives.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Measurement {
    /// The interval at which a flow's transport state is read.
    pub interval: Duration,
    /// The hosts whose CPU time is measured. Each then needs a CPU of its own.
    #[serde(default)]
    pub cpu: Vec<String>,
    /// The response to drops in a link's queue: `allowed` counts them, `unexpected` warns of them, too.
    pub queue_drops: QueueDrops,
    /// The mean interval at which the length of each shaped queue is read; lengths are not read where absent. Where it is there,
    /// records have the delays at the stations of radio channels over time, too, by 100 ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_interval: Option<Duration>,
    /// Keep each of these readings, with what the interface sent since the one before. Of simulated
    /// links only.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub queue_series: bool,
    /// Count the packets that each interface sends by size.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub packet_sizes: bool,
}
