//! The results that each side of a test tells the other at its end.

use serde::{Deserialize, Deserializer, Serialize};

/// One side's results.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// CPU time in percent of the test's.
    pub cpu_util_total: f64,
    /// The part of `cpu_util_total` in the program.
    pub cpu_util_user: f64,
    /// The part of `cpu_util_total` in the kernel.
    pub cpu_util_system: f64,
    /// 1 if the sender counts its retransmissions, 0 if not, −1 from a receiver.
    #[serde(deserialize_with = "signed")]
    pub sender_has_retransmits: i64,
    /// The congestion control in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub congestion_used: Option<String>,
    /// The results of each stream.
    pub streams: Vec<StreamResults>,
}

/// One side's results of a stream.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StreamResults {
    /// The stream's number, as [`stream_id`] gives it.
    pub id: u32,
    /// The bytes sent or received, without the omitted ones.
    pub bytes: u64,
    /// The segments retransmitted; −1 if the number is not known.
    #[serde(deserialize_with = "signed")]
    pub retransmits: i64,
    /// RFC 1889's jitter, seconds.
    pub jitter: f64,
    /// Datagrams lost, the omitted ones included.
    #[serde(deserialize_with = "signed")]
    pub errors: i64,
    /// The highest number of a datagram, the omitted ones included.
    #[serde(deserialize_with = "signed")]
    pub packets: i64,
    /// The omitted part of `errors`. Either both this and `omitted_packets` are there, or neither is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub omitted_errors: Option<i64>,
    /// The omitted part of `packets`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub omitted_packets: Option<i64>,
    /// The start in seconds; the bytes took the time from `start_time` to `end_time`.
    #[serde(default)]
    pub start_time: f64,
    /// Seconds.
    #[serde(default)]
    pub end_time: f64,
}

/// The number of the stream at `position`: 1, 3, 4, 5, …
pub fn stream_id(position: usize) -> u32 {
    let position = u32::try_from(position).expect("there are few streams");
    if position == 0 { 1 } else { position + 2 }
}

/// Reads a number. iperf3 3.12 writes −1 as 18446744073709551615.
fn signed<'de, D: Deserializer<'de>>(source: D) -> Result<i64, D::Error> {
    let value = f64::deserialize(source)?;
    Ok(if value > i64::MAX as f64 { -1 } else { value as i64 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_numbered_as_iperf3_does() {
        assert_eq!([0, 1, 2, 3].map(stream_id), [1, 3, 4, 5]);
    }

    #[test]
    fn an_unsigned_minus_one_is_one() {
        let text = r#"{"cpu_util_total":1,"cpu_util_user":0.5,"cpu_util_system":0.5,
            "sender_has_retransmits":18446744073709551615,"streams":[{"id":1,"bytes":9,
            "retransmits":18446744073709551615,"jitter":0,"errors":0,"packets":0}]}"#;
        let results: Results = serde_json::from_str(text).unwrap();
        assert_eq!((results.sender_has_retransmits, results.streams[0].retransmits), (-1, -1));
    }
}
