//! A connection's figures.

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
    /// Bytes that arrived and were given to the application in order.
    pub bytes_received: u64,
    /// Segments sent again (tcpi_total_retrans).
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
