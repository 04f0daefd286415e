//! Decodes the answer of Windows to SIO_TCP_INFO: TCP_INFO_v0 (mstcpip.h). It is decoded byte by byte, so that
//! every system can test it.

use crate::tcp_state::{TcpState, known};

/// The size of the structure in bytes. Its fields of 8 bytes lie at multiples of 8.
pub const BYTES: usize = 88;
/// The state TCPSTATE_CLOSE_WAIT (mstcpip.h).
const CLOSE_WAIT: u32 = 7;

/// The offset of the field State. The constants below are the offsets of the other fields that are read.
const STATE: usize = 0;
const MSS: usize = 4;
const TIMESTAMPS_ENABLED: usize = 16;
const RTT_US: usize = 20;
const MIN_RTT_US: usize = 24;
const BYTES_IN_FLIGHT: usize = 28;
const CWND: usize = 32;
const SND_WND: usize = 36;
const BYTES_OUT: usize = 48;
const BYTES_RETRANS: usize = 68;

/// Decodes the structure. It has no option but timestamps, and does not count segments: the number of
/// retransmitted segments is computed from the retransmitted bytes and the full segment size.
pub fn decode(bytes: &[u8; BYTES]) -> TcpState {
    // Every offset leaves room for the field.
    let short = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    let long = |at: usize| u64::from(short(at)) | u64::from(short(at + 4)) << 32;
    let mss = short(MSS).max(1);
    TcpState {
        options: u8::from(bytes[TIMESTAMPS_ENABLED] != 0),
        untold_options: 2 | 4,
        is_close_wait: short(STATE) == CLOSE_WAIT,
        mss_bytes: short(MSS),
        window_scale: None,
        peer_window_bytes: Some(short(SND_WND)),
        srtt_us: known(short(RTT_US)),
        min_rtt_us: Some(short(MIN_RTT_US)).filter(|&rtt| rtt != u32::MAX),
        cwnd_pkts: short(CWND) / mss,
        retransmissions_pkts: u64::from(short(BYTES_RETRANS).div_ceil(mss)),
        marks_pkts: None,
        bytes_acked: Some(long(BYTES_OUT).saturating_sub(u64::from(short(BYTES_IN_FLIGHT)))),
        segments_out: 0,
        data_segments_out: 0,
        bytes_sent: long(BYTES_OUT),
        delivery_rate: None,
    }
}

/// Asserts that the offsets of the fields are those of the system's own header.
#[cfg(windows)]
const _: () = {
    use std::mem::offset_of;
    use windows_sys::Win32::Networking::WinSock::{TCP_INFO_v0 as Info, TCPSTATE_CLOSE_WAIT};
    assert!(size_of::<Info>() == BYTES && TCPSTATE_CLOSE_WAIT as u32 == CLOSE_WAIT);
    assert!(offset_of!(Info, State) == STATE && offset_of!(Info, Mss) == MSS);
    assert!(offset_of!(Info, TimestampsEnabled) == TIMESTAMPS_ENABLED && offset_of!(Info, RttUs) == RTT_US);
    assert!(offset_of!(Info, MinRttUs) == MIN_RTT_US && offset_of!(Info, BytesInFlight) == BYTES_IN_FLIGHT);
    assert!(offset_of!(Info, Cwnd) == CWND && offset_of!(Info, SndWnd) == SND_WND);
    assert!(offset_of!(Info, BytesOut) == BYTES_OUT && offset_of!(Info, BytesRetrans) == BYTES_RETRANS);
};

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the structure as the header declares it, field by field: 32-bit numbers unless a comment says
    /// otherwise.
    fn vector() -> [u8; BYTES] {
        let mut bytes = Vec::new();
        bytes.extend(7u32.to_le_bytes()); // State: CLOSE_WAIT
        bytes.extend(1448u32.to_le_bytes()); // Mss
        bytes.extend(60_000u64.to_le_bytes()); // ConnectionTimeMs
        bytes.extend([1, 0, 0, 0]); // TimestampsEnabled, a BOOLEAN, and padding
        bytes.extend(11_000u32.to_le_bytes()); // RttUs
        bytes.extend(10_500u32.to_le_bytes()); // MinRttUs
        bytes.extend(28_960u32.to_le_bytes()); // BytesInFlight
        bytes.extend(289_600u32.to_le_bytes()); // Cwnd, bytes
        bytes.extend(1_048_576u32.to_le_bytes()); // SndWnd
        bytes.extend(2_097_152u32.to_le_bytes()); // RcvWnd
        bytes.extend(131_072u32.to_le_bytes()); // RcvBuf
        bytes.extend(5_000_000_000u64.to_le_bytes()); // BytesOut
        bytes.extend(400u64.to_le_bytes()); // BytesIn
        bytes.extend(0u32.to_le_bytes()); // BytesReordered
        bytes.extend(2897u32.to_le_bytes()); // BytesRetrans: two full segments and a byte
        bytes.extend([1u32, 2, 3].map(u32::to_le_bytes).concat()); // FastRetrans, DupAcksIn, TimeoutEpisodes
        bytes.extend([1, 0, 0, 0]); // SynRetrans, a UCHAR, and padding
        bytes.try_into().unwrap()
    }

    #[test]
    fn the_documented_structure_is_decoded() {
        let state = decode(&vector());
        assert!(state.is_close_wait);
        assert_eq!((state.options, state.untold_option_names()), (1, vec!["sack", "window_scaling"]));
        assert_eq!((state.mss_bytes, state.cwnd_pkts, state.retransmissions_pkts), (1448, 200, 3));
        assert_eq!((state.srtt_us, state.min_rtt_us), (Some(11_000), Some(10_500)));
        assert_eq!((state.bytes_sent, state.bytes_acked), (5_000_000_000, Some(4_999_971_040)));
        assert_eq!(state.peer_window_bytes, Some(1_048_576));
    }

    #[test]
    fn a_connection_without_a_round_trip_has_no_times() {
        let mut bytes = [0; BYTES];
        bytes[MIN_RTT_US..MIN_RTT_US + 4].fill(0xff);
        let state = decode(&bytes);
        assert_eq!((state.srtt_us, state.min_rtt_us), (None, None));
    }
}
