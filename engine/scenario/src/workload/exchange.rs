//! Requests and responses.

use crate::{Duration, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The bytes of the smallest request, response or packet: a number and two times of 8 bytes each.
pub const MESSAGE_HEADER_BYTES: u64 = 24;
/// The bytes of the smallest response that brings the responder's times: a header, a number and five times.
pub const TIMED_RESPONSE_BYTES: u64 = MESSAGE_HEADER_BYTES + 48;
/// The most requests or packets of a flow. At a million a second they take a quarter of an hour.
pub const MOST_MESSAGES: u64 = 1_000_000_000;
/// The most requests of a flow that may wait for their responses at a time.
pub const MOST_IN_FLIGHT: u32 = 10_000;

/// The occasions on which a connection is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Connecting {
    /// One connection carries all requests.
    #[default]
    Once,
    /// Each request has its own connection. The round-trip time then starts with the call to connect.
    EachRequest,
}

/// Requests and responses, until a duration or a count is reached, whichever comes first. Over UDP each is one
/// datagram, and a request counts as lost if it is not answered within a second, or within four round-trip times of
/// the idle path if that is longer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RequestResponse {
    /// The bytes of a request, at least 24 (for a number and two times).
    pub request: Size,
    /// The bytes of a response, at least 24.
    pub response: Size,
    /// The duration of the flow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<Duration>,
    /// The number of requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = MOST_MESSAGES))]
    pub count: Option<u64>,
    /// The time from one request to the next. If absent, the next request follows the response at once. A response
    /// that takes longer than the interval delays the next request, and delayed requests are not sent in a burst.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<Duration>,
    /// The number of requests that may wait for their responses at a time.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = MOST_IN_FLIGHT))]
    pub in_flight: u32,
    /// The occasions on which a connection is opened; with `each_request` the round-trip time starts with the call
    /// to connect.
    #[serde(default)]
    pub connecting: Connecting,
    /// The kernel states when each message reaches a queue, leaves and arrives (SO_TIMESTAMPING, Linux
    /// Documentation/networking/timestamping.rst), from which the flow's `mechanisms` follow; in the simulator, its events do.
    /// Over UDP, one request at a time, with responses of 72 bytes or more, which bring the responder's times.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub mechanisms: bool,
}

fn one() -> u32 {
    1
}
