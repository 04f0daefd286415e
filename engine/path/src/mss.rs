//! Measures the segment size of a real TCP connection.

use crate::error::{Context, Result};
use crate::report::{Direction, Mss, MssFinding};
use crate::sizes::TCP_HEADER_BYTES;
use nettrial_scenario::Fault;
use nettrial_scenario::IpVersion;
use socket2::{Domain, Socket, Type};
use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::time::Duration;

/// The longest time to wait for a port's answer, in addition to four round-trip times: the retransmission of a lost
/// opening after a second (RFC 6298 section 2), and another one.
const PATIENCE: Duration = Duration::from_secs(3);
/// The number of bytes that timestamps take in each segment, including padding (RFC 7323 appendix A).
const TIMESTAMP_BYTES: u64 = 12;

/// Connects to the first of `ports` that is open, reads the connection's segment size, and closes the connection
/// without sending data. The answer of a port is awaited as `round_trip` requires, if that is known.
pub fn measure(
    target: SocketAddr,
    ports: &[u16],
    forward: Option<&Direction>,
    round_trip: Option<Duration>,
) -> Result<Mss, String> {
    if ports.is_empty() {
        return Err("no TCP port was given to connect to (--port)".into());
    }
    let mut refusals = Vec::new();
    for &port in ports {
        let mut destination = target;
        destination.set_port(port);
        match connect(destination, PATIENCE + round_trip.unwrap_or_default() * 4)
            .and_then(|socket| info(&socket))
        {
            Ok(info) => return Ok(judge(&info, port, IpVersion::of(target.ip()), forward)),
            Err(error) => refusals.push(format!("port {port}: {}", error.root_cause())),
        }
    }
    Err(format!("no open TCP port: {}", refusals.join("; ")))
}

fn connect(destination: SocketAddr, patience: Duration) -> Result<Socket> {
    let socket = Socket::new(Domain::for_address(destination), Type::STREAM, None)?;
    socket.connect_timeout(&destination.into(), patience)?;
    Ok(socket)
}

fn info(socket: &Socket) -> Result<libc::tcp_info> {
    // SAFETY: an all-zero `tcp_info` is a valid value of that plain structure.
    let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
    let mut length = libc::socklen_t::try_from(size_of::<libc::tcp_info>())?;
    let place = (&raw mut info).cast();
    // SAFETY: `info` is a writable plain structure of `length` bytes, and the descriptor is open.
    let status = unsafe {
        libc::getsockopt(socket.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, place, &raw mut length)
    };
    if status != 0 {
        return Err(std::io::Error::last_os_error()).context("reading TCP_INFO");
    }
    Ok(info)
}

fn judge(info: &libc::tcp_info, port: u16, version: IpVersion, forward: Option<&Direction>) -> Mss {
    const TIMESTAMPS: u8 = 1;
    const WINDOW_SCALING: u8 = 4;
    let timestamps = info.tcpi_options & TIMESTAMPS != 0;
    let option_bytes = if timestamps { TIMESTAMP_BYTES } else { 0 };
    let segment_bytes = u64::from(info.tcpi_snd_mss);
    let headers = version.header_bytes() + TCP_HEADER_BYTES;
    let implied_bytes = forward.map(|forward| forward.mtu_bytes.saturating_sub(headers));
    Mss {
        port,
        segment_bytes,
        option_bytes,
        announced_bytes: u64::from(info.tcpi_advmss) + option_bytes,
        implied_bytes,
        window_scaling: info.tcpi_options & WINDOW_SCALING != 0,
        timestamps,
        finding: compare(segment_bytes + option_bytes, implied_bytes),
    }
}

/// Compares an MSS, including options, with the one that the path MTU implies.
fn compare(in_force: u64, implied: Option<u64>) -> MssFinding {
    match implied {
        None => MssFinding::Unknown,
        Some(implied) if in_force < implied => MssFinding::Clamped,
        Some(implied) if in_force > implied => MssFinding::TooLarge,
        Some(_) => MssFinding::Fits,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_mss_is_compared_with_what_the_path_mtu_implies() {
        assert_eq!(compare(1460, Some(1460)), MssFinding::Fits);
        assert_eq!(compare(1360, Some(1460)), MssFinding::Clamped);
        assert_eq!(compare(8960, Some(1460)), MssFinding::TooLarge);
        assert_eq!(compare(8960, None), MssFinding::Unknown);
    }

    #[test]
    fn without_a_port_there_is_no_connection() {
        let target = SocketAddr::from(([127, 0, 0, 1], 0));
        assert!(measure(target, &[], None, None).unwrap_err().contains("--port"));
    }
}
