//! The parameters that a client asks for.

use serde::{Deserialize, Deserializer, Serialize};

/// The most streams in one direction (iperf3's MAX_STREAMS).
pub const MOST_STREAMS: u32 = 128;
/// The most bytes of a write over TCP (iperf3's MAX_BLOCKSIZE).
pub const MOST_BLOCK_BYTES: u32 = 1 << 20;
/// The most bytes of a datagram (iperf3's MAX_UDP_BLOCKSIZE).
pub const MOST_DATAGRAM_BYTES: u32 = 65_507;
/// Bytes of a write over TCP where the client names none (iperf3's DEFAULT_TCP_BLKSIZE).
const DEFAULT_BLOCK_BYTES: u32 = 128 << 10;
/// Bytes of a datagram where the client names none (iperf3's DEFAULT_UDP_BLKSIZE).
const DEFAULT_DATAGRAM_BYTES: u32 = 1460;
/// The longest test, seconds (iperf3's MAX_TIME).
const MOST_SECONDS: u32 = 86_400;
/// The longest time at a test's beginning that is left out, seconds (iperf3's MAX_OMIT_TIME).
const MOST_OMIT_SECONDS: u32 = 600;

/// A test's parameters. Parameters that concern only how the client prints or measures are ignored; all that
/// change what this side sends are here.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Parameters {
    /// The streams are TCP connections.
    #[serde(deserialize_with = "truth", skip_serializing_if = "std::ops::Not::not")]
    pub tcp: bool,
    /// The streams are UDP.
    #[serde(deserialize_with = "truth", skip_serializing_if = "std::ops::Not::not")]
    pub udp: bool,
    /// The streams are SCTP associations.
    #[serde(deserialize_with = "truth", skip_serializing_if = "std::ops::Not::not")]
    pub sctp: bool,
    /// The seconds at the beginning that do not count.
    pub omit: u32,
    /// The seconds after the omitted ones; 0 if something else ends the test.
    pub time: u32,
    /// The bytes to send, or 0.
    pub num: u64,
    /// The writes to make, or 0.
    pub blockcount: u64,
    /// Streams in each direction.
    pub parallel: u32,
    /// Bytes of a write, or 0 for the default.
    pub len: u32,
    /// The bit rate of each stream, or 0 for no limit.
    #[serde(skip_serializing_if = "is_zero")]
    pub bandwidth: u64,
    /// The bit rate for the kernel's pacing (SO_MAX_PACING_RATE).
    #[serde(skip_serializing_if = "is_zero")]
    pub fqrate: u64,
    /// The interval of iperf3's own pacing in microseconds, which iperf3 always sends.
    pub pacing_timer: u64,
    /// Set if small segments are sent at once (TCP_NODELAY).
    #[serde(deserialize_with = "truth", skip_serializing_if = "std::ops::Not::not")]
    pub nodelay: bool,
    /// Set if the server sends.
    #[serde(deserialize_with = "truth", skip_serializing_if = "std::ops::Not::not")]
    pub reverse: bool,
    /// Set if both sides send.
    #[serde(deserialize_with = "truth", skip_serializing_if = "std::ops::Not::not")]
    pub bidirectional: bool,
    /// Bytes of the sockets' buffers, or 0.
    #[serde(skip_serializing_if = "is_zero")]
    pub window: u64,
    /// The type of service, or traffic class.
    #[serde(rename = "TOS", skip_serializing_if = "is_zero")]
    pub tos: u64,
    /// The segment size that the client set at its end.
    #[serde(rename = "MSS", skip_serializing_if = "is_zero")]
    pub mss: u64,
    /// The congestion control.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub congestion: Option<String>,
    /// Datagrams are counted in 64 bits.
    #[serde(deserialize_with = "truth", serialize_with = "one", skip_serializing_if = "std::ops::Not::not")]
    pub udp_counters_64bit: bool,
    /// The client's version.
    pub client_version: String,
}

