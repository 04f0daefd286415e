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
    /// The bytes that came.
    Echo,
}

/// For each size from the first to the last by a step, so many times, all in an order drawn from the seed
/// and on one connection: a number of bytes, request by request of that size, each answered before the
/// next. Over UDP a request is one datagram, in fragments where the path's MTU asks for them, and one
/// that is not answered within a fifth of a second is retransmitted and counted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sweep {
    /// The smallest request, at least 24 B.
    pub first: Size,
    /// The largest; over UDP at most 65507 B (IPv4) or 65527 B (IPv6).
    pub last: Size,
    /// From one size to the next.
    pub step: Size,
    /// The number of times that each size is measured in one trial.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub repeats: u32,
    /// Bytes sent for one measurement of a size: one request or more, the last one shorter, but no shorter
    /// than 24 B.
    pub bytes: Size,
    /// The answer that the receiver sends back: 24 bytes, or as many as came.
    pub answer: Answer,
    /// Seed of the order's random numbers.
    #[serde(default)]
    pub seed: u64,
}

fn one() -> u32 {
    1
}
