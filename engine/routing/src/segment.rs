//! The share of payload in a flow's full segments.

use crate::Paths;
use nettrial_scenario::{Directory, Flow, Transport};
use std::net::IpAddr;

/// Bytes of a TCP header without options (RFC 9293 section 3.1).
const TCP_HEADER_BYTES: u64 = 20;
/// Bytes the timestamps option takes, padding included (RFC 7323 appendix A).
const TIMESTAMPS_BYTES: u64 = 12;

/// Bytes of the IP and TCP headers of a full segment of `flow`, options included; `None` where they are
/// not always as many: with MPTCP, whose options differ from segment to segment (RFC 8684 section 3.3).
pub fn segment_headers(directory: &Directory<'_>, flow: &Flow) -> Option<u64> {
    (flow.transport == Transport::Tcp)
        .then(|| flow.ip.header_bytes() + TCP_HEADER_BYTES + options(directory, flow))
}

/// Bytes of the options that every segment of `flow` has.
fn options(directory: &Directory<'_>, flow: &Flow) -> u64 {
    let timestamps =
        [&flow.from, &flow.to].iter().all(|host| directory.stack(host).is_some_and(|stack| stack.timestamps));
    if timestamps { TIMESTAMPS_BYTES } else { 0 }
}

impl Paths<'_> {
    /// The payload of a full segment of `flow` between the addresses `near` and `far` that the MTU the sender knows
    /// of, the one the receiver announces, the two stacks (RFC 9293 section 3.7.1) and the flow's own limit imply, the
    /// options taken off either (RFC 6691); `None` for MPTCP, whose options take up more or less of it.
    pub fn expected_mss(
        &self,
        directory: &Directory<'_>,
        flow: &Flow,
        near: IpAddr,
        far: IpAddr,
    ) -> Option<u64> {
        let announced = self.path(&flow.to, near)?.first()?.mtu.0;
        let mtu = self.known_mtu(&flow.from, far)?.min(announced);
        let implied = mtu.checked_sub(segment_headers(directory, flow)?)?;
        let limit = flow.socket.mss.map(|limit| limit.0.saturating_sub(options(directory, flow)));
        Some(limit.map_or(implied, |limit| limit.min(implied)))
    }
}
