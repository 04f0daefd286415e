//! Warns of fragments, and of datagrams that full sockets refused, as counted by the nodes' own kernels.

use super::Findings;
use crate::host_counters::HostCounters;
use crate::layout::Layout;
use crate::network::Translated;
use nettrial_scenario::{Check, Flow, Size, ToolName, Traffic, Transport, Variate};

/// The size of a UDP header (RFC 768) and of the header of an ICMP echo (RFC 792, RFC 4443), in bytes.
const DATAGRAM_HEADER_BYTES: u64 = 8;
/// The operation and the number of a block of TFTP (RFC 1350).
const TFTP_HEADER_BYTES: u64 = 4;

impl Findings {
    /// Verifies that no node fragmented packets except for flows that require it, and warns of sockets that
    /// refused datagrams, from the counters of each node before and after the traffic.
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
                        "UDP sockets refused {} datagrams, {} of them because of a full receive buffer",
                        counted.datagrams_refused, counted.full_buffer
                    ),
                    "they were lost at the receiver and not on the path: lower the rate",
                );
            }
        }
    }

    /// Verifies that a router's translator got each packet that the router had for it.
    pub fn translation(&mut self, translated: &Translated) {
        let Translated { ends, version, packets, dropped } = translated;
        let check = Check {
            name: "translation".into(),
            object: ends.clone(),
            expected: "no packet dropped".into(),
            found: format!("{version} put back {packets} packets, and {dropped} were dropped before it"),
            passed: *dropped == 0,
        };
        self.warnings.extend(check.warning("the translator had no time for the packets: lower the rate"));
        self.checks.push(check);
    }

    fn fragments(&mut self, node: &str, counted: HostCounters, wanted: bool) {
        let HostCounters { fragments_made, fragments_arrived, fragment_failures, .. } = counted;
        let is_clean = fragments_made + fragments_arrived + fragment_failures == 0;
        let fragments = if is_clean {
            "none".to_owned()
        } else {
            format!("{fragments_made} made, {fragments_arrived} arrived, {fragment_failures} failures")
        };
        if !wanted && !is_clean {
            self.warn(
                "fragmentation",
                node,
                format!("packets were fragmented, but no flow requires it: {fragments}"),
                "packets on the path are not of the size that the study says, and the loss of one fragment \
                 loses the whole packet",
            );
        }
        self.checks.push(Check {
            name: "fragmentation".into(),
            object: node.into(),
            expected: if wanted { "fragments" } else { "none" }.into(),
            found: fragments,
            passed: wanted || is_clean,
        });
    }
}

/// Returns true if `flow` may send datagrams that its path can only carry in fragments.
fn asks_for_fragments(layout: &Layout, flow: &Flow) -> bool {
    let Some(largest) = largest_datagram(flow) else { return false };
    let packet = largest.saturating_add(flow.ip.header_bytes() + DATAGRAM_HEADER_BYTES);
    [(&flow.from, &flow.to), (&flow.to, &flow.from)]
        .into_iter()
        .any(|(from, to)| layout.path_mtu(from, to, flow.ip).is_some_and(|mtu| packet > mtu))
}

/// Returns the largest payload of a datagram of `flow` in bytes, as far as its description defines it; `None` for
/// flows without datagrams.
fn largest_datagram(flow: &Flow) -> Option<u64> {
    if !matches!(flow.transport, Transport::Udp | Transport::Icmp) {
        return None;
    }
    Some(match &flow.traffic {
        Traffic::Packets(packets) => largest(&packets.size),
        Traffic::RequestResponse(exchange) => exchange.request.0.max(exchange.response.0),
        Traffic::Sweep(sweep) => sweep.last.0,
        // Its own options define the sizes of its datagrams.
        Traffic::Tool(tool) if tool.tool == ToolName::Exec => u64::MAX,
        Traffic::Tool(tool) if tool.tool == ToolName::Tftp => {
            tool.block_size.map_or(0, |block| block.0.saturating_add(TFTP_HEADER_BYTES))
        }
        // QUIC sends no datagram that its path would fragment (RFC 9000 section 14).
        Traffic::Tool(tool) if tool.tool == ToolName::Http3 => 0,
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
    fn packets_that_a_translator_did_not_get_are_warned_of() {
        let counted = |dropped| Translated {
            ends: "left, client".into(),
            version: "TAYGA 0.9.2".into(),
            packets: 3,
            dropped,
        };
        let mut findings = Findings::default();
        findings.translation(&counted(0));
        assert!(findings.warnings.is_empty() && findings.checks[0].passed);
        findings.translation(&counted(1));
        assert_eq!(findings.warnings[0].code, "translation");
        assert!(findings.checks[1].found.contains("TAYGA 0.9.2 put back 3 packets, and 1 were dropped"));
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
