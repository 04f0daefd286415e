//! Computes the size of the payload and of the headers of a flow's full segments.

use crate::Paths;
use nettrial_scenario::{Directory, Flow, Transport};
use std::net::IpAddr;

/// The bytes of a TCP header without options (RFC 9293 section 3.1).
const TCP_HEADER_BYTES: u64 = 20;
/// The bytes of the timestamps option, padding included (RFC 7323 appendix A).
const TIMESTAMPS_BYTES: u64 = 12;

/// A full segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// Its payload, bytes.
    pub payload: u64,
    /// Its IP and TCP headers with their options, bytes.
    pub headers: u64,
}

impl Segment {
    /// Returns the full segment of `flow` over a path that takes IP packets of up to `mtu` bytes, with the options that a
    /// simulated host sends; `None` if no payload has room.
    pub fn of(directory: &Directory<'_>, flow: &Flow, mtu: u64) -> Option<Self> {
        let scheduler = directory.stack(&flow.from).map_or_else(Default::default, |stack| stack.scheduler);
        let is_mptcp = flow.transport == Transport::Mptcp;
        let signal = if is_mptcp { u64::from(scheduler.data_signal_bytes()) } else { 0 };
        let options = options(directory, flow) + signal;
        let headers = flow.ip.header_bytes() + TCP_HEADER_BYTES + options;
        let implied = mtu.checked_sub(headers)?;
        let limit = flow.socket.mss.map_or(u64::MAX, |limit| limit.0.saturating_sub(options));
        Some(Self { payload: implied.min(limit), headers }).filter(|segment| segment.payload > 0)
    }
}

/// Returns the bytes of the IP and TCP headers of a full segment of `flow`, options included. `None` for MPTCP,
/// whose options differ from segment to segment (RFC 8684 section 3.3).
pub fn segment_headers(directory: &Directory<'_>, flow: &Flow) -> Option<u64> {
    (flow.transport == Transport::Tcp)
        .then(|| flow.ip.header_bytes() + TCP_HEADER_BYTES + options(directory, flow))
}

/// Returns the bytes of the options that every segment of `flow` has.
fn options(directory: &Directory<'_>, flow: &Flow) -> u64 {
    let timestamps =
        [&flow.from, &flow.to].iter().all(|host| directory.stack(host).is_some_and(|stack| stack.timestamps));
    if timestamps { TIMESTAMPS_BYTES } else { 0 }
}

impl Paths<'_> {
    /// Returns the payload of a full segment of `flow` between the addresses `near` and `far`. It follows from the
    /// path MTU that the sender knows, the MSS that the receiver announces, the two stacks (RFC 9293 section
    /// 3.7.1) and the flow's own limit, less the options (RFC 6691). `None` for MPTCP, whose options differ in
    /// size.
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
