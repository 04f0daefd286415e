//! Tunnels and translation of links' packets.

use crate::IpVersion;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The tunnel, or the translation, by which a link carries packets in the other version of IP: with a header more, or with
/// the other header instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Tunnel {
    /// IPv6 packets in IPv4 packets (RFC 4213 section 3), as a 6to4 relay sends them, too (RFC 3056 section 3).
    #[serde(rename = "6in4")]
    SixInFour,
    /// IPv4 packets in IPv6 packets (RFC 2473), as in a DS-Lite softwire (RFC 6333 section 5).
    #[serde(rename = "4in6")]
    FourInSix,
    /// A host that has IPv4 alone behind a router that translates (RFC 7915): NAT64 towards an IPv4 server, and the two ends
    /// of 464XLAT if both hosts of a flow are such hosts (RFC 6877). Addresses are mapped one to one (RFC 7757).
    #[serde(rename = "nat64")]
    Nat64,
}

impl Tunnel {
    /// Returns the tunnel's name in documents.
    pub fn name(self) -> &'static str {
        match self {
            Self::SixInFour => "6in4",
            Self::FourInSix => "4in6",
            Self::Nat64 => "nat64",
        }
    }

    /// Returns the version of the packets that it carries: those that the rest of the network has.
    pub fn inner(self) -> IpVersion {
        match self {
            Self::SixInFour | Self::Nat64 => IpVersion::V6,
            Self::FourInSix => IpVersion::V4,
        }
    }

    /// Returns the version of the packets that are on the link.
    pub fn outer(self) -> IpVersion {
        match self {
            Self::SixInFour | Self::Nat64 => IpVersion::V4,
            Self::FourInSix => IpVersion::V6,
        }
    }

    /// Returns the bytes that it adds to each packet, headers without options or extension headers: fewer than none if an
    /// IPv4 header replaces an IPv6 header.
    pub fn added_bytes(self) -> i64 {
        let outer = self.outer().header_bytes().cast_signed();
        match self {
            Self::SixInFour | Self::FourInSix => outer,
            Self::Nat64 => outer - self.inner().header_bytes().cast_signed(),
        }
    }
}
