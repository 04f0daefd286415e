//! The flows of a scenario.

use crate::{Duration, IpVersion, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The transport protocol of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// RFC 9293.
    Tcp,
    /// RFC 768.
    Udp,
    /// RFC 8684.
    Mptcp,
}

/// Traffic between two hosts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// Unique in the scenario.
    pub name: String,
    /// The host that opens the connection: it sends a transfer, and the requests.
    pub from: String,
    /// The host that accepts it.
    pub to: String,
    /// The protocol.
    pub transport: Transport,
    /// Which of the hosts' addresses are used.
    pub ip: IpVersion,
    /// When the flow starts, after the instant at which all are ready.
    #[serde(default)]
    pub start: Duration,
    /// What is sent.
    pub traffic: Traffic,
}

/// What a flow sends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Traffic {
    /// Bytes in one direction, as fast as the transport takes them.
    #[schemars(title = "TransferTraffic")]
    Transfer(Transfer),
    /// A small message and its answer, one in flight.
    #[schemars(title = "RequestResponseTraffic")]
    RequestResponse(RequestResponse),
}

/// A bulk transfer. With a size alone: that many bytes, once. With a duration alone: one
/// connection for that long. With both: transfers of that size, each on a new connection, one
/// after the other; the last one that starts within the duration is completed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Transfer {
    /// Bytes of one transfer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Size>,
    /// How long to go on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<Duration>,
}

/// Requests and responses on one connection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RequestResponse {
    /// Bytes of a request, at least 24 (it carries a number and two times).
    pub request: Size,
    /// Bytes of a response, at least 24.
    pub response: Size,
    /// How long to go on.
    pub duration: Duration,
    /// From one request to the next. Absent: the next follows the response at once. A response
    /// that comes later than the interval delays the next request; none are sent in a burst after.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<Duration>,
}

/// The smallest request or response: a number and two times, 8 bytes each.
pub const MESSAGE_HEADER_BYTES: u64 = 24;

impl Traffic {
    /// How long the flow goes on by its description, if that says so.
    pub fn duration(&self) -> Option<Duration> {
        match self {
            Self::Transfer(transfer) => transfer.duration,
            Self::RequestResponse(exchange) => Some(exchange.duration),
        }
    }
}
