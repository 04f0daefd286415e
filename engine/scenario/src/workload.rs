//! The flows of a scenario.

mod exchange;
mod packets;
mod socket;
mod sweep;
mod tool;
mod transfer;
mod variate;

pub use exchange::{Connecting, MESSAGE_HEADER_BYTES, RequestResponse};
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
    /// RFC 9293.
    Tcp,
    /// RFC 768.
    Udp,
    /// RFC 8684.
    Mptcp,
    /// Echo requests and replies of RFC 792 and RFC 4443; only the tool `ping` sends them.
    Icmp,
}

impl Transport {
    /// Its name in documents.
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
    /// Unique in the scenario.
    pub name: String,
    /// The host that opens the connection: it sends a transfer, the packets, and the requests.
    pub from: String,
    /// The host that accepts it.
    pub to: String,
    /// The protocol.
    pub transport: Transport,
    /// The IP version of the hosts' addresses that are used.
    pub ip: IpVersion,
    /// The pair of its hosts' addresses that the flow begins with, counted from 0 and starting over after the
    /// last; further subflows take those that follow.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub pair: u32,
    /// The start of the flow, after the instant at which all are ready.
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
    /// A bulk transfer: so many bytes, for so long, or with both one such transfer after the other.
    #[schemars(title = "TransferTraffic")]
    Transfer(Transfer),
    /// A file, once, from the sender's disk to the receiver's, where it has no name and is gone with the trial.
    #[schemars(title = "FileTransferTraffic")]
    FileTransfer(FileTransfer),
    /// A message and its answer, one or several in flight, for so long, so many times, or whichever of both comes
    /// first.
    #[schemars(title = "RequestResponseTraffic")]
    RequestResponse(RequestResponse),
    /// Packets in one direction, for so long, so many of them, or whichever of both comes first. With a gap: one
    /// packet, then the gap. With a rate: as much payload a second, evenly. With neither: as fast as the transport
    /// takes them.
    #[schemars(title = "PacketsTraffic")]
    Packets(Packets),
    /// Requests of many sizes in a random order on one connection: for each size a number of bytes, request by
    /// request, each answered before the next.
    #[schemars(title = "SweepTraffic")]
    Sweep(Sweep),
    /// Another program's traffic, measured by that program.
    #[schemars(title = "ToolTraffic")]
    Tool(Tool),
}

impl Traffic {
    /// The names in documents of all kinds.
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

    /// Its name in documents.
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
