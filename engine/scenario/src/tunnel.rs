//! Tunnels through links.

use crate::IpVersion;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The tunnel that carries a link's packets in packets of the other version of IP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Tunnel {
    /// IPv6 packets in IPv4 packets (RFC 4213 section 3), as a 6to4 relay sends them, too (RFC 3056 section 3).
    #[serde(rename = "6in4")]
    SixInFour,
    /// IPv4 packets in IPv6 packets (RFC 2473), as in a DS-Lite softwire (RFC 6333 section 5).
    #[serde(rename = "4in6")]
    FourInSix,
}

impl Tunnel {
    /// Returns the tunnel's name in documents.
    pub fn name(self) -> &'static str {
        match self {
            Self::SixInFour => "6in4",
            Self::FourInSix => "4in6",
        }
    }

    /// Returns the version of the packets that it carries.
    pub fn inner(self) -> IpVersion {
        match self {
            Self::SixInFour => IpVersion::V6,
            Self::FourInSix => IpVersion::V4,
        }
    }

    /// Returns the version of the packets that carry them.
    pub fn outer(self) -> IpVersion {
        match self {
            Self::SixInFour => IpVersion::V4,
            Self::FourInSix => IpVersion::V6,
        }
    }

    /// Returns the bytes that it adds to each packet: a header without options or extension headers.
    pub fn header_bytes(self) -> u64 {
        self.outer().header_bytes()
    }
}
