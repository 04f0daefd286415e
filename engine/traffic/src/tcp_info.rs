//! The kernel's view of a TCP connection, or of one subflow of an MPTCP connection.

use crate::options::{self, Plain};
use anyhow::{Context, Result};
use nettrial_figures::wire::Weight;
use nettrial_scenario::IpVersion;
use std::os::fd::AsRawFd;

/// Bytes of a TCP header without options (RFC 9293 section 3.1).
const TCP_HEADER_BYTES: u64 = 20;
/// Bytes of the timestamps option with its padding (RFC 7323 appendix A).
const TIMESTAMPS_BYTES: u64 = 12;

/// The other host has closed the connection, and this one has not (RFC 9293 section 3.3.2;
/// include/net/tcp_states.h).
const CLOSE_WAIT: u8 = 8;

/// The leading part of the kernel's `struct tcp_info` (include/uapi/linux/tcp.h), up to the fields
/// that are read here. The kernel fills as much of it as it knows.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct TcpInfo {
    state: u8,
    more_states: [u8; 4],
    /// Options both sides agreed to, a bit each: timestamps 1, SACK 2, window scaling 4.
    pub options: u8,
    scales_and_flags: [u8; 2],
    rto_us: u32,
    ato_us: u32,
    /// Maximum segment size for sending, bytes.
    pub snd_mss: u32,
    rcv_mss: u32,
    counts: [u32; 5],
    times: [u32; 4],
    pmtu: u32,
    rcv_ssthresh: u32,
    /// Smoothed round-trip time, microseconds.
    pub rtt_us: u32,
    rttvar_us: u32,
    snd_ssthresh: u32,
    /// Congestion window, segments.
    pub snd_cwnd: u32,
    advmss: u32,
    reordering: u32,
    rcv_rtt: u32,
    rcv_space: u32,
    /// Segments sent again over the connection's life.
    pub total_retrans: u32,
    pacing_rate: u64,
    max_pacing_rate: u64,
    /// Bytes acknowledged, those of the connection's opening and closing included.
    pub bytes_acked: u64,
    bytes_received: u64,
    /// Segments sent, all kinds, each of a bundle counted.
    pub segs_out: u32,
    segs_in: u32,
    notsent_bytes: u32,
    /// Smallest round-trip time seen, microseconds; the largest number if none was.
    pub min_rtt_us: u32,
    data_segs_in: u32,
    /// Segments sent that carry payload.
    pub data_segs_out: u32,
    /// The estimate of the rate at which data arrives, bytes per second.
    pub delivery_rate: u64,
    limits_us: [u64; 3],
    delivered: [u32; 2],
    /// Bytes of payload sent, those sent again included.
    pub bytes_sent: u64,
    /// Bytes of payload sent again.
    pub bytes_retrans: u64,
}

// SAFETY: integers without padding between them.
unsafe impl Plain for TcpInfo {}

impl TcpInfo {
    /// The kernel's view of `socket` (getsockopt TCP_INFO, tcp(7)); of an MPTCP connection that of its
    /// first subflow.
    pub fn of(socket: &impl AsRawFd) -> Result<Self> {
        let mut info = Self::default();
        options::get(socket, libc::IPPROTO_TCP, libc::TCP_INFO, &mut info).context("reading TCP_INFO")?;
        Ok(info)
    }

    /// The names of the options in force, in a fixed order.
    pub fn option_names(&self) -> Vec<&'static str> {
        let all = [(1, "timestamps"), (2, "sack"), (4, "window_scaling")];
        all.into_iter().filter(|(bit, _)| self.options & bit != 0).map(|(_, name)| name).collect()
    }

    /// What this end has sent, from the kernel's counts of bytes and segments (retransmissions are in
    /// both) and the headers that the options in force make. `more_options` gives the bytes of further
    /// options: of a segment with payload, and of one without. Assumed: the options of the first segment
    /// are Linux's; no selective acknowledgments are sent, as one seldom has to whose data goes the other
    /// way; each segment is one frame, so what segmentation offload joins counts as what it stands for.
    /// The last segment of a connection that the other host has closed, and this one not yet, is counted.
    pub fn weight(&self, ip: IpVersion, more_options: (u64, u64)) -> Weight {
        let timestamps = if self.options & 1 != 0 { TIMESTAMPS_BYTES } else { 0 };
        let header = ip.header_bytes() + TCP_HEADER_BYTES + timestamps;
        let with = u64::from(self.data_segs_out);
        let without = u64::from(self.segs_out).saturating_sub(with) + u64::from(self.state == CLOSE_WAIT);
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::mem::offset_of;
    use std::net::{TcpListener, TcpStream};

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
        // What the library's structure lacks, counted in include/uapi/linux/tcp.h from
        // tcpi_total_retrans at 100: fields of 4 bytes, but tcpi_pacing_rate to tcpi_bytes_received,
        // tcpi_delivery_rate to tcpi_sndbuf_limited, and tcpi_bytes_sent and what follows, of 8.
        assert_eq!(offset_of!(TcpInfo, bytes_acked), 120);
        assert_eq!(offset_of!(TcpInfo, segs_out), 136);
        assert_eq!(offset_of!(TcpInfo, min_rtt_us), 148);
        assert_eq!(offset_of!(TcpInfo, data_segs_out), 156);
        assert_eq!(offset_of!(TcpInfo, delivery_rate), 160);
        assert_eq!(offset_of!(TcpInfo, bytes_sent), 200);
        assert_eq!(offset_of!(TcpInfo, bytes_retrans), 208);
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
        // The first segment, the handshake's acknowledgment, the data.
        assert_eq!(info.segs_out, 3);
    }

    #[test]
    fn a_connection_weighs_its_payload_and_headers() {
        let info =
            TcpInfo { options: 7, segs_out: 5, data_segs_out: 3, bytes_sent: 3000, ..Default::default() };
        // Five segments of 52 bytes of headers, one with 8 bytes of options more.
        assert_eq!(info.weight(IpVersion::V4, (0, 0)).ip_bytes, 3000 + 5 * 52 + 8);
        assert_eq!(info.weight(IpVersion::V4, (0, 0)).wire_bytes, 3000 + 5 * (52 + 38) + 8);
        assert_eq!(info.weight(IpVersion::V6, (20, 8)).ip_bytes, 3000 + 5 * 72 + 8 + 3 * 20 + 2 * 8);
        // Without options a segment of headers alone is shorter than the smallest frame.
        let bare = TcpInfo { segs_out: 1, ..Default::default() };
        assert_eq!(bare.weight(IpVersion::V4, (0, 0)), Weight { ip_bytes: 44, wire_bytes: 84 });
        assert_eq!(TcpInfo::default().weight(IpVersion::V4, (0, 0)), Weight::default());
    }
}
