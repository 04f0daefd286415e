//! Whether a connection is as the kernel should have set it up.

use super::Findings;
use crate::layout::Layout;
use nettrial_scenario::{Directory, Flow, FlowRecord};
use nettrial_traffic::{Connection, Side};
use std::net::SocketAddr;

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
        let near = layout.address(&flow.from, flow.ip).ok();
        let expected =
            near.and_then(|near| layout.paths.expected_mss(&layout.directory, flow, near, destination.ip()));
        if let Some(expected) = expected {
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
