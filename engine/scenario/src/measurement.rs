//! What is measured beside what every flow gives.

use crate::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether a full queue is part of the trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum QueueDrops {
    /// Queues are meant to overflow; drops are counted.
    Allowed,
    /// No queue is meant to overflow; a drop is counted and warned of.
    Unexpected,
}

/// What is measured beside what every flow gives.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Measurement {
    /// How often a flow's transport state is read.
    pub interval: Duration,
    /// The hosts whose processor time is measured. Each then needs a processor of its own.
    #[serde(default)]
    pub cpu: Vec<String>,
    /// Whether drops in a link's queue are warned of.
    pub queue_drops: QueueDrops,
    /// How often the length of each shaped queue is read; not at all where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_interval: Option<Duration>,
    /// Whether each of those readings is kept, with what the interface sent since the one before. Of simulated
    /// links only.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub queue_series: bool,
    /// Whether the packets that each interface sends are counted by size.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub packet_sizes: bool,
}
