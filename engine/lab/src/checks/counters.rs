//! Reads the counters of the nodes' own kernels: fragments, and datagrams that a full socket refused.

use super::Findings;
use crate::layout::Layout;
use anyhow::{Context, Result};
use nettrial_scenario::{Check, Flow, Size, ToolName, Traffic, Transport, Variate};
use std::fs;

/// Bytes of a UDP header (RFC 768), and of an ICMP echo's (RFC 792, RFC 4443).
const DATAGRAM_HEADER_BYTES: u64 = 8;

/// Counters of a node, IPv4 and IPv6 together (RFC 4293, RFC 4113).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HostCounters {
    /// Fragments made (FragCreates).
    pub fragments_made: u64,
    /// Fragments that arrived (ReasmReqds).
    pub fragments_arrived: u64,
    /// Packets that could not be fragmented, or not be put together (FragFails, ReasmFails).
    pub fragment_failures: u64,
    /// Datagrams refused for a full receive buffer (RcvbufErrors).
    pub full_buffer: u64,
    /// All datagrams that arrived and were refused (InErrors), those among them.
    pub datagrams_refused: u64,
}

impl HostCounters {
    /// The counters of the calling thread's namespace.
    pub fn read() -> Result<Self> {
        let read = |path: &str| fs::read_to_string(path).with_context(|| format!("reading {path}"));
        let old = read("/proc/thread-self/net/snmp")?;
        // Absent on a kernel without IPv6.
        let new = read("/proc/thread-self/net/snmp6").unwrap_or_default();
        Ok(Self::parse(&old, &new))
    }

    /// Reads `/proc/net/snmp`, a line of names and one of values for each protocol, and
    /// `/proc/net/snmp6`, a name and a value a line.
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

    fn since(self, before: Self) -> Self {
        Self {
            fragments_made: self.fragments_made.saturating_sub(before.fragments_made),
            fragments_arrived: self.fragments_arrived.saturating_sub(before.fragments_arrived),
            fragment_failures: self.fragment_failures.saturating_sub(before.fragment_failures),
            full_buffer: self.full_buffer.saturating_sub(before.full_buffer),
            datagrams_refused: self.datagrams_refused.saturating_sub(before.datagrams_refused),
        }
    }
}

impl Findings {
    /// Verifies that no node fragmented packets but for flows that ask for it, and warns of sockets that
    /// refused datagrams, by what each node counted before and after.
    pub fn host_counters(
        &mut self,
        layout: &Layout,
        before: &[(String, HostCounters)],
        after: &[(String, HostCounters)],
    ) {
        let wanted = layout.scenario.workload.iter().any(|flow| asks_for_fragments(layout, flow));
        for ((node, earlier), (_, later)) in before.iter().zip(after) {
            let counted = later.since(*earlier);
            self.fragments(node, counted, wanted);
            if counted.datagrams_refused > 0 {
                self.warn(
                    "socket_buffer",
                    node,
                    format!(
                        "UDP sockets refused {} datagrams, {} of them for a full receive buffer",
                        counted.datagrams_refused, counted.full_buffer
                    ),
                    "they were lost at the receiver and not on the path: lower the rate",
                );
            }
        }
    }

    fn fragments(&mut self, node: &str, counted: HostCounters, wanted: bool) {
        let HostCounters { fragments_made, fragments_arrived, fragment_failures, .. } = counted;
        let is_clean = fragments_made + fragments_arrived + fragment_failures == 0;
        let found = if is_clean {
            "none".to_owned()
        } else {
            format!("{fragments_made} made, {fragments_arrived} arrived, {fragment_failures} failures")
        };
        if !wanted && !is_clean {
            self.warn(
                "fragmentation",
                node,
                format!("there were fragments, and no flow asks for them: {found}"),
                "packets on the path are not of the size that the study says, and the loss of one fragment \
                 loses the whole packet",
            );
        }
        self.checks.push(Check {
            name: "fragmentation".into(),
            object: node.into(),
            expected: if wanted { "fragments" } else { "none" }.into(),
            found,
            passed: wanted || is_clean,
        });
    }
}

