//! The checks before and after the traffic, and the warnings with their consequences for the figures.

use crate::Network;
use crate::applications::hosts::Hosts;
use crate::trial::record::percent;
use nettrial_routing::Paths;
use nettrial_scenario::{
    ChannelRecord, Check, Directory, Flow, InterfaceRecord, QueueDrops, Scenario, Transport, Warning,
};
use std::collections::HashSet;

/// The utilisation above which a CPU counts as saturated, as in the lab.
const SATURATED_PERCENT: f64 = 95.0;

/// The checks that were made, and the resulting warnings.
#[derive(Default)]
pub struct Findings {
    /// The checks.
    pub checks: Vec<Check>,
    /// The warnings from failed checks, each with its consequence.
    pub warnings: Vec<Warning>,
}

impl Findings {
    fn compare(&mut self, name: &str, object: &str, expected: String, actual: String, consequence: &str) {
        let check = Check::of(name, object, expected, actual);
        self.warnings.extend(check.warning(consequence));
        self.checks.push(check);
    }

    fn warn(&mut self, code: &str, object: &str, message: String, consequence: &str) {
        self.warnings.push(Warning::new(code, object, message, consequence));
    }

    /// Verifies the path MTU of every pair of hosts with a flow, in both directions.
    pub fn paths(&mut self, scenario: &Scenario, routing: &Paths<'_>, hosts: &Hosts<'_>, network: &Network) {
        let mut seen = HashSet::new();
        for (flow, running) in scenario.workload.iter().zip(&hosts.flows) {
            let (near, far) = running.wiring.sockets[0][0];
            let paths = running.wiring.subflows[0][0].paths;
            for (from, to, address, path) in
                [(&flow.from, &flow.to, far.ip(), paths[0]), (&flow.to, &flow.from, near.ip(), paths[1])]
            {
                if seen.insert((from, to, flow.ip)) {
                    self.compare(
                        "path_mtu",
                        &format!("{from} to {to}, IPv{}", u8::from(flow.ip)),
                        format!("{} B", routing.path_mtu(from, address).unwrap_or(0)),
                        format!("{} B", network.path_mtu(path)),
                        "the trial does not measure the MTU it is named after",
                    );
                }
            }
        }
    }

    /// Verifies the connections of all flows.
    pub fn connections(&mut self, scenario: &Scenario, routing: &Paths<'_>, hosts: &Hosts<'_>) {
        let directory = Directory::new(scenario);
        for (flow, running) in scenario.workload.iter().zip(&hosts.flows) {
            let Some(stack) = directory.stack(&flow.from).filter(|_| running.figures.connections > 0) else {
                continue;
            };
            let object = format!("flow {}", flow.name);
            self.compare(
                "congestion_control",
                &object,
                stack.congestion_control.clone(),
                running.sampler.congestion_control.to_owned(),
                "the flow is not controlled as the stack says",
            );
            let expected = routing
                .subflow_pairs(flow)
                .first()
                .and_then(|(near, far)| routing.expected_mss(&directory, flow, *near, *far));
            if let Some(expected) = expected {
                self.compare(
                    "mss",
                    &object,
                    format!("{expected} B"),
                    format!("{} B", running.sampler.first_mss_bytes),
                    "segments are not of the size that the MTU implies",
                );
            }
        }
    }

    /// Warns of flows that ended before they were complete.
    pub fn unfinished(&mut self, hosts: &Hosts<'_>) {
        for running in &hosts.flows {
            if let Some(why) = &running.figures.failure {
                self.warn(
                    "unfinished",
                    &format!("flow {}", running.wiring.flow.name),
                    format!("it ended before it was done: {why}"),
                    "its figures are those of a part of it",
                );
            }
        }
    }

    /// Warns of hosts whose CPU was always busy; `busy` returns the CPU time of a node, to be compared with the
    /// `traffic` time, both in nanoseconds.
    pub fn processors(&mut self, scenario: &Scenario, busy: impl Fn(usize) -> Option<u64>, traffic_ns: u64) {
        for (number, node) in scenario.nodes.iter().enumerate() {
            let used = busy(number).map_or(0.0, |busy_ns| percent(busy_ns, traffic_ns));
            if used > SATURATED_PERCENT {
                self.warn(
                    "processor_saturated",
                    &node.name,
                    format!("its processor was busy for {used:.0}% of the traffic's time"),
                    "the flow was slowed by the host, not by the network",
                );
            }
        }
    }

    /// Warns of hosts with GRO at which no segments arrived together.
    pub fn coalescing(&mut self, scenario: &Scenario, network: &Network) {
        for (number, node) in scenario.nodes.iter().enumerate() {
            let receives = |flow: &Flow| flow.to == node.name && flow.transport != Transport::Udp;
            let is_idle = network.coalesced_by(number) == Some(0);
            if is_idle && scenario.workload.iter().any(receives) {
                self.warn(
                    "nothing_coalesced",
                    &node.name,
                    "gro is on, and no two segments arrived together".into(),
                    "gro changed nothing; a cost with `coalescing` has packets arrive together",
                );
            }
        }
    }

    /// Warns of drops at stations of radio channels whose queues were not supposed to overflow.
    pub fn radio_drops(&mut self, scenario: &Scenario, channels: &[ChannelRecord]) {
        if scenario.measurement.queue_drops == QueueDrops::Allowed {
            return;
        }
        let stations = channels.iter().flat_map(|channel| &channel.stations);
        for station in stations.filter(|station| station.queue_drops_pkts > 0) {
            self.warn(
                "queue_drops",
                &format!("{} of {}", station.interface, station.node),
                format!("its queue dropped {} packets", station.queue_drops_pkts),
                "the flow was slowed by loss that the study does not mean to have",
            );
        }
    }

    /// Warns of drops in queues that were not supposed to overflow.
    pub fn drops(&mut self, scenario: &Scenario, records: &[InterfaceRecord]) {
        self.warnings.extend(Warning::of_drops(scenario, records));
    }
}
