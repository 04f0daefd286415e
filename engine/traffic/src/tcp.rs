//! TCP sockets: opening them as a flow asks, and reading the kernel's view of them.

use crate::cookie::Purpose;
use crate::protocol::Side;
use anyhow::{Context, Result};
use socket2::{Domain, Socket, Type};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

/// How long a host may leave a connection unanswered before the flow fails.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// The leading part of the kernel's `struct tcp_info` (include/uapi/linux/tcp.h), up to the fields
/// that are read here. The kernel fills as much of it as it knows.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct TcpInfo {
    states: [u8; 5],
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
    segs_out: u32,
    segs_in: u32,
    notsent_bytes: u32,
    /// Smallest round-trip time seen, microseconds.
    pub min_rtt_us: u32,
}

/// A socket for the flow's `side`: bound to its address at `port` (0: any), with its congestion
/// control.
pub fn socket(side: &Side, port: u16) -> Result<Socket> {
    let local = SocketAddr::new(side.address, port);
    let socket =
        Socket::new(Domain::for_address(local), Type::STREAM, None).context("opening a TCP socket")?;
    socket
        .set_tcp_congestion(side.congestion_control.as_bytes())
        .with_context(|| format!("choosing congestion control {:?}", side.congestion_control))?;
    socket.bind(&local.into()).with_context(|| format!("binding to {local}"))?;
    Ok(socket)
}

/// Opens a connection of the flow for `purpose`; also the time that the call to connect took.
pub fn connect(side: &Side, destination: SocketAddr, purpose: Purpose) -> Result<(TcpStream, Duration)> {
    let socket = socket(side, 0)?;
    let begin = Instant::now();
    socket
        .connect_timeout(&destination.into(), PATIENCE)
        .with_context(|| format!("connecting to {destination}"))?;
    let took = begin.elapsed();
    let mut stream = TcpStream::from(socket);
    bound_waits(&stream)?;
    side.cookie.open(&mut stream, purpose).context("showing the trial's cookie")?;
    Ok((stream, took))
}

/// Lets no read or write on `stream` wait for ever.
pub fn bound_waits(stream: &TcpStream) -> Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    Ok(())
}

/// The congestion control in force on a connection.
pub fn congestion_control(stream: &TcpStream) -> Result<String> {
    let name = socket2::SockRef::from(stream).tcp_congestion().context("reading TCP_CONGESTION")?;
    let text: Vec<u8> = name.into_iter().take_while(|&byte| byte != 0).collect();
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// The kernel's view of a connection (getsockopt TCP_INFO, tcp(7)).
pub fn info(stream: &TcpStream) -> Result<TcpInfo> {
    let mut info = TcpInfo::default();
    let mut length = libc::socklen_t::try_from(size_of::<TcpInfo>()).expect("a small structure");
    // SAFETY: `info` is a writable plain structure of `length` bytes, and the descriptor is open for
    // as long as `stream` is borrowed.
    let status = unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            (&raw mut info).cast(),
            &raw mut length,
        )
    };
    if status != 0 {
        return Err(std::io::Error::last_os_error()).context("reading TCP_INFO");
    }
    Ok(info)
}

impl TcpInfo {
    /// The names of the options in force, in a fixed order.
    pub fn option_names(&self) -> Vec<&'static str> {
        let all = [(1, "timestamps"), (2, "sack"), (4, "window_scaling")];
        all.into_iter().filter(|(bit, _)| self.options & bit != 0).map(|(_, name)| name).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;
    use std::net::TcpListener;

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
        // include/uapi/linux/tcp.h: tcpi_bytes_acked is the third of the 64-bit fields that follow
        // tcpi_total_retrans at 104; tcpi_min_rtt follows tcpi_notsent_bytes.
        assert_eq!(offset_of!(TcpInfo, bytes_acked), 120);
        assert_eq!(offset_of!(TcpInfo, min_rtt_us), 148);
    }

    #[test]
    fn a_loopback_connection_is_described() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let info = info(&stream).unwrap();
        assert!(info.snd_mss > 500 && info.snd_cwnd > 0 && info.rtt_us > 0, "{info:?}");
        assert!(!congestion_control(&stream).unwrap().is_empty());
    }
}
