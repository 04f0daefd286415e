//! Checks of an OpenFlow controller: whether it ended early, and whether its rules have a loop.

use super::Findings;
use crate::network::InterfaceCounters;
use crate::openflow::{Handled, Outcome};
use nettrial_scenario::{Absence, ControllerRecord, InterfaceRecord, Link, NodeKind, Scenario};

/// The metrics of a controller.
const METRICS: [&str; 8] = [
    "controller_connect",
    "controller_cpu",
    "controller_ready",
    "flow_setup",
    "link_discovery",
    "packet_ins",
    "rules_per_switch",
    "switches_cpu",
];
/// The object of its warnings and metrics.
const OBJECT: &str = "controller";
/// The number of frames by which a port or the controller may exceed the bound of a network without loops: frames
/// of link discovery, and frames between the readings of two counters.
const ALLOWED_PKTS: u64 = 1000;

/// The frames that an interface of a node has sent.
pub struct Sent<'a> {
    node: &'a str,
    interface: &'a str,
    frames_pkts: u64,
}

impl<'a> From<&'a InterfaceRecord> for Sent<'a> {
    fn from(record: &'a InterfaceRecord) -> Self {
        Self { node: &record.node, interface: &record.interface, frames_pkts: record.frames_pkts }
    }
}

impl<'a> From<&'a InterfaceCounters> for Sent<'a> {
    fn from(counted: &'a InterfaceCounters) -> Self {
        let frames_pkts = counted.counters.packets;
        Self { node: &counted.node, interface: &counted.interface, frames_pkts }
    }
}

/// Returns the port or the controller that moved more frames than a network without a loop would, and their
/// number, if there is one. If no frame reaches a switch twice, each port sends each frame of a host, and each
/// packet that the controller tells a switch to send, at most once; and each switch sends each frame of a host to
/// the controller at most once.
pub fn looping<'a>(
    scenario: &Scenario,
    sent: impl IntoIterator<Item = Sent<'a>>,
    by_controller: Handled,
) -> Option<(String, String)> {
    if scenario.controller.is_none()
        || scenario.links.iter().flat_map(Link::directions).any(|link| link.impairment.duplication > 0.0)
    {
        return None;
    }
    let is_switch = |name: &str| scenario.node(name).is_some_and(|node| node.kind == NodeKind::Switch);
    let (of_switches, of_others): (Vec<_>, Vec<_>) = sent.into_iter().partition(|sent| is_switch(sent.node));
    let hosts: u64 = of_others.iter().map(|sent| sent.frames_pkts).sum();
    let Sent { node, interface, frames_pkts } = of_switches.iter().max_by_key(|sent| sent.frames_pkts)?;
    let Handled { packet_ins, packet_outs } = by_controller;
    if *frames_pkts > hosts + packet_outs + ALLOWED_PKTS {
        let said = format!(
            "it sent {frames_pkts} frames, where all hosts together sent {hosts} and the controller {packet_outs}: \
             frames go round in a loop"
        );
        return Some((format!("{interface} of {node}"), said));
    }
    let switches = scenario.nodes.iter().filter(|node| node.kind == NodeKind::Switch).count() as u64;
    (packet_ins > switches * hosts + ALLOWED_PKTS).then(|| {
        let said = format!(
            "{switches} switches sent it {packet_ins} frames, where all hosts together sent {hosts}: frames go round \
             in a loop"
        );
        (OBJECT.to_owned(), said)
    })
}

/// The reason for the absence of figures that only nettrial's applications report.
const OWN: &str = "a controller that is not nettrial's does not tell it";

fn absence(metric: &str, reason: &str) -> Absence {
    Absence { metric: metric.into(), object: OBJECT.into(), reason: reason.into() }
}

