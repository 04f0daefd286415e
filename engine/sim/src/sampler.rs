//! Looks at a flow's transport state at regular intervals, whichever connection it is on.

use crate::{Connection, Statistics, Time};
use nettrial_flows::statistics::Durations;
use nettrial_flows::wire::Weight;
use nettrial_scenario::{Flow, Interval, Transport};

/// A flow's transport state over its life.
#[derive(Default)]
pub struct Sampler {
    /// The number of the open connection.
    connection: Option<u32>,
    /// The flow's subflows, over all connections: of TCP the connections themselves.
    pub columns: Vec<Column>,
    /// The congestion control of the first connection.
    pub congestion_control: &'static str,
    /// Segment size last seen.
    pub mss_bytes: u32,
    /// Smallest round-trip time of any connection, nanoseconds; 0 before the first.
    pub min_rtt_ns: u64,
    /// Smoothed round-trip times of all samples.
    pub srtt: Durations,
    /// The weight of the first host's segments.
    pub weight: Weight,
    /// One entry a sample.
    pub intervals: Vec<Interval>,
    /// Application bytes of the connections that are closed, and retransmissions.
    closed: (u64, u64),
    seen: (u64, u64),
    datagram_bytes: u64,
}

/// The traffic over one subflow of all connections.
#[derive(Debug, Clone, Copy, Default)]
pub struct Column {
    /// Its state when last looked at.
    pub last: Statistics,
    /// Bytes of the connections that are closed.
    pub closed_bytes: u64,
    /// Their retransmissions.
    pub closed_retransmissions: u64,
    seen_bytes: u64,
}

impl Sampler {
    /// The number of the open connection.
    pub fn connection(&self) -> Option<u32> {
        self.connection
    }

    /// From now on the flow is on connection `number`.
    pub fn opened(&mut self, number: u32) {
        self.connection = Some(number);
    }

    /// A datagram with that payload was sent.
    pub fn datagram(&mut self, payload_bytes: u64) {
        self.datagram_bytes += payload_bytes;
    }

    /// The flow is done with its connection: its totals are kept.
    pub fn closing(&mut self, connection: &Connection, flow: &Flow) {
        let all = self.observe(connection, flow);
        self.connection = None;
        self.weight.add_packets(all.packets_sent, all.ip_bytes_sent);
        self.closed.0 += all.bytes_acked;
        self.closed.1 += all.retransmissions_pkts;
        for column in &mut self.columns {
            column.closed_bytes += column.last.bytes_acked;
            column.closed_retransmissions += column.last.retransmissions_pkts;
        }
    }

    /// Retransmissions of the closed connections.
    pub fn retransmissions_pkts(&self) -> u64 {
        self.closed.1
    }

    fn observe(&mut self, connection: &Connection, flow: &Flow) -> Statistics {
        let all = connection.statistics(0);
        if self.congestion_control.is_empty() {
            self.congestion_control = all.congestion_control;
        }
        self.mss_bytes = all.mss_bytes;
        if all.min_rtt_ns > 0 && (self.min_rtt_ns == 0 || all.min_rtt_ns < self.min_rtt_ns) {
            self.min_rtt_ns = all.min_rtt_ns;
        }
        if flow.transport == Transport::Mptcp {
            self.columns.resize(connection.subflow_count().max(self.columns.len()), Column::default());
            for subflow in 0..connection.subflow_count() {
                self.columns[subflow].last = connection.subflow_statistics(0, subflow);
            }
        }
        all
    }

    /// Looks at the flow, of whose open connection this is.
    pub fn sample(&mut self, now: Time, connection: Option<&Connection>, flow: &Flow) {
        let is_open = connection.is_some();
        let all = connection.map_or_else(Statistics::default, |connection| self.observe(connection, flow));
        if is_open {
            self.srtt.record(all.srtt_ns);
        }
        let total =
            (self.closed.0 + self.datagram_bytes + all.bytes_acked, self.closed.1 + all.retransmissions_pkts);
        let seen = std::mem::replace(&mut self.seen, total);
        let subflow_bytes = self.columns.iter_mut().map(|column| {
            let open = if is_open { column.last.bytes_acked } else { 0 };
            let total = column.closed_bytes + open;
            total - std::mem::replace(&mut column.seen_bytes, total)
        });
        let subflow_bytes: Vec<u64> = subflow_bytes.collect();
        let window = |column: &Column| if is_open { column.last.cwnd_pkts } else { 0 };
        self.intervals.push(Interval {
            at_ns: now.as_ns(),
            bytes: total.0 - seen.0,
            srtt_us: microseconds(all.srtt_ns),
            min_rtt_us: microseconds(all.min_rtt_ns),
            cwnd_pkts: all.cwnd_pkts,
            retransmissions_pkts: total.1 - seen.1,
            delivery_rate_bps: is_open.then_some(all.delivery_rate_bps),
            subflow_bytes,
            subflow_cwnd_pkts: self.columns.iter().map(window).collect(),
        });
    }
}

/// Whole microseconds, as the kernel gives them.
pub fn microseconds(nanoseconds: u64) -> u32 {
    u32::try_from(nanoseconds / 1000).unwrap_or(u32::MAX)
}
