//! Options of a flow's sockets.

use crate::{Duration, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Options of a flow's sockets at both hosts. Options that are left out keep the kernel's values. Each option
/// affects the cost of the flow or its packets on the wire, and so can be a factor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SocketOptions {
    /// The largest TCP segment to announce and to send, bytes of payload and options (TCP_MAXSEG, tcp(7); RFC
    /// 6691). With timestamps, the payload is 12 bytes smaller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mss: Option<Size>,
    /// The TCP window, bytes: the largest receive window that either host announces (TCP_WINDOW_CLAMP, tcp(7), if
    /// the system has it), and the fixed size of both its socket buffers (SO_RCVBUF and SO_SNDBUF, socket(7)). If
    /// absent, the system sizes the buffers automatically.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<Size>,
    /// The bytes that a transfer hands to the kernel at a time; 128 KiB if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block: Option<Size>,
    /// The time for which a read polls the interface before it sleeps (SO_BUSY_POLL, socket(7)). A virtual link
    /// has nothing to poll, so in the lab the reader itself retries for that long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busy_poll: Option<Duration>,
    /// The differentiated services codepoint of the flow's packets, 0 to 63 (RFC 2474; IP_TOS, ip(7), and
    /// IPV6_TCLASS, ipv6(7)). A radio channel maps each to an access category.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schemars(range(min = 0, max = 63))]
    pub dscp: u8,
    /// The beginning of a message may wait for the acknowledgment of a small segment before it (Nagle, RFC 896), as on a
    /// socket without TCP_NODELAY (tcp(7)). Data of transfers, which fill segments, always may.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub nagle: bool,
    /// Received data is acknowledged as soon as it is read, and not with the next data or after the time of a delayed
    /// acknowledgment (TCP_QUICKACK, tcp(7), set again with each read).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub quick_ack: bool,
    /// Transfers send without copying (MSG_ZEROCOPY, Linux Documentation/networking/msg_zerocopy.rst).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub zerocopy: bool,
    /// UDP packets of one size are sent in GSO packets that the kernel segments (UDP_SEGMENT, udp(7)).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub udp_gso: bool,
    /// UDP packets are received coalesced by the kernel (UDP_GRO, udp(7)).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub udp_gro: bool,
    /// The size of the send and the receive buffer of each UDP socket (SO_SNDBUF and SO_RCVBUF, socket(7)), which
    /// Linux doubles for its own bookkeeping. The simulator has only the send buffer, because its readers take no
    /// time. If absent, packets are sent from the kernel's default buffer of 104 KiB, and all other buffers are
    /// large enough not to matter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub udp_buffer: Option<Size>,
}

// serde asks for a reference.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero(codepoint: &u8) -> bool {
    *codepoint == 0
}

impl SocketOptions {
    /// Returns true if no option is set.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}
