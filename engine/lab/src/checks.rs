//! What is verified around the traffic, and what follows for the figures.

use crate::agents::Agents;
use crate::network::{EndCounters, Network};
use crate::processors::Use;
use crate::wire::{TCP_HEADER_BYTES, segment_headers};
use anyhow::{Result, bail};
use nettrial_routing::{Paths, address_of};
use nettrial_scenario::{Check, Flow, IpVersion, QueueDrops, Scenario, Warning};
use nettrial_traffic::{Command, Cookie, PathMtu, Reply, Side};
use std::collections::HashSet;
use std::net::{IpAddr, SocketAddr};

/// Above this share of its time in use a processor, not the network, may set the pace.
const SATURATED_PERCENT: f64 = 95.0;
/// Above this share taken by the hypervisor, figures depend on the neighbours.
const STEAL_PERCENT: f64 = 2.0;
/// Other processes may use this share of one processor.
const BYSTANDER_PERCENT: f64 = 5.0;
/// The wall clock may drift this far from the monotonic clock over a trial.
const CLOCK_STEP_NS: i64 = 1_000_000;

/// Checks made, and warnings that follow.
#[derive(Default)]
pub struct Findings {
    /// Each thing verified.
    pub checks: Vec<Check>,
    /// What failed, with its consequence.
    pub warnings: Vec<Warning>,
}

impl Findings {
    /// Notes that `name` of `object` should be `expected` and is `found`; if not, warns with the
    /// `consequence`.
    fn compare(&mut self, name: &str, object: &str, expected: String, found: String, consequence: &str) {
        let passed = expected == found;
        if !passed {
            self.warn(name, object, format!("{name} should be {expected} and is {found}"), consequence);
        }
        self.checks.push(Check { name: name.into(), object: object.into(), expected, found, passed });
    }

    fn warn(&mut self, code: &str, object: &str, message: String, consequence: &str) {
        self.warnings.push(Warning {
            code: code.into(),
            object: object.into(),
            message,
            consequence: consequence.into(),
        });
    }

    /// Verifies the offloads of every interface.
    pub fn offloads(&mut self, network: &Network, scenario: &Scenario) -> Result<()> {
        let text = |on: bool| if on { "on" } else { "off" };
        for (node, interface, found) in network.offloads()? {
            let Some(wanted) = scenario.node(&node) else { continue };
            for (name, wanted, found) in [
                ("tso", wanted.offloads.tso, found.tso),
                ("gso", wanted.offloads.gso, found.gso),
                ("gro", wanted.offloads.gro, found.gro),
            ] {
                self.compare(
                    &format!("offload_{name}"),
                    &format!("{interface} of {node}"),
                    text(wanted).into(),
                    text(found).into(),
                    "packets on the link are not of the size that the MTU says",
                );
            }
        }
        Ok(())
    }

    /// Verifies the path MTU of every pair of hosts with a flow, in both directions.
    pub fn path_mtus(&mut self, agents: &mut Agents, scenario: &Scenario, cookie: Cookie) -> Result<()> {
        let paths = Paths::new(scenario);
        let mut seen = HashSet::new();
        for flow in &scenario.workload {
            for (from, to) in [(&flow.from, &flow.to), (&flow.to, &flow.from)] {
                if !seen.insert((from, to, flow.ip)) {
                    continue;
                }
                let (source, target) = (address(scenario, from, flow.ip)?, address(scenario, to, flow.ip)?);
                let expected = paths.path_mtu(from, target).unwrap_or(0);
                let found = probe(agents, (from, source), (to, target), cookie, expected)?;
                let found = match found {
                    PathMtu { largest: 0, .. } => "nothing passes".to_owned(),
                    PathMtu { largest, exceeded: true } => format!("above {largest} B"),
                    PathMtu { largest, exceeded: false } => format!("{largest} B"),
                };
                self.compare(
                    "path_mtu",
                    &format!("{from} to {to}, IPv{}", u8::from(flow.ip)),
                    format!("{expected} B"),
                    found,
                    "the trial does not measure the MTU it is named after",
                );
            }
        }
        Ok(())
    }

