//! Packets of constant or random sizes and gaps.

use super::{MOST_MESSAGES, Variate};
use crate::{Duration, Rate, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Packets in one direction: datagrams over UDP, messages over TCP and MPTCP. Ended by a duration, a
/// count, or whichever of both comes first. With a gap: one packet, then the gap. With a rate: as much
/// payload a second, evenly. With neither: as fast as the transport takes them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Packets {
    /// Bytes of a packet's payload, at least 24 (it carries a number and two times).
    pub size: Variate<Size>,
    /// From one departure to the next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap: Option<Variate<Duration>>,
    /// Payload bits per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Times of sending and of silence in turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_off: Option<OnOff>,
    /// The duration of the flow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<Duration>,
    /// The number of packets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = MOST_MESSAGES))]
    pub count: Option<u64>,
    /// Seed of the random numbers: sizes, gaps and ON/OFF times are three independent sequences
    /// drawn from it.
    #[serde(default)]
    pub seed: u64,
}

/// Times of sending and of silence in turn, the first one of sending.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OnOff {
    /// The time for which packets are sent.
    pub on: Variate<Duration>,
    /// The time for which none are sent.
    pub off: Variate<Duration>,
}
