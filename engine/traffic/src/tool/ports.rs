//! Ports for receiving programs, and whether one listens.

use super::process::Process;
use anyhow::{Result, bail};
use std::net::{IpAddr, SocketAddr, TcpListener, UdpSocket};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

/// Where the ports begin: below those that the kernel gives to connections
/// (net.ipv4.ip_local_port_range), which could take one between its choice and its use.
const FIRST: u16 = 20_001;
const LAST: u16 = 32_000;
/// How long a receiving program may take until it listens.
const PATIENCE: Duration = Duration::from_secs(10);

static NEXT: AtomicU16 = AtomicU16::new(FIRST);

/// A port that is free over TCP and UDP at `address`, and so is the one after it (D-ITG takes two). No
/// port is given twice.
pub fn free_pair(address: IpAddr) -> Result<u16> {
    loop {
        let port = NEXT.fetch_add(2, Ordering::Relaxed);
        if !(FIRST..LAST).contains(&port) {
            bail!("no port from {FIRST} to {LAST} is free at {address}");
        }
        let is_free = |port| {
            let at = SocketAddr::new(address, port);
            TcpListener::bind(at).is_ok() && UdpSocket::bind(at).is_ok()
        };
        if is_free(port) && is_free(port + 1) {
            return Ok(port);
        }
    }
}

/// Waits until a socket of this network namespace listens at `port`, over TCP, or is bound to it, over
/// UDP; it is looked up in /proc/net, so that the program sees no connection that is not the trial's.
pub fn await_listener(port: u16, process: &mut Process) -> Result<()> {
    let deadline = Instant::now() + PATIENCE;
    while !listens(port)? {
        if process.has_ended() || Instant::now() > deadline {
            bail!("the receiving program does not listen at port {port}");
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    Ok(())
}

fn listens(port: u16) -> Result<bool> {
    for (table, state) in [("tcp", Some("0A")), ("tcp6", Some("0A")), ("udp", None), ("udp6", None)] {
        let file = format!("/proc/thread-self/net/{table}");
        // A kernel without IPv6 has no such table.
        let Ok(text) = std::fs::read_to_string(&file) else { continue };
        if text.lines().skip(1).any(|line| is_open(line, port, state).unwrap_or(false)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether a line of such a table (proc_pid_net(5)) is of a socket at `port`, in `state`.
fn is_open(line: &str, port: u16, state: Option<&str>) -> Option<bool> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let (_, local) = fields.get(1)?.rsplit_once(':')?;
    let is_at_port = u16::from_str_radix(local, 16).ok()? == port;
    Some(is_at_port && state.is_none_or(|state| fields.get(3) == Some(&state)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_that_listens_is_seen_and_others_are_not() {
        let port = free_pair("127.0.0.1".parse().unwrap()).unwrap();
        assert!(!listens(port).unwrap());
        let _udp = UdpSocket::bind(("127.0.0.1", port)).unwrap();
        assert!(listens(port).unwrap());
        let _tcp = TcpListener::bind(("127.0.0.1", port + 1)).unwrap();
        assert!(listens(port + 1).unwrap());
        assert!(free_pair("127.0.0.1".parse().unwrap()).unwrap() > port + 1);
    }

    #[test]
    fn a_connection_is_no_listener() {
        let line = "   0: 0100007F:4E21 0100007F:D0A2 01 00000000:00000000 00:00000000 00000000 0 0 1 1";
        assert_eq!(is_open(line, 0x4e21, Some("0A")), Some(false));
        assert_eq!(is_open(&line.replace(" 01 ", " 0A "), 0x4e21, Some("0A")), Some(true));
        for hostile in ["", "0: x", "0: x:y z", "0: :zzzz"] {
            assert_eq!(is_open(hostile, 1, None), None, "{hostile}");
        }
    }
}
