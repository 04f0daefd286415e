//! A connection's figures.

use crate::Time;
use crate::transport::stream::Stream;
use crate::transport::tcp::Tcp;

/// The figures of a side of a connection, or of one of its subflows; they count what this side sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Statistics {
    /// The congestion control's name.
    pub congestion_control: &'static str,
    /// The effective segment size in bytes of payload (that of the first subflow, if there are several).
    pub mss_bytes: u32,
    /// The congestion window in segments (the sum over several subflows).
    pub cwnd_pkts: u32,
    /// The slow start threshold in segments; `u32::MAX` before the first loss (that of the first of several
    /// subflows).
    pub ssthresh_pkts: u32,
    /// The smoothed round-trip time in nanoseconds; `None` before the first sample (the mean over several subflows
    /// with samples).
    pub srtt_ns: Option<u64>,
    /// The smallest round-trip time in nanoseconds; `None` before the first sample.
    pub min_rtt_ns: Option<u64>,
    /// The bytes acknowledged (tcpi_bytes_acked without SYN and FIN; for a whole MPTCP connection, by DATA_ACKs).
    pub bytes_acked: u64,
    /// The bytes received and delivered to the application in order; 0 for a single subflow.
    pub bytes_received: u64,
    /// The number of segments retransmitted (tcpi_total_retrans).
    pub retransmissions_pkts: u64,
    /// The number of packets delivered whose acknowledgments had the flag ECE (tcpi_delivered_ce).
    pub marks_pkts: u64,
    /// The number of packets sent, including acknowledgments without data.
    pub packets_sent: u64,
    /// The bytes of IP packets sent, including headers.
    pub ip_bytes_sent: u64,
    /// The delivery rate in bits per second (tcpi_delivery_rate); `None` before the first sample.
    pub delivery_rate_bps: Option<u64>,
    /// The number of retransmission timeouts.
    pub timeouts: u64,
}

/// Returns the figures of one side of a subflow.
pub(super) fn of_one(subflow: &Tcp) -> Statistics {
    let window = subflow.window();
    let known = |time: Time| (time != Time::ZERO && time != Time::NEVER).then(|| time.as_ns());
    Statistics {
        congestion_control: subflow.control_name(),
        mss_bytes: subflow.mss_bytes(),
        cwnd_pkts: window.cwnd_pkts,
        ssthresh_pkts: window.ssthresh_pkts,
        srtt_ns: known(subflow.smoothed_rtt()),
        min_rtt_ns: known(subflow.minimum_rtt()),
        bytes_acked: subflow.counts.acked_bytes,
        bytes_received: 0,
        retransmissions_pkts: subflow.counts.resent_pkts,
        marks_pkts: subflow.marked_pkts(),
        packets_sent: subflow.counts.sent_pkts,
        ip_bytes_sent: subflow.counts.sent_bytes,
        delivery_rate_bps: subflow.delivery_rate_bps(),
        timeouts: subflow.counts.timeouts,
    }
}

/// Returns the figures of a side of the connection.
pub(super) fn of_all(subflows: &[Tcp], stream: &Stream) -> Statistics {
    let mut all = of_one(&subflows[0]);
    let each = || subflows.iter().map(of_one);
    let srtts = || each().filter_map(|one| one.srtt_ns);
    let rates = || each().filter_map(|one| one.delivery_rate_bps);
    all.cwnd_pkts = each().map(|one| one.cwnd_pkts).sum();
    all.srtt_ns = srtts().sum::<u64>().checked_div(srtts().count() as u64);
    all.min_rtt_ns = each().filter_map(|one| one.min_rtt_ns).min();
    all.bytes_acked = stream.una();
    all.bytes_received = stream.received();
    all.retransmissions_pkts = each().map(|one| one.retransmissions_pkts).sum();
    all.marks_pkts = each().map(|one| one.marks_pkts).sum();
    all.packets_sent = each().map(|one| one.packets_sent).sum();
    all.ip_bytes_sent = each().map(|one| one.ip_bytes_sent).sum();
    all.delivery_rate_bps = rates().next().is_some().then(|| rates().sum());
    all.timeouts = each().map(|one| one.timeouts).sum();
    all
}
