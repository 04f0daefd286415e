//! A system's view of a TCP connection, or of one subflow of an MPTCP connection.

use nettrial_flows::wire::Weight;
use nettrial_scenario::IpVersion;

/// Bytes of a TCP header without options (RFC 9293 section 3.1).
const TCP_HEADER_BYTES: u64 = 20;
/// Bytes of the timestamps option with its padding (RFC 7323 appendix A).
const TIMESTAMPS_BYTES: u64 = 12;

/// Returns the bytes of MPTCP's options in a segment with payload, and in one without. Payload is mapped with
/// 64-bit numbers; the acknowledgment beside the mapping has 64 bits if the other host sends payload, too, and
/// otherwise 32 (RFC 8684 section 3.3, net/mptcp/options.c).
pub fn mptcp_option_bytes(both_send: bool) -> (u64, u64) {
    if both_send { (28, 12) } else { (24, 8) }
}

/// The options of a connection that are checked, one bit each.
const OPTIONS: [(u8, &str); 3] = [(1, "timestamps"), (2, "sack"), (4, "window_scaling")];

/// Counters and settings of a connection, over its life.
#[derive(Debug, Clone, Copy, Default)]
pub struct TcpState {
    /// The options that both sides agreed to, one bit each: timestamps 1, SACK 2, window scaling 4.
    pub options: u8,
    /// The options whose state the system does not report.
    pub untold_options: u8,
    /// True if the other host has closed the connection, and this one has not (CLOSE-WAIT, RFC 9293 section
    /// 3.3.2).
    pub is_close_wait: bool,
    /// Maximum segment size for sending, bytes.
    pub mss_bytes: u32,
    /// The window scale of this host's announcements, if the system reports it.
    pub window_scale: Option<u8>,
    /// The receive window that the other host announced last, bytes, if the system reports it.
    pub peer_window_bytes: Option<u32>,
    /// Smoothed round-trip time, microseconds; `None` before the first sample.
    pub srtt_us: Option<u32>,
    /// Smallest round-trip time seen, microseconds; `None` if none was.
    pub min_rtt_us: Option<u32>,
    /// Congestion window, segments.
    pub cwnd_pkts: u32,
    /// The segments retransmitted. If the system counts only their bytes, they are counted as segments of the full
    /// size.
    pub retransmissions_pkts: u64,
    /// The packets delivered whose acknowledgments had the flag ECE, if the system counts them.
    pub marks_pkts: Option<u64>,
    /// The bytes acknowledged, including those of the connection's opening and closing, if the system reports
    /// them.
    pub bytes_acked: Option<u64>,
    /// The segments sent of all kinds, with each segment of a GSO packet counted; 0 if the system does not report
    /// them.
    pub segments_out: u64,
    /// The segments sent that carry payload; 0 if the system does not report them.
    pub data_segments_out: u64,
    /// The bytes of payload sent, including those retransmitted.
    pub bytes_sent: u64,
    /// The estimate of the rate at which data arrives, bytes per second; `None` before the first, and if the system
    /// makes none.
    pub delivery_rate: Option<u64>,
}

/// Returns a figure that systems report as 0 as long as they have none.
pub fn known<T: Default + PartialEq>(figure: T) -> Option<T> {
    Some(figure).filter(|figure| *figure != T::default())
}

impl TcpState {
    /// Returns the names of the options in force, in a fixed order.
    pub fn option_names(&self) -> Vec<&'static str> {
        names(self.options)
    }

    /// The names of the options of which the system does not tell whether they are in force.
    pub fn untold_option_names(&self) -> Vec<&'static str> {
        names(self.untold_options)
    }

    /// The bytes this host has sent, from the kernel's counts of bytes and segments (retransmissions are in
    /// both) and the headers that the options in force make. `more_options` gives the bytes of further
    /// options: of a segment with payload, and of one without. Assumed: the options of the first segment
    /// are Linux's; no selective acknowledgments are sent, as one seldom has to whose data goes the other
    /// direction; each segment is one frame, so a GSO packet counts as the frames it becomes.
    /// The last segment of a connection that the other host has closed, and this one not yet, is counted.
    /// Nothing where the system does not count segments.
    pub fn weight(&self, ip: IpVersion, more_options: (u64, u64)) -> Weight {
        if self.segments_out == 0 {
            return Weight::default();
        }
        let timestamps = if self.options & 1 != 0 { TIMESTAMPS_BYTES } else { 0 };
        let header = ip.header_bytes() + TCP_HEADER_BYTES + timestamps;
        let with = self.data_segments_out;
        let without = self.segments_out.saturating_sub(with) + u64::from(self.is_close_wait);
        let mut weight = Weight::default();
        weight.add_packets(with, self.bytes_sent + with * (header + more_options.0));
        if let Some(later) = without.checked_sub(1) {
            weight.add_packets(later, later * (header + more_options.1));
            // The first segment: MSS 4, window scaling with padding 4; SACK permitted rides in the
            // timestamps' padding, or takes 4 with its own.
            let sack = if self.options & 2 != 0 && timestamps == 0 { 4 } else { 0 };
            let scaling = if self.options & 4 != 0 { 4 } else { 0 };
            weight.add_packets(1, header + 4 + sack + scaling + more_options.1);
        }
        weight
    }
}

fn names(bits: u8) -> Vec<&'static str> {
    OPTIONS.into_iter().filter(|(bit, _)| bits & bit != 0).map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_weighs_its_payload_and_headers() {
        let state = TcpState {
            options: 7,
            segments_out: 5,
            data_segments_out: 3,
            bytes_sent: 3000,
            ..Default::default()
        };
        // Five segments of 52 bytes of headers, one with 8 bytes of options more.
        assert_eq!(state.weight(IpVersion::V4, (0, 0)).ip_bytes, 3000 + 5 * 52 + 8);
        assert_eq!(state.weight(IpVersion::V4, (0, 0)).wire_bytes, 3000 + 5 * (52 + 38) + 8);
        assert_eq!(state.weight(IpVersion::V6, (20, 8)).ip_bytes, 3000 + 5 * 72 + 8 + 3 * 20 + 2 * 8);
        // Without options a segment of headers alone is shorter than the smallest frame.
        let bare = TcpState { segments_out: 1, ..Default::default() };
        assert_eq!(bare.weight(IpVersion::V4, (0, 0)), Weight { ip_bytes: 44, wire_bytes: 84 });
        assert_eq!(TcpState::default().weight(IpVersion::V4, (0, 0)), Weight::default());
    }
}
