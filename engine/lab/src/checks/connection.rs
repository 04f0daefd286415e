//! Whether a connection is as the kernel should have set it up.

use super::Findings;
use crate::bundles::{TCP_HEADER_BYTES, segment_headers};
use crate::layout::Layout;
use nettrial_scenario::{Directory, Flow, FlowRecord};
use nettrial_traffic::{Connection, Side};
use std::net::{IpAddr, SocketAddr};

impl Findings {
    /// Verifies a connection of `flow` to `destination` as the kernel set it up.
    pub fn connection(&mut self, layout: &Layout, side: &Side, destination: SocketAddr, found: Connection) {
        let flow = &side.flow;
        let object = format!("flow {}", flow.name);
        self.compare(
            "congestion_control",
            &object,
            side.congestion_control.clone(),
            found.congestion_control,
            "the flow is not controlled as the stack says",
        );
        self.compare(
            "tcp_options",
            &object,
            expected_options(&layout.directory, flow).join(", "),
            found.options.join(", "),
            "the two stacks do not work together as their settings say",
        );
        if let Some(expected) = expected_mss(layout, flow, destination.ip()) {
            self.compare(
                "mss",
                &object,
                format!("{expected} B"),
                format!("{} B", found.mss_bytes),
                "segments are not of the size that the MTU implies",
            );
        }
    }

    /// Verifies the congestion control of the flows that other programs made, as far as it is known.
    pub fn tools(&mut self, layout: &Layout, flows: &[FlowRecord]) {
        for (flow, record) in layout.scenario.workload.iter().zip(flows) {
            let Some(stack) = layout.directory.stack(&flow.from) else { continue };
            if record.tool.is_some() && !record.congestion_control.is_empty() {
                self.compare(
                    "congestion_control",
                    &format!("flow {}", flow.name),
                    stack.congestion_control.clone(),
                    record.congestion_control.clone(),
                    "the flow is not controlled as the stack says: the program has no option for it, and \
                     the kernel gives this one to those that choose none",
                );
            }
        }
    }
}

/// The TCP options that both hosts of `flow` offer.
fn expected_options(directory: &Directory, flow: &Flow) -> Vec<&'static str> {
    let (Some(from), Some(to)) = (directory.stack(&flow.from), directory.stack(&flow.to)) else {
        return Vec::new();
    };
    let options = [
        ("timestamps", from.timestamps && to.timestamps),
        ("sack", from.sack && to.sack),
        ("window_scaling", from.window_scaling && to.window_scaling),
    ];
    options.into_iter().filter(|(_, both)| *both).map(|(name, _)| name).collect()
}

/// The payload of a full segment that the MTU the sender knows of, the one the receiver announces, the two
/// stacks (RFC 9293 section 3.7.1) and the flow's own limit imply, the options taken off either (RFC 6691);
/// `None` for MPTCP, whose options take up more or less of it.
fn expected_mss(layout: &Layout, flow: &Flow, destination: IpAddr) -> Option<u64> {
    let headers = segment_headers(&layout.directory, flow)?;
    let back = layout.paths.path(&flow.to, layout.address(&flow.from, flow.ip).ok()?)?;
    let mtu = layout.paths.known_mtu(&flow.from, destination)?.min(back.first()?.mtu.0);
    let options = headers.checked_sub(flow.ip.header_bytes() + TCP_HEADER_BYTES)?;
    let implied = mtu.checked_sub(headers)?;
    Some(flow.socket.mss.map_or(implied, |limit| limit.0.saturating_sub(options).min(implied)))
}
