//! The kernel's view of a TCP connection. Both systems report windows in bytes, and do not count segments without
//! payload.

use crate::tcp_state::{TcpState, known};
use std::io;
use std::net::TcpStream;
use std::os::fd::AsRawFd;

/// Returns the kernel's view of `stream` (TCP_INFO, tcp(4)), which has neither the bytes acknowledged nor the
/// smallest round-trip time.
#[cfg(target_os = "freebsd")]
pub fn tcp_state(stream: &TcpStream) -> io::Result<Option<TcpState>> {
    /// TCPS_CLOSE_WAIT (netinet/tcp_fsm.h).
    const CLOSE_WAIT: u8 = 5;
    let info: libc::tcp_info = read(stream, libc::TCP_INFO)?;
    Ok(Some(TcpState {
        // TCPI_OPT_TIMESTAMPS 1, TCPI_OPT_SACK 2, TCPI_OPT_WSCALE 4 (netinet/tcp.h).
        options: info.tcpi_options & 7,
        untold_options: 0,
        is_close_wait: info.tcpi_state == CLOSE_WAIT,
        mss_bytes: info.tcpi_snd_mss,
        window_scale: Some(info.tcp_rcv_wscale),
        peer_window_bytes: Some(info.tcpi_snd_wnd),
        srtt_us: known(info.tcpi_rtt),
        min_rtt_us: None,
        cwnd_pkts: info.tcpi_snd_cwnd / info.tcpi_snd_mss.max(1),
        retransmissions_pkts: u64::from(info.tcpi_snd_rexmitpack),
        marks_pkts: None,
        bytes_acked: None,
        segments_out: 0,
        data_segments_out: 0,
        bytes_sent: 0,
        delivery_rate: None,
    }))
}

/// Returns the kernel's view of `stream` (TCP_CONNECTION_INFO, netinet/tcp.h), whose times are in milliseconds. It
/// has no smallest round-trip time.
#[cfg(target_os = "macos")]
pub fn tcp_state(stream: &TcpStream) -> io::Result<Option<TcpState>> {
    /// TCPS_CLOSE_WAIT (netinet/tcp_fsm.h).
    const CLOSE_WAIT: u8 = 5;
    let info: libc::tcp_connection_info = read(stream, libc::TCP_CONNECTION_INFO)?;
    let mss = info.tcpi_maxseg.max(1);
    Ok(Some(TcpState {
        // TCPCI_OPT_TIMESTAMPS 1, TCPCI_OPT_SACK 2, TCPCI_OPT_WSCALE 4.
        options: u8::try_from(info.tcpi_options & 7).unwrap_or(0),
        untold_options: 0,
        is_close_wait: info.tcpi_state == CLOSE_WAIT,
        mss_bytes: info.tcpi_maxseg,
        window_scale: Some(info.tcpi_rcv_wscale),
        peer_window_bytes: Some(info.tcpi_snd_wnd),
        // A time below a millisecond can't be told from none.
        srtt_us: known(info.tcpi_srtt.saturating_mul(1000)),
        min_rtt_us: None,
        cwnd_pkts: info.tcpi_snd_cwnd / mss,
        retransmissions_pkts: info.tcpi_txretransmitbytes.div_ceil(u64::from(mss)),
        marks_pkts: None,
        // Bytes that were sent and are no longer in the buffer are acknowledged.
        bytes_acked: Some(info.tcpi_txbytes.saturating_sub(u64::from(info.tcpi_snd_sbbytes))),
        segments_out: 0,
        data_segments_out: 0,
        bytes_sent: info.tcpi_txbytes,
        delivery_rate: None,
    }))
}

/// Reads an option of TCP whose value is a structure of integers.
fn read<T>(stream: &TcpStream, option: libc::c_int) -> io::Result<T> {
    // SAFETY: both structures that are read consist of integers, for which zero is a valid value.
    let mut value: T = unsafe { std::mem::zeroed() };
    let mut length = libc::socklen_t::try_from(size_of::<T>()).expect("a structure of the kernel is small");
    // SAFETY: `value` is writable for `length` bytes, any bytes are a valid value of its type, and the descriptor
    // is open for as long as `stream` is borrowed.
    let status = unsafe {
        let at = (&raw mut value).cast();
        libc::getsockopt(stream.as_raw_fd(), libc::IPPROTO_TCP, option, at, &raw mut length)
    };
    if status == 0 { Ok(value) } else { Err(io::Error::last_os_error()) }
}
