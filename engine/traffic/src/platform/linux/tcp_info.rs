//! The kernel's view of a TCP connection, or of one subflow of an MPTCP connection.

use super::options::{self, Plain};
use crate::tcp_state::{TcpState, known};
use std::io;
use std::net::TcpStream;

/// The state of a connection that the other host has closed and this one has not (RFC 9293 section 3.3.2;
/// include/net/tcp_states.h).
const CLOSE_WAIT: u8 = 8;

/// The leading part of the kernel's `struct tcp_info` (include/uapi/linux/tcp.h), up to the fields that are read
/// here. The kernel fills the part of it that it supports.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct TcpInfo {
    state: u8,
    more_states: [u8; 4],
    /// The options that both sides agreed on, one bit each: timestamps 1, SACK 2, window scaling 4.
    options: u8,
    /// The number of bits by which the other host scales its windows, and the number by which this host does: half
    /// of the byte each, in the order of bit fields.
    scales: u8,
    flags: u8,
    rto_us: u32,
    ato_us: u32,
    /// The maximum segment size for sending, in bytes.
    snd_mss: u32,
    rcv_mss: u32,
    counts: [u32; 5],
    times: [u32; 4],
    pmtu: u32,
    rcv_ssthresh: u32,
    /// The smoothed round-trip time, in microseconds.
    rtt_us: u32,
    rttvar_us: u32,
    snd_ssthresh: u32,
    /// The congestion window, in segments.
    snd_cwnd: u32,
    advmss: u32,
    reordering: u32,
    rcv_rtt: u32,
    rcv_space: u32,
    /// The number of segments retransmitted over the connection's life.
    total_retrans: u32,
    pacing_rate: u64,
    max_pacing_rate: u64,
    /// The number of bytes acknowledged, including those of the connection's opening and closing.
    bytes_acked: u64,
    bytes_received: u64,
    /// The number of segments sent, of all kinds, counting each segment of a GSO packet.
    segs_out: u32,
    segs_in: u32,
    notsent_bytes: u32,
    /// The smallest measured round-trip time, in microseconds; the largest number if there is none.
    min_rtt_us: u32,
    data_segs_in: u32,
    /// The number of sent segments that carry payload.
    data_segs_out: u32,
    /// The estimated rate at which data is delivered, in bytes per second.
    delivery_rate: u64,
    limits_us: [u64; 3],
    /// The number of packets delivered, with the one that opened the connection (Linux 4.18 and later; 0 before).
    delivered: u32,
    /// The number of packets delivered whose acknowledgments had the flag ECE.
    delivered_ce: u32,
    /// The number of bytes of payload sent, including retransmitted ones.
    bytes_sent: u64,
    /// The number of bytes of payload retransmitted.
    bytes_retrans: u64,
    more_counts: [u32; 3],
    /// The receive window that the other host announced last, in bytes (Linux 5.4 and later; 0 before).
    snd_wnd: u32,
}

// SAFETY: the type consists of integers without padding between them.
unsafe impl Plain for TcpInfo {}

impl TcpInfo {
    fn of(stream: &TcpStream) -> io::Result<Self> {
        let mut info = Self::default();
        options::get(stream, libc::IPPROTO_TCP, libc::TCP_INFO, &mut info)?;
        Ok(info)
    }
}

impl From<TcpInfo> for TcpState {
    fn from(info: TcpInfo) -> Self {
        Self {
            options: info.options,
            untold_options: 0,
            is_close_wait: info.state == CLOSE_WAIT,
            mss_bytes: info.snd_mss,
            window_scale: Some(if cfg!(target_endian = "little") {
                info.scales >> 4
            } else {
                info.scales & 15
            }),
            peer_window_bytes: Some(info.snd_wnd).filter(|&window| window > 0),
            srtt_us: known(info.rtt_us),
            // The kernel reports "none yet" as the largest number.
            min_rtt_us: Some(info.min_rtt_us).filter(|&rtt| rtt != u32::MAX),
            cwnd_pkts: info.snd_cwnd,
            retransmissions_pkts: u64::from(info.total_retrans),
            marks_pkts: Some(u64::from(info.delivered_ce)).filter(|_| info.delivered > 0),
            bytes_acked: Some(info.bytes_acked),
            segments_out: u64::from(info.segs_out),
            data_segments_out: u64::from(info.data_segs_out),
            bytes_sent: info.bytes_sent,
            delivery_rate: known(info.delivery_rate),
        }
    }
}

