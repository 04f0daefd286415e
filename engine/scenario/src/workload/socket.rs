//! Options of a flow's sockets.

use crate::{Duration, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Options of a flow's sockets, at both hosts; what is left out is as the kernel has it. Each option changes what
/// the flow costs or what is on the wire, and so can be a factor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SocketOptions {
    /// The largest TCP segment to announce and to send, bytes of payload and options (TCP_MAXSEG, tcp(7);
    /// RFC 6691): with timestamps 12 bytes less of payload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mss: Option<Size>,
    /// The TCP window, bytes: the most that either host announces as its receive window (TCP_WINDOW_CLAMP, tcp(7), where the
    /// system has it), and the size that both its socket buffers keep (SO_RCVBUF and SO_SNDBUF, socket(7)). Without it the
    /// system sizes both as the connection goes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<Size>,
    /// Bytes handed to the kernel at a time by a transfer; 128 KiB where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block: Option<Size>,
    /// The time for which a read polls the interface before it sleeps (SO_BUSY_POLL, socket(7)). A virtual link
    /// has nothing to poll, so in the lab the reader itself tries again for that long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busy_poll: Option<Duration>,
    /// The differentiated services codepoint of what is sent, 0 to 63 (RFC 2474; IP_TOS, ip(7), and IPV6_TCLASS,
    /// ipv6(7)): a radio channel has an access category for each.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schemars(range(min = 0, max = 63))]
    pub dscp: u8,
    /// Transfers send without copying (MSG_ZEROCOPY, Linux Documentation/networking/msg_zerocopy.rst).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub zerocopy: bool,
    /// UDP packets of one size leave in GSO packets that the kernel segments (UDP_SEGMENT, udp(7)).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub udp_gso: bool,
    /// UDP packets arrive in packets that the kernel coalesced (UDP_GRO, udp(7)).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub udp_gro: bool,
    /// The send and the receive buffer of each UDP socket (SO_SNDBUF and SO_RCVBUF, socket(7)). Linux doubles it for
    /// its own bookkeeping of packets. The simulator has the send buffer alone, for its readers take no time. Where
    /// absent, packets are sent from the kernel's default of 104 KiB, and all else has room enough not to matter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub udp_buffer: Option<Size>,
}

// serde asks for a reference.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero(codepoint: &u8) -> bool {
    *codepoint == 0
}

impl SocketOptions {
    /// Returns true if nothing is asked for.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}
