//! IP versions, and addresses with their prefix length.

use ipnet::IpNet;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::net::IpAddr;

/// A version of the Internet Protocol: 4 or 6.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "u8", try_from = "u8")]
pub enum IpVersion {
    /// IPv4 (RFC 791).
    V4,
    /// IPv6 (RFC 8200).
    V6,
}

impl IpVersion {
    /// Returns the version of an address.
    pub fn of(address: IpAddr) -> Self {
        if address.is_ipv4() { Self::V4 } else { Self::V6 }
    }

    /// Returns the bytes of an IP header without options: 20 (RFC 791 section 3.1) or 40 (RFC 8200 section 3).
    pub fn header_bytes(self) -> u64 {
        match self {
            Self::V4 => 20,
            Self::V6 => 40,
        }
    }

    /// Returns the smallest MTU that a link may have: 68 (RFC 791 section 3.2) or 1280 (RFC 8200 section 5).
    pub fn minimum_mtu(self) -> u64 {
        match self {
            Self::V4 => 68,
            Self::V6 => 1280,
        }
    }
}

impl From<IpVersion> for u8 {
    fn from(version: IpVersion) -> u8 {
        match version {
            IpVersion::V4 => 4,
            IpVersion::V6 => 6,
        }
    }
}

impl TryFrom<u8> for IpVersion {
    type Error = String;
    fn try_from(number: u8) -> Result<Self, String> {
        match number {
            4 => Ok(Self::V4),
            6 => Ok(Self::V6),
            other => Err(format!("IP version {other} is unknown; expected: 4, 6")),
        }
    }
}

impl JsonSchema for IpVersion {
    fn schema_name() -> Cow<'static, str> {
        "IpVersion".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "enum": [4, 6], "description": "Which Internet Protocol: 4 or 6." })
    }
}

/// An interface's address and the length of its prefix, such as "10.0.0.1/24" or "fd00::1/64".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct InterfaceAddress(
    /// The address with its prefix.
    pub IpNet,
);

impl InterfaceAddress {
    /// Returns the address without its prefix.
    pub fn address(&self) -> IpAddr {
        self.0.addr()
    }

    /// Returns the network of the address, with its host bits cleared.
    pub fn network(&self) -> IpNet {
        self.0.trunc()
    }
}

impl JsonSchema for InterfaceAddress {
    fn schema_name() -> Cow<'static, str> {
        "InterfaceAddress".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "An address and its prefix length, such as \"10.0.0.1/24\" or \"fd00::1/64\".",
            "pattern": "^[0-9a-fA-F:.]+/[0-9]+$",
        })
    }
}
