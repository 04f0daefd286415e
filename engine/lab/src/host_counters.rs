//! Reads the counters of a node's own kernel.

use crate::error::{Context, Result};
use std::fs;

/// The counters of a node, for IPv4 and IPv6 together (RFC 4293, RFC 4113).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HostCounters {
    /// The number of fragments created (FragCreates).
    pub fragments_made: u64,
    /// The number of fragments that arrived (ReasmReqds).
    pub fragments_arrived: u64,
    /// The number of packets that could not be fragmented or reassembled (FragFails, ReasmFails).
    pub fragment_failures: u64,
    /// The number of datagrams refused because of a full receive buffer (RcvbufErrors).
    pub full_buffer: u64,
    /// The number of all datagrams that arrived and were refused, including those (InErrors).
    pub datagrams_refused: u64,
}

impl HostCounters {
    /// Reads the counters of the calling thread's namespace.
    pub fn read() -> Result<Self> {
        let read = |path: &str| fs::read_to_string(path).with_context(|| format!("reading {path}"));
        let old = read("/proc/thread-self/net/snmp")?;
        // The file is absent on a kernel without IPv6.
        let new = read("/proc/thread-self/net/snmp6").unwrap_or_default();
        Ok(Self::parse(&old, &new))
    }

    /// Parses `/proc/net/snmp`, which has a line of names and a line of values for each protocol, and
    /// `/proc/net/snmp6`, which has a name and a value per line.
    fn parse(old: &str, new: &str) -> Self {
        let lines: Vec<Vec<&str>> = old.lines().map(|line| line.split_ascii_whitespace().collect()).collect();
        let version_4 = |protocol: &str, name: &str| -> u64 {
            let pair = lines.windows(2).find(|pair| pair.iter().all(|line| line.first() == Some(&protocol)));
            let value = pair.and_then(|pair| pair[1].get(pair[0].iter().position(|word| *word == name)?));
            value.and_then(|value| value.parse().ok()).unwrap_or(0)
        };
        let version_6 = |name: &str| -> u64 {
            let line = new.lines().find(|line| line.split_ascii_whitespace().next() == Some(name));
            line.and_then(|line| line.split_ascii_whitespace().nth(1)?.parse().ok()).unwrap_or(0)
        };
        let ip = |name: &str| version_4("Ip:", name) + version_6(&format!("Ip6{name}"));
        let udp = |name: &str| version_4("Udp:", name) + version_6(&format!("Udp6{name}"));
        Self {
            fragments_made: ip("FragCreates"),
            fragments_arrived: ip("ReasmReqds"),
            fragment_failures: ip("FragFails") + ip("ReasmFails"),
            full_buffer: udp("RcvbufErrors"),
            datagrams_refused: udp("InErrors"),
        }
    }

    /// Returns the differences from `before`.
    pub fn since(self, before: Self) -> Self {
        Self {
            fragments_made: self.fragments_made.saturating_sub(before.fragments_made),
            fragments_arrived: self.fragments_arrived.saturating_sub(before.fragments_arrived),
            fragment_failures: self.fragment_failures.saturating_sub(before.fragment_failures),
            full_buffer: self.full_buffer.saturating_sub(before.full_buffer),
            datagrams_refused: self.datagrams_refused.saturating_sub(before.datagrams_refused),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_counters_are_read_and_summed() {
        let old = "Ip: Forwarding ReasmReqds ReasmOKs ReasmFails FragOKs FragFails FragCreates\n\
                   Ip: 1 7 0 1 0 2 10\n\
                   Udp: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors\nUdp: 9 0 5 9 4\n\
                   UdpLite: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors\nUdpLite: 0 0 99 0 99\n";
        let new = "Ip6FragCreates                  \t100\nIp6ReasmReqds 70\nIp6ReasmFails 10\nIp6FragFails 20\n\
                   Udp6InErrors 50\nUdp6RcvbufErrors 40\n";
        let expected = HostCounters {
            fragments_made: 110,
            fragments_arrived: 77,
            fragment_failures: 33,
            full_buffer: 44,
            datagrams_refused: 55,
        };
        assert_eq!(HostCounters::parse(old, new), expected);
        for hostile in ["", "Ip:", "Ip: FragCreates\nIp:", "Ip: FragCreates\nIp: x\n"] {
            assert_eq!(HostCounters::parse(hostile, hostile), HostCounters::default());
        }
    }
}
