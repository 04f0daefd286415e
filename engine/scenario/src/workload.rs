//! The flows of a scenario.

mod exchange;
mod packets;
mod socket;
mod sweep;
mod tool;
mod transfer;
mod variate;

pub use exchange::{Connecting, MESSAGE_HEADER_BYTES, RequestResponse, TIMED_RESPONSE_BYTES};
pub(crate) use exchange::{MOST_IN_FLIGHT, MOST_MESSAGES};
pub use packets::{OnOff, Packets};
pub use socket::SocketOptions;
pub use sweep::{Answer, Sweep};
pub use tool::{Tool, ToolName};
pub use transfer::{FileTransfer, Transfer};
pub use variate::{Share, Truncation, Variate};

use crate::{Duration, IpVersion};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The transport protocol of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// TCP (RFC 9293).
    Tcp,
    /// UDP (RFC 768).
    Udp,
    /// Multipath TCP (RFC 8684).
    Mptcp,
    /// ICMP echo requests and replies (RFC 792, RFC 4443), which only the tool `ping` sends.
    Icmp,
}

impl Transport {
    /// Returns the transport's name in documents.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
            Self::Mptcp => "mptcp",
            Self::Icmp => "icmp",
        }
    }
}

/// Traffic between two hosts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// The flow's name, which is unique in the scenario.
    pub name: String,
    /// The host that opens the connection. It sends the transfer, the packets or the requests.
    pub from: String,
    /// The host that accepts the connection.
    pub to: String,
    /// The protocol.
    pub transport: Transport,
    /// The IP version of the addresses that the flow uses.
    pub ip: IpVersion,
    /// The pair of the hosts' addresses with which the flow begins, counted from 0 and starting over after the
    /// last pair. Further subflows use the following pairs.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub pair: u32,
    /// The start of the flow, relative to the instant at which all flows are ready.
    #[serde(default)]
    pub start: Duration,
    /// The options of the flow's sockets.
    #[serde(default, skip_serializing_if = "SocketOptions::is_default")]
    pub socket: SocketOptions,
    /// The traffic that is sent.
    pub traffic: Traffic,
}

// serde asks for a reference.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// The traffic that a flow sends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Traffic {
    /// A bulk transfer of a number of bytes, for a duration, or with both one such transfer after the other.
    #[schemars(title = "TransferTraffic")]
    Transfer(Transfer),
    /// One transfer of a file from the sender's disk to the receiver's. There the file has no name, and is removed
    /// at the end of the trial.
    #[schemars(title = "FileTransferTraffic")]
    FileTransfer(FileTransfer),
    /// Messages and their answers, one or several in flight, until a duration or a number of messages is reached,
    /// whichever comes first.
    #[schemars(title = "RequestResponseTraffic")]
    RequestResponse(RequestResponse),
    /// Packets in one direction, until a duration or a number of packets is reached, whichever comes first. With a
    /// gap, the gap follows each packet. With a rate, payload is sent evenly at this rate. With neither, packets
    /// are sent as fast as the transport accepts them.
    #[schemars(title = "PacketsTraffic")]
    Packets(Packets),
    /// Requests of many sizes in a random order on one connection. For each size a number of bytes is sent in
    /// requests of this size, each answered before the next.
    #[schemars(title = "SweepTraffic")]
    Sweep(Sweep),
    /// Another program's traffic, measured by that program.
    #[schemars(title = "ToolTraffic")]
    Tool(Tool),
}

impl Traffic {
    /// The names of all kinds in documents.
    pub const KINDS: [&'static str; 6] =
        ["transfer", "file_transfer", "request_response", "packets", "sweep", "tool"];

    /// Returns the duration of the flow, if its description states one.
    pub fn duration(&self) -> Option<Duration> {
        match self {
            Self::Transfer(transfer) => transfer.duration,
            Self::RequestResponse(exchange) => exchange.duration,
            Self::Packets(packets) => packets.duration,
            Self::Tool(tool) => tool.duration,
            Self::FileTransfer(_) | Self::Sweep(_) => None,
        }
    }

    /// Returns whether the times of the parts of each round trip are asked for.
    pub fn has_mechanisms(&self) -> bool {
        matches!(self, Self::RequestResponse(exchange) if exchange.mechanisms)
    }

    /// Returns the name of the kind in documents.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Transfer(_) => "transfer",
            Self::FileTransfer(_) => "file_transfer",
            Self::RequestResponse(_) => "request_response",
            Self::Packets(_) => "packets",
            Self::Sweep(_) => "sweep",
            Self::Tool(_) => "tool",
        }
    }
}
