//! Requests of many sizes in one trial.

use crate::Size;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The answer that the receiver sends back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// A message of 24 bytes.
    Acknowledgment,
    /// The bytes of the request.
    Echo,
}

/// A sweep over sizes from the first to the last by a step. Each size is measured a number of times, in a random
/// order that follows from the seed, on one connection. A measurement sends a number of bytes in requests of this
/// size, each answered before the next. Over UDP a request is one datagram, fragmented if the path MTU requires
/// it. A request that is not answered within a fifth of a second is retransmitted and counted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sweep {
    /// The smallest request, at least 24 B.
    pub first: Size,
    /// The largest request; over UDP at most 65507 B (IPv4) or 65527 B (IPv6).
    pub last: Size,
    /// The step from one size to the next.
    pub step: Size,
    /// The number of times that each size is measured in one trial.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub repeats: u32,
    /// The bytes sent for one measurement of a size, in one request or more. The last request may be shorter, but
    /// has at least 24 B.
    pub bytes: Size,
    /// The answer that the receiver sends back: 24 bytes, or as many as the request has.
    pub answer: Answer,
    /// Seed of the random order.
    #[serde(default)]
    pub seed: u64,
}

fn one() -> u32 {
    1
}