    /// Verifies a connection of `flow` as the kernel set it up.
    pub fn connection(
        &mut self,
        agents: &mut Agents,
        scenario: &Scenario,
        flow: &Flow,
        side: &Side,
        destination: SocketAddr,
    ) -> Result<()> {
        let command = Command::Inspect { side: side.clone(), destination };
        let Reply::Inspected(found) = agents.ask(&flow.from, command)? else {
            bail!("the agent of {} did not say how the connection was set up", flow.from);
        };
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
            expected_options(scenario, flow).join(", "),
            found.options.join(", "),
            "the two stacks do not work together as their settings say",
        );
        if let Some(expected) = expected_mss(scenario, flow, destination.ip()) {
            self.compare(
                "mss",
                &object,
                format!("{expected} B"),
                format!("{} B", found.mss_bytes),
                "segments are not of the size that the MTU implies",
            );
        }
        Ok(())
    }

    /// Warns of drops in queues that were not meant to overflow.
    pub fn drops(&mut self, scenario: &Scenario, ends: &[EndCounters]) {
        if scenario.measurement.queue_drops == QueueDrops::Allowed {
            return;
        }
        for end in ends.iter().filter(|end| end.counters.drops > 0) {
            self.warn(
                "queue_drops",
                &format!("{} of {}", end.interface, end.node),
                format!("its queue dropped {} frames", end.counters.drops),
                "the flow was slowed by loss that the study does not mean to have",
            );
        }
    }

    /// Warns of a processor that was in use all the time, or taken by the hypervisor.
    pub fn processor(&mut self, object: &str, spent: Use) {
        if spent.busy_percent > SATURATED_PERCENT {
            self.warn(
                "processor_saturated",
                object,
                format!("in use {:.0}% of the time", spent.busy_percent),
                "throughput and round-trip time may be the processor's and not the network's",
            );
        }
        if spent.steal_percent > STEAL_PERCENT {
            self.warn(
                "steal_time",
                object,
                format!("the hypervisor took {:.1}% of its time", spent.steal_percent),
                "other machines on the same hardware are in the figures",
            );
        }
    }

    /// Warns of other processes that used `percent` of one processor while traffic went.
    pub fn bystanders(&mut self, percent: f64) {
        if percent > BYSTANDER_PERCENT {
            self.warn(
                "other_work",
                "the machine",
                format!("other processes used {percent:.0}% of a processor"),
                "their work is in the processor time of the hosts, and may have slowed the traffic: run on a \
                 machine that does nothing else",
            );
        }
    }

    /// Verifies that the wall clock was not set while the traffic went: `drift_ns` is how far it moved
    /// against the monotonic clock.
    pub fn clock(&mut self, drift_ns: i64) {
        let passed = drift_ns.abs() <= CLOCK_STEP_NS;
        self.checks.push(Check {
            name: "clock".into(),
            object: "the machine".into(),
            expected: format!("within {} us", CLOCK_STEP_NS / 1000),
            found: format!("moved {} us", drift_ns / 1000),
            passed,
        });
        if !passed {
            self.warn(
                "clock_step",
                "the machine",
                format!("the wall clock moved by {} ms against the monotonic clock", drift_ns / 1_000_000),
                "the record's date may be wrong, and timers may have fired late or early",
            );
        }
    }
}

/// The TCP options that both hosts of `flow` offer.
fn expected_options(scenario: &Scenario, flow: &Flow) -> Vec<&'static str> {
    let (Some(from), Some(to)) = (scenario.stack(&flow.from), scenario.stack(&flow.to)) else {
        return Vec::new();
    };
    let options = [
        ("timestamps", from.timestamps && to.timestamps),
        ("sack", from.sack && to.sack),
        ("window_scaling", from.window_scaling && to.window_scaling),
    ];
    options.into_iter().filter(|(_, both)| *both).map(|(name, _)| name).collect()
}

