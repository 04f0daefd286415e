//! IP versions, and addresses with their prefix length.

use ipnet::IpNet;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;
use std::net::{AddrParseError, IpAddr, SocketAddr, SocketAddrV6};
use std::str::FromStr;

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

/// An IP address of a host. A link-local one has a zone: the number of the interface whose link is meant (RFC 4007
/// section 6), which only that host knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct HostAddress {
    /// The address.
    pub ip: IpAddr,
    /// The number of the interface; 0 if the address has no zone.
    pub zone: u32,
}

impl HostAddress {
    /// Returns `port` at this address.
    pub fn socket(self, port: u16) -> SocketAddr {
        match self.ip {
            IpAddr::V4(address) => (address, port).into(),
            IpAddr::V6(address) => SocketAddrV6::new(address, port, 0, self.zone).into(),
        }
    }

    /// Returns `destination` as this host reaches it: a link-local address is on the link of this one.
    pub fn towards(self, destination: SocketAddr) -> SocketAddr {
        match destination {
            SocketAddr::V6(mut other) if other.ip().is_unicast_link_local() => {
                other.set_scope_id(self.zone);
                other.into()
            }
            other => other,
        }
    }
}

impl From<IpAddr> for HostAddress {
    fn from(ip: IpAddr) -> Self {
        Self { ip, zone: 0 }
    }
}

impl From<SocketAddr> for HostAddress {
    /// An IPv4 address in the form of an IPv6 one is an IPv4 address.
    fn from(socket: SocketAddr) -> Self {
        let zone = if let SocketAddr::V6(address) = socket { address.scope_id() } else { 0 };
        Self { ip: socket.ip().to_canonical(), zone }
    }
}

impl fmt::Display for HostAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.zone {
            0 => self.ip.fmt(formatter),
            zone => write!(formatter, "{}%{zone}", self.ip),
        }
    }
}

impl From<HostAddress> for String {
    fn from(address: HostAddress) -> Self {
        address.to_string()
    }
}

impl TryFrom<String> for HostAddress {
    type Error = AddrParseError;
    fn try_from(text: String) -> Result<Self, AddrParseError> {
        text.parse()
    }
}

impl FromStr for HostAddress {
    type Err = AddrParseError;
    fn from_str(text: &str) -> Result<Self, AddrParseError> {
        match text.split_once('%') {
            None => Ok(Self::from(text.parse::<IpAddr>()?)),
            // The form of a socket's address, which has a number as its zone.
            Some(_) => Ok(Self::from(SocketAddr::V6(format!("[{text}]:0").parse()?))),
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
        json_schema!({ "type": "integer", "enum": [4, 6], "description": "The version of the Internet Protocol: 4 or 6." })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_local_address_keeps_its_zone() {
        for text in ["192.0.2.1", "2001:db8::1", "fe80::1%7"] {
            let address: HostAddress = text.parse().unwrap();
            assert_eq!(address.to_string(), text);
            assert_eq!(HostAddress::from(address.socket(80)), address);
            let json = serde_json::to_string(&address).unwrap();
            assert_eq!(serde_json::from_str::<HostAddress>(&json).unwrap(), address);
        }
        assert!("fe80::1%eth0".parse::<HostAddress>().is_err());
        let here: HostAddress = "fe80::1%7".parse().unwrap();
        for (given, reached) in [
            ("[fe80::2]:9", "[fe80::2%7]:9"),
            ("[fe80::2%3]:9", "[fe80::2%7]:9"),
            ("[fd00::2]:9", "[fd00::2]:9"),
            ("192.0.2.1:9", "192.0.2.1:9"),
        ] {
            assert_eq!(here.towards(given.parse().unwrap()), reached.parse().unwrap());
        }
        let mapped: SocketAddr = "[::ffff:192.0.2.1]:9".parse().unwrap();
        assert_eq!(HostAddress::from(mapped), "192.0.2.1".parse().unwrap());
    }
}