/// Returns the kernel's view of `stream` (getsockopt TCP_INFO, tcp(7)), or of its first subflow if it is an MPTCP
/// connection.
pub fn tcp_state(stream: &TcpStream) -> io::Result<Option<TcpState>> {
    Ok(Some(TcpInfo::of(stream)?.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::mem::offset_of;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn figures_before_the_first_sample_are_absent() {
        let state = TcpState::from(TcpInfo { min_rtt_us: u32::MAX, ..TcpInfo::default() });
        assert_eq!((state.srtt_us, state.min_rtt_us, state.delivery_rate), (None, None, None));
    }

    #[test]
    fn marks_are_absent_from_kernels_that_do_not_count_them() {
        let marks = |delivered| TcpState::from(TcpInfo { delivered, ..TcpInfo::default() }).marks_pkts;
        assert_eq!([0, 1].map(marks), [None, Some(0)]);
    }

    #[test]
    fn the_structure_lies_as_the_kernel_has_it() {
        let kernel = (
            offset_of!(libc::tcp_info, tcpi_options),
            offset_of!(libc::tcp_info, tcpi_snd_mss),
            offset_of!(libc::tcp_info, tcpi_rtt),
            offset_of!(libc::tcp_info, tcpi_snd_cwnd),
            offset_of!(libc::tcp_info, tcpi_total_retrans),
        );
        let here = (
            offset_of!(TcpInfo, options),
            offset_of!(TcpInfo, snd_mss),
            offset_of!(TcpInfo, rtt_us),
            offset_of!(TcpInfo, snd_cwnd),
            offset_of!(TcpInfo, total_retrans),
        );
        assert_eq!(here, kernel);
        // The offsets of the fields that the library's structure lacks follow from include/uapi/linux/tcp.h, from
        // tcpi_total_retrans at 100 on: fields have 4 bytes, except for tcpi_pacing_rate to tcpi_bytes_received,
        // tcpi_delivery_rate to tcpi_sndbuf_limited, and tcpi_bytes_sent and later ones, which have 8.
        assert_eq!(offset_of!(TcpInfo, bytes_acked), 120);
        assert_eq!(offset_of!(TcpInfo, segs_out), 136);
        assert_eq!(offset_of!(TcpInfo, min_rtt_us), 148);
        assert_eq!(offset_of!(TcpInfo, data_segs_out), 156);
        assert_eq!(offset_of!(TcpInfo, delivery_rate), 160);
        assert_eq!(offset_of!(TcpInfo, delivered), 192);
        assert_eq!(offset_of!(TcpInfo, delivered_ce), 196);
        assert_eq!(offset_of!(TcpInfo, bytes_sent), 200);
        assert_eq!(offset_of!(TcpInfo, bytes_retrans), 208);
        assert_eq!(offset_of!(TcpInfo, snd_wnd), 228);
    }

    #[test]
    fn a_loopback_connection_is_described() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut accepted, _) = listener.accept().unwrap();
        stream.write_all(&[0; 1000]).unwrap();
        accepted.read_exact(&mut [0; 1000]).unwrap();
        let info = TcpInfo::of(&stream).unwrap();
        assert!(info.snd_mss > 500 && info.snd_cwnd > 0 && info.rtt_us > 0, "{info:?}");
        assert_eq!((info.bytes_sent, info.bytes_retrans, info.data_segs_out), (1000, 0, 1));
        assert!(info.delivered > 0, "{info:?}");
        // The three segments are the SYN, the handshake's acknowledgment and the data.
        assert_eq!(info.segs_out, 3);
    }
}
