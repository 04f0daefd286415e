//! A connection's figures.

use super::Stream;
use crate::Time;
use crate::tcp::Tcp;

/// Figures of a side of a connection, or of one subflow of it; they count what this side sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Statistics {
    /// The congestion control's name.
    pub congestion_control: &'static str,
    /// The segment size in force, bytes of payload (of several subflows: the first's).
    pub mss_bytes: u32,
    /// Congestion window in segments (of several subflows: the sum).
    pub cwnd_pkts: u32,
    /// Slow start threshold in segments; `u32::MAX` before the first loss (of several subflows: the first's).
    pub ssthresh_pkts: u32,
    /// Smoothed round-trip time, nanoseconds; 0 before the first sample (of several subflows: the mean of
    /// those with samples).
    pub srtt_ns: u64,
    /// Smallest round-trip time, nanoseconds; 0 before the first sample.
    pub min_rtt_ns: u64,
    /// Bytes acknowledged (tcpi_bytes_acked without SYN and FIN; of a whole MPTCP connection: DATA_ACKs).
    pub bytes_acked: u64,
    /// Bytes that arrived and were given to the application in order; 0 of a single subflow.
    pub bytes_received: u64,
    /// Segments retransmitted (tcpi_total_retrans).
    pub retransmissions_pkts: u64,
    /// Packets sent, acknowledgments without data included.
    pub packets_sent: u64,
    /// Bytes of IP packets sent, headers included.
    pub ip_bytes_sent: u64,
    /// The rate at which data arrives, bits per second (tcpi_delivery_rate); 0 before the first sample.
    pub delivery_rate_bps: u64,
    /// Timeouts of the retransmission timer.
    pub timeouts: u64,
}

/// The figures of one subflow's side.
pub(super) fn of_one(subflow: &Tcp) -> Statistics {
    let window = subflow.window();
    let minimum = subflow.minimum_rtt();
    Statistics {
        congestion_control: subflow.control_name(),
        mss_bytes: subflow.mss_bytes(),
        cwnd_pkts: window.cwnd_pkts,
        ssthresh_pkts: window.ssthresh_pkts,
        srtt_ns: subflow.smoothed_rtt().as_ns(),
        min_rtt_ns: if minimum == Time::NEVER { 0 } else { minimum.as_ns() },
        bytes_acked: subflow.counts.acked_bytes,
        bytes_received: 0,
        retransmissions_pkts: subflow.counts.resent_pkts,
        packets_sent: subflow.counts.sent_pkts,
        ip_bytes_sent: subflow.counts.sent_bytes,
        delivery_rate_bps: subflow.delivery_rate_bps(),
        timeouts: subflow.counts.timeouts,
    }
}

/// The figures of a side.
pub(super) fn of_all(subflows: &[Tcp], stream: &Stream) -> Statistics {
    let mut all = of_one(&subflows[0]);
    let each = || subflows.iter().map(of_one);
    let sampled = || each().filter(|one| one.srtt_ns > 0);
    let samples = sampled().count() as u64;
    all.cwnd_pkts = each().map(|one| one.cwnd_pkts).sum();
    all.srtt_ns = sampled().map(|one| one.srtt_ns).sum::<u64>() / samples.max(1);
    all.min_rtt_ns = sampled().map(|one| one.min_rtt_ns).min().unwrap_or(0);
    all.bytes_acked = stream.una();
    all.bytes_received = stream.received();
    all.retransmissions_pkts = each().map(|one| one.retransmissions_pkts).sum();
    all.packets_sent = each().map(|one| one.packets_sent).sum();
    all.ip_bytes_sent = each().map(|one| one.ip_bytes_sent).sum();
    all.delivery_rate_bps = each().map(|one| one.delivery_rate_bps).sum();
    all.timeouts = each().map(|one| one.timeouts).sum();
    all
}
