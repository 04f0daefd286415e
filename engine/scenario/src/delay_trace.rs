//! Delays of links that change over time.

use crate::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A propagation delay that changes in steps, as that of a satellite link does with each handover. Its time begins when all
/// flows are ready, with the traffic; until then, the first delay applies. A frame takes the delay that is in force when
/// its last bit leaves, and never arrives before the frame in front of it: both arrive together where the delay falls by
/// more than the time between them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DelayTrace {
    /// The times from which the delays apply, in nanoseconds; the first is 0, and each is later than the one before.
    pub from_ns: Vec<u64>,
    /// The delay in one direction from each of these times, in nanoseconds.
    pub delays_ns: Vec<u64>,
    /// The time after which the trace begins again, in nanoseconds. If it is absent, the last delay stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeats_after_ns: Option<u64>,
}

impl DelayTrace {
    /// Returns the first of its delays.
    pub fn first(&self) -> Duration {
        Duration(self.delays_ns.first().copied().unwrap_or_default())
    }

    /// Returns the smallest of its delays.
    pub fn smallest(&self) -> Duration {
        Duration(self.delays_ns.iter().copied().min().unwrap_or_default())
    }

    /// Returns the largest of its delays.
    pub fn largest(&self) -> Duration {
        Duration(self.delays_ns.iter().copied().max().unwrap_or_default())
    }
}