/// The payload of a full segment that the path's MTU, the two stacks (RFC 9293 section 3.7.1) and the
/// flow's own limit imply. Options are taken off either (RFC 6691).
fn expected_mss(scenario: &Scenario, flow: &Flow, destination: IpAddr) -> Option<u64> {
    let mtu = Paths::new(scenario).path_mtu(&flow.from, destination)?;
    let headers = segment_headers(scenario, flow);
    let options = headers.checked_sub(flow.ip.header_bytes() + TCP_HEADER_BYTES)?;
    let implied = mtu.checked_sub(headers)?;
    Some(flow.socket.mss.map_or(implied, |limit| limit.0.saturating_sub(options).min(implied)))
}

/// The address that `host` uses for IP version `version`.
pub fn address(scenario: &Scenario, host: &str, version: IpVersion) -> Result<IpAddr> {
    match address_of(scenario, host, version) {
        Some(address) => Ok(address),
        None => bail!("{host} has no IPv{} address", u8::from(version)),
    }
}

fn probe(
    agents: &mut Agents,
    (from, source): (&str, IpAddr),
    (to, target): (&str, IpAddr),
    cookie: Cookie,
    expected: u64,
) -> Result<PathMtu> {
    let Reply::Listening { port } = agents.ask(to, Command::Respond { cookie, address: target })? else {
        bail!("the agent of {to} opened no port for path MTU probes");
    };
    let destination = SocketAddr::new(target, port);
    let command = Command::ProbePathMtu { cookie, address: source, destination, expected };
    match agents.ask(from, command)? {
        Reply::PathMtu(found) => Ok(found),
        other => bail!("the agent of {from} answered a path MTU probe with {other:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codes(findings: &Findings) -> Vec<&str> {
        findings.warnings.iter().map(|warning| warning.code.as_str()).collect()
    }

    #[test]
    fn a_difference_is_a_failed_check_and_a_warning_with_its_consequence() {
        let mut findings = Findings::default();
        findings.compare("mss", "flow a", "1428 B".into(), "1428 B".into(), "segments differ");
        assert!(findings.checks[0].passed && findings.warnings.is_empty());
        findings.compare("mss", "flow a", "1428 B".into(), "536 B".into(), "segments differ");
        assert!(!findings.checks[1].passed);
        assert_eq!(findings.warnings[0].message, "mss should be 1428 B and is 536 B");
        assert_eq!(findings.warnings[0].consequence, "segments differ");
    }

    #[test]
    fn a_processor_that_is_always_in_use_or_taken_away_is_warned_of() {
        let mut findings = Findings::default();
        findings.processor("processor 0", Use { busy_ns: 0, busy_percent: 94.0, steal_percent: 1.0 });
        assert!(findings.warnings.is_empty());
        findings.processor("processor 0", Use { busy_ns: 0, busy_percent: 99.0, steal_percent: 5.0 });
        assert_eq!(codes(&findings), ["processor_saturated", "steal_time"]);
    }

    #[test]
    fn other_work_on_the_machine_is_warned_of() {
        let mut findings = Findings::default();
        findings.bystanders(4.0);
        assert!(findings.warnings.is_empty());
        findings.bystanders(40.0);
        assert_eq!(codes(&findings), ["other_work"]);
        assert_eq!(findings.warnings[0].message, "other processes used 40% of a processor");
    }

    #[test]
    fn a_step_of_the_wall_clock_in_either_direction_is_warned_of() {
        let mut findings = Findings::default();
        findings.clock(900_000);
        assert!(findings.warnings.is_empty());
        findings.clock(-2_000_000);
        assert_eq!(codes(&findings), ["clock_step"]);
    }
}