impl Findings {
    /// Adds a warning if the controller ended during the traffic. Returns its record, or its metrics as absent.
    pub fn controller(&mut self, outcome: Outcome) -> (Option<ControllerRecord>, Vec<Absence>) {
        match outcome {
            Outcome::Recorded(record) => {
                if let Some(lost @ 1..) = record.lost_pkts {
                    self.warn(
                        "switch_overload",
                        "Open vSwitch",
                        format!("it was too slow to read {lost} frames"),
                        "the machine lost them, not the network: lower the rate, or spread the flows",
                    );
                }
                let figures = [
                    ("controller_cpu", record.cpu_ns.is_none(), "nettrial did not start the controller"),
                    ("controller_ready", record.ready_ns.is_none(), OWN),
                    ("flow_setup", record.ready_ns.is_none(), OWN),
                    ("link_discovery", record.discovery_ns.is_none(), OWN),
                ];
                let absent = figures.into_iter().filter(|(_, is_absent, _)| *is_absent);
                let absent = absent.map(|(metric, _, reason)| absence(metric, reason)).collect();
                (Some(*record), absent)
            }
            Outcome::Lost(last) => {
                self.warn(
                    "controller_lost",
                    OBJECT,
                    last,
                    "the switches kept the rules that they had: no new flow got any, and no link that failed was \
                     gone round",
                );
                let reason = "the controller ended while traffic went";
                (None, METRICS.map(|metric| absence(metric, reason)).to_vec())
            }
        }
    }

    /// Adds a warning if frames are in a loop.
    pub fn looping(&mut self, scenario: &Scenario, interfaces: &[InterfaceRecord], by_controller: Handled) {
        if let Some((object, said)) = looping(scenario, interfaces.iter().map(Sent::from), by_controller) {
            let hint = "a frame has no hop limit: the controller's rules must not lead it to a switch twice";
            self.warn("controller_loop", &object, said, hint);
        }
    }

    /// Adds a warning that Open vSwitch has little memory for frames.
    pub fn cramped(&mut self, reason: &str) {
        self.warn(
            "switch_buffers",
            "Open vSwitch",
            format!(
                "its sockets have the kernel's default buffers, of about 90 frames for all queues: {reason}"
            ),
            "where more frames are under way, there is more loss than the study asks for",
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn scenario(duplication: f64) -> Scenario {
        let end = |node: &str, interface: &str| json!({"node": node, "interface": interface, "mtu": "1500 B", "addresses": []});
        Scenario::try_from(json!({
            "format": 1,
            "nodes": [{"name": "s", "kind": "switch"}, {"name": "t", "kind": "switch"}],
            "links": [{"ends": [end("s", "t"), end("t", "s")], "impairment": {"duplication": duplication}}],
            "routing": nettrial_scenario::RoutingPolicy::ShortestPath {},
            "controller": {"application": "learning"},
            "workload": [],
            "measurement": {"interval": "100 ms", "queue_drops": "allowed"},
        }))
        .unwrap()
    }

    fn warning(scenario: &Scenario, port: u64, packet_ins: u64) -> Option<(String, String)> {
        let sent = [("a", "s", 300), ("b", "t", 200), ("s", "t", 7), ("t", "s", port)];
        let sent = sent.map(|(node, interface, frames_pkts)| Sent { node, interface, frames_pkts });
        looping(scenario, sent, Handled { packet_ins, packet_outs: 100 })
    }

    #[test]
    fn a_loop_is_what_moves_more_frames_than_were_made() {
        let plain = scenario(0.0);
        assert_eq!(warning(&plain, 1600, 2000), None);
        let (object, said) = warning(&plain, 1601, 0).unwrap();
        let expected = "it sent 1601 frames, where all hosts together sent 500 and the controller 100";
        assert!(object == "s of t" && said.starts_with(expected), "{object}: {said}");
        let (object, said) = warning(&plain, 0, 2001).unwrap();
        assert!(
            object == "controller" && said.starts_with("2 switches sent it 2001 frames"),
            "{object}: {said}"
        );
        assert_eq!(warning(&scenario(0.1), 10_000, 10_000), None);
    }
}