/// Returns true if `flow` may send datagrams that its path carries in fragments only.
fn asks_for_fragments(layout: &Layout, flow: &Flow) -> bool {
    let Some(largest) = largest_datagram(flow) else { return false };
    let packet = largest.saturating_add(flow.ip.header_bytes() + DATAGRAM_HEADER_BYTES);
    [(&flow.from, &flow.to), (&flow.to, &flow.from)]
        .into_iter()
        .any(|(from, to)| layout.path_mtu(from, to, flow.ip).is_some_and(|mtu| packet > mtu))
}

/// The most payload bytes that a datagram of `flow` may have, as far as its description says; `None` for
/// flows without datagrams.
fn largest_datagram(flow: &Flow) -> Option<u64> {
    if !matches!(flow.transport, Transport::Udp | Transport::Icmp) {
        return None;
    }
    Some(match &flow.traffic {
        Traffic::Packets(packets) => largest(&packets.size),
        Traffic::RequestResponse(exchange) => exchange.request.0.max(exchange.response.0),
        Traffic::Sweep(sweep) => sweep.last.0,
        // What it sends is in its own options.
        Traffic::Tool(tool) if tool.tool == ToolName::Exec => u64::MAX,
        Traffic::Tool(tool) => tool.size.map_or(0, |size| size.0),
        Traffic::Transfer(_) | Traffic::FileTransfer(_) => 0,
    })
}

fn largest(size: &Variate<Size>) -> u64 {
    let largest = match size {
        Variate::Constant { value } => Some(*value),
        Variate::Uniform { maximum, .. } => Some(*maximum),
        Variate::Mix { shares } => shares.iter().map(|share| share.value).max_by_key(|size| size.0),
        Variate::Listed { values } => values.iter().copied().max_by_key(|size| size.0),
        Variate::Exponential { truncation, .. }
        | Variate::Normal { truncation, .. }
        | Variate::Pareto { truncation, .. }
        | Variate::Cauchy { truncation, .. }
        | Variate::Gamma { truncation, .. }
        | Variate::Weibull { truncation, .. } => truncation.maximum,
    };
    largest.map_or(u64::MAX, |size| size.0)
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

    #[test]
    fn fragments_are_warned_of_only_where_no_flow_asks_for_them() {
        let counted = HostCounters { fragments_made: 4, ..HostCounters::default() };
        let mut findings = Findings::default();
        findings.fragments("a", counted, true);
        assert!(findings.warnings.is_empty() && findings.checks[0].passed);
        assert_eq!(findings.checks[0].expected, "fragments");
        findings.fragments("a", HostCounters::default(), false);
        assert!(findings.warnings.is_empty() && findings.checks[1].passed);
        findings.fragments("a", counted, false);
        assert_eq!(findings.warnings[0].code, "fragmentation");
        assert!(!findings.checks[2].passed);
    }

    #[test]
    fn the_largest_size_is_where_a_distribution_ends() {
        let size = |text: &str| largest(&serde_json::from_str(text).unwrap());
        assert_eq!(size(r#"{"distribution": "constant", "value": "100 B"}"#), 100);
        assert_eq!(size(r#"{"distribution": "uniform", "minimum": "24 B", "maximum": "900 B"}"#), 900);
        assert_eq!(size(r#"{"distribution": "listed", "values": ["30 B", "2000 B", "40 B"]}"#), 2000);
        assert_eq!(size(r#"{"distribution": "exponential", "mean": "100 B"}"#), u64::MAX);
        assert_eq!(
            size(r#"{"distribution": "exponential", "mean": "100 B", "truncation": {"maximum": "1400 B"}}"#),
            1400
        );
    }
}
