//! The bounds of messages and of their number, for all kinds of traffic that send messages.

use crate::workload::MOST_MESSAGES;
use crate::{Flow, IpVersion, Place, Problem, Transport};

/// The largest message over TCP.
const LARGEST_MESSAGE_BYTES: u64 = 1 << 20;

/// Returns the largest payload of one UDP datagram over `ip`, bytes (RFC 768, RFC 791, RFC 8200).
fn largest_datagram(ip: IpVersion) -> u64 {
    match ip {
        IpVersion::V4 => 65_507,
        IpVersion::V6 => 65_527,
    }
}

/// Returns the largest payload of one message of `flow`.
pub fn largest_message(flow: &Flow) -> u64 {
    if flow.transport == Transport::Udp { largest_datagram(flow.ip) } else { LARGEST_MESSAGE_BYTES }
}

/// Adds problems with the end of a flow, which is a duration, a count, or both.
pub fn check_end(has_duration: bool, count: Option<u64>, place: &Place, problems: &mut Vec<Problem>) {
    if !has_duration && count.is_none() {
        problems.push(place.problem_here(
            "traffic",
            "neither",
            "a duration, a count, or both",
            "the flow must end",
        ));
    }
    if let Some(count) = count.filter(|count| !(1..=MOST_MESSAGES).contains(count)) {
        let hint = "a flow may go on for a duration instead";
        problems.push(place.problem("count", count, format!("1 to {MOST_MESSAGES}"), hint));
    }
}
