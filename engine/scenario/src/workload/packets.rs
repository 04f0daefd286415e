//! Packets of constant or random sizes and gaps.

use super::{MOST_MESSAGES, Variate};
use crate::{Duration, Rate, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Packets in one direction: datagrams over UDP, messages over TCP and MPTCP, until a duration or a count is
/// reached, whichever comes first. With a gap, the gap follows each packet. With a rate, payload is sent evenly at
/// this rate. With neither, packets are sent as fast as the transport accepts them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Packets {
    /// The bytes of a packet's payload, at least 24 (for a number and two times).
    pub size: Variate<Size>,
    /// The time from one departure to the next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap: Option<Variate<Duration>>,
    /// The payload rate, bits per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Alternating times of sending and of silence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_off: Option<OnOff>,
    /// The duration of the flow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<Duration>,
    /// The number of packets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = MOST_MESSAGES))]
    pub count: Option<u64>,
    /// Seed of the random numbers. Sizes, gaps and ON/OFF times are three independent sequences.
    #[serde(default)]
    pub seed: u64,
}

/// Alternating times of sending and of silence, starting with sending.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OnOff {
    /// The time for which packets are sent.
    pub on: Variate<Duration>,
    /// The time for which no packets are sent.
    pub off: Variate<Duration>,
}
