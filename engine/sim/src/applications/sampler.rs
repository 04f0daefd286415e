//! Samples of a flow's transport state at regular intervals, across its connections.

use crate::{Connection, Statistics, Time};
use nettrial_flows::statistics::Durations;
use nettrial_flows::wire::Weight;
use nettrial_scenario::{Flow, Interval, Transport};

/// A flow's transport state over its lifetime.
#[derive(Default)]
pub struct Sampler {
    /// The number of the open connection, if there is one.
    connection: Option<u32>,
    /// The flow's subflows over all connections; for TCP, the connections themselves.
    pub columns: Vec<Column>,
    /// The congestion control of the first connection.
    pub congestion_control: &'static str,
    /// The last segment size.
    pub mss_bytes: u32,
    /// The segment size of the first sample, which a search for the path MTU may change later.
    pub first_mss_bytes: u32,
    /// The smallest round-trip time of all connections in nanoseconds.
    pub min_rtt_ns: Option<u64>,
    /// The smoothed round-trip times of all samples.
    pub srtt: Durations,
    /// The number and bytes of the first host's segments.
    pub weight: Weight,
    /// The samples.
    pub intervals: Vec<Interval>,
    /// The application bytes and retransmissions of closed connections.
    closed: (u64, u64),
    /// The packets of closed connections whose acknowledgments had the flag ECE.
    pub closed_marks: u64,
    seen: (u64, u64),
    datagram_bytes: u64,
}

/// The traffic of one subflow over all connections.
#[derive(Debug, Clone, Copy, Default)]
pub struct Column {
    /// The last sampled state.
    pub last: Statistics,
    /// The bytes of closed connections.
    pub closed_bytes: u64,
    /// The retransmissions of closed connections.
    pub closed_retransmissions: u64,
    /// The packets of closed connections whose acknowledgments had the flag ECE.
    pub closed_marks: u64,
    seen_bytes: u64,
}

impl Sampler {
    /// The number of the open connection, if there is one.
    pub fn connection(&self) -> Option<u32> {
        self.connection
    }

    /// Notes that the flow now uses connection `number`.
    pub fn opened(&mut self, number: u32) {
        self.connection = Some(number);
    }

    /// Counts a datagram with that payload.
    pub fn datagram(&mut self, payload_bytes: u64) {
        self.datagram_bytes += payload_bytes;
    }

    /// Adds the totals of a connection that the flow no longer uses.
    pub fn closing(&mut self, connection: &Connection, flow: &Flow) {
        let all = self.observe(connection, flow);
        self.connection = None;
        self.weight.add_packets(all.packets_sent, all.ip_bytes_sent);
        self.closed.0 += all.bytes_acked;
        self.closed.1 += all.retransmissions_pkts;
        self.closed_marks += all.marks_pkts;
        for column in &mut self.columns {
            column.closed_bytes += column.last.bytes_acked;
            column.closed_retransmissions += column.last.retransmissions_pkts;
            column.closed_marks += column.last.marks_pkts;
        }
    }

    /// Returns the number of retransmissions of closed connections.
    pub fn retransmissions_pkts(&self) -> u64 {
        self.closed.1
    }

    fn observe(&mut self, connection: &Connection, flow: &Flow) -> Statistics {
        let all = connection.statistics(0);
        if self.congestion_control.is_empty() {
            self.congestion_control = all.congestion_control;
            self.first_mss_bytes = all.mss_bytes;
        }
        self.mss_bytes = all.mss_bytes;
        self.min_rtt_ns = self.min_rtt_ns.into_iter().chain(all.min_rtt_ns).min();
        if flow.transport == Transport::Mptcp {
            self.columns.resize(connection.subflow_count().max(self.columns.len()), Column::default());
            for subflow in 0..connection.subflow_count() {
                self.columns[subflow].last = connection.subflow_statistics(0, subflow);
            }
        }
        all
    }

    /// Takes a sample of the flow, whose open connection is given.
    pub fn sample(&mut self, now: Time, connection: Option<&Connection>, flow: &Flow) {
        let is_open = connection.is_some();
        let all = connection.map_or_else(Statistics::default, |connection| self.observe(connection, flow));
        if let Some(srtt_ns) = all.srtt_ns {
            self.srtt.record(srtt_ns);
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
            srtt_us: all.srtt_ns.map(microseconds),
            min_rtt_us: all.min_rtt_ns.map(microseconds),
            cwnd_pkts: all.cwnd_pkts,
            retransmissions_pkts: total.1 - seen.1,
            delivery_rate_bps: all.delivery_rate_bps,
            subflow_bytes,
            subflow_cwnd_pkts: self.columns.iter().map(window).collect(),
        });
    }
}

/// Returns whole microseconds, like the kernel.
pub fn microseconds(nanoseconds: u64) -> u32 {
    u32::try_from(nanoseconds / 1000).unwrap_or(u32::MAX)
}