impl Parameters {
    /// Returns iperf3's number of the error (iperf_api.h) and the reason if no test can be made with these
    /// parameters.
    pub fn refusal(&self) -> Option<(i32, String)> {
        let too_large = |name: &str, value: u32, most: u32| format!("{name} is {value}, and at most {most}");
        if self.sctp || self.tcp == self.udp {
            return Some((13, "only tests over one of TCP and UDP are served".into()));
        }
        if !(1..=MOST_STREAMS).contains(&self.parallel) {
            return Some((6, format!("{} streams, where 1 to {MOST_STREAMS} are allowed", self.parallel)));
        }
        if self.time > MOST_SECONDS {
            return Some((5, too_large("time", self.time, MOST_SECONDS)));
        }
        if self.omit > MOST_OMIT_SECONDS {
            return Some((11, too_large("omit", self.omit, MOST_OMIT_SECONDS)));
        }
        if self.reverse && self.bidirectional {
            return Some((24, "reverse and bidirectional at the same time".into()));
        }
        let smallest = if self.udp { crate::datagram::HEADER_BYTES } else { 1 };
        let largest = if self.udp { MOST_DATAGRAM_BYTES } else { MOST_BLOCK_BYTES };
        if !(smallest..=largest as usize).contains(&self.block_bytes()) {
            let number = if self.udp { 20 } else { 7 };
            return Some((number, format!("len is {}, and {smallest} to {largest}", self.len)));
        }
        None
    }

    /// Bytes of a write or a datagram.
    pub fn block_bytes(&self) -> usize {
        let default = if self.udp { DEFAULT_DATAGRAM_BYTES } else { DEFAULT_BLOCK_BYTES };
        (if self.len == 0 { default } else { self.len }) as usize
    }

    /// Returns the number of streams in both directions together.
    pub fn streams(&self) -> usize {
        self.parallel as usize * if self.bidirectional { 2 } else { 1 }
    }
}

/// Reads a flag, which iperf3 writes as `true` or as a number, and leaves out if it is not set.
fn truth<'de, D: Deserializer<'de>>(source: D) -> Result<bool, D::Error> {
    Ok(match serde_json::Value::deserialize(source)? {
        serde_json::Value::Bool(flag) => flag,
        serde_json::Value::Number(number) => number.as_f64() != Some(0.0),
        _ => true,
    })
}

// serde asks for references.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn one<S: serde::Serializer>(flag: &bool, target: S) -> Result<S::Ok, S::Error> {
    target.serialize_u8(u8::from(*flag))
}

#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero(value: &u64) -> bool {
    *value == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The parameters that `iperf3 -c -u -b 5M --udp-counters-64bit -R` of version 3.12 sends.
    const SENT: &str = r#"{"udp":true,"omit":0,"time":1,"num":0,"blockcount":0,"parallel":2,"reverse":true,
        "len":1448,"bandwidth":5000000,"pacing_timer":1000,"udp_counters_64bit":1,"client_version":"3.12"}"#;

    #[test]
    fn a_clients_parameters_are_understood() {
        let parameters: Parameters = serde_json::from_str(SENT).unwrap();
        assert!(parameters.udp && !parameters.tcp && parameters.reverse && parameters.udp_counters_64bit);
        assert_eq!(
            (parameters.parallel, parameters.block_bytes(), parameters.bandwidth),
            (2, 1448, 5_000_000)
        );
        assert_eq!(parameters.refusal(), None);
        let again: Parameters = serde_json::from_str(&serde_json::to_string(&parameters).unwrap()).unwrap();
        assert_eq!(again, parameters);
    }

    #[test]
    fn unknown_parameters_are_read_over() {
        let text = r#"{"tcp":true,"parallel":1,"title":"x","repeating_payload":1,"gso":0,"skip_rx_copy":1}"#;
        assert_eq!(serde_json::from_str::<Parameters>(text).unwrap().refusal(), None);
    }

    #[test]
    fn what_cannot_be_served_has_iperf3s_number() {
        let number = |text: &str| {
            let refusal = serde_json::from_str::<Parameters>(text).unwrap().refusal();
            refusal.map(|(number, _)| number)
        };
        assert_eq!(number("{}"), Some(13));
        assert_eq!(number(r#"{"sctp":true,"parallel":1}"#), Some(13));
        assert_eq!(number(r#"{"tcp":true}"#), Some(6));
        assert_eq!(number(r#"{"tcp":true,"parallel":129}"#), Some(6));
        assert_eq!(number(r#"{"tcp":true,"parallel":1,"len":2000000}"#), Some(7));
        assert_eq!(number(r#"{"udp":true,"parallel":1,"len":15}"#), Some(20));
        assert_eq!(number(r#"{"tcp":true,"parallel":1,"time":90000}"#), Some(5));
        assert_eq!(number(r#"{"tcp":true,"parallel":1,"omit":601}"#), Some(11));
        assert_eq!(number(r#"{"tcp":true,"parallel":1,"reverse":true,"bidirectional":true}"#), Some(24));
    }
}
