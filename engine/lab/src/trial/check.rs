//! Checks a network that was built, makes its hosts ready for the traffic, and begins to watch it.

use super::build::Built;
use crate::agents;
use crate::capture::Capturing;
use crate::checks::{self, Findings};
use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::host_counters::HostCounters;
use crate::interfaces::Observation;
use crate::kernels::KernelRecord;
use crate::layout::Layout;
use crate::mptcp;
use crate::network::{Network, Refused};
use crate::programs;
use crate::settings;
use nettrial_routing::late_ps;
use nettrial_scenario::{Capture, Check, During, Flow, IpVersion, Scenario};
use nettrial_session::{Agents, Plan, Ready, prepare};
use nettrial_traffic::{ClockOffset, Cookie, Side};
use socket2::Socket;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

/// The hosts of a trial, ready for the traffic.
pub struct Endpoints {
    /// The agents of the hosts.
    pub agents: Agents,
    /// The flows.
    pub ready: Vec<Ready>,
    /// The sockets at which subflows of MPTCP arrive. They must be held during the traffic.
    pub subflow_listeners: Vec<Socket>,
}

impl Endpoints {
    /// Returns the agents, and closes the sockets.
    pub fn into_agents(self) -> Agents {
        let Self { agents, subflow_listeners, .. } = self;
        drop(subflow_listeners);
        agents
    }
}

/// The state of a trial before the traffic, and the observations that have begun.
pub struct Watched {
    /// The checks and warnings so far.
    pub findings: Findings,
    /// The kernels of the nodes that have one of their own, by these nodes.
    pub kernels: BTreeMap<String, KernelRecord>,
    /// The counters before the traffic.
    pub before: Counters,
    /// The observation of interfaces.
    pub observation: Observation,
    /// The capture, if one was requested.
    pub capturing: Option<Capturing>,
}

/// Counters of a network at some moment.
pub struct Counters {
    /// The frames that each interface sent and its far end could not accept.
    pub refused: Vec<Refused>,
    /// The counters of each node's kernel, by the node's name.
    pub kernels: Vec<(String, HostCounters)>,
}

impl Counters {
    /// Reads the counters.
    pub fn read(built: &mut Built) -> Result<Self> {
        let refused = built.network.refused()?;
        let kernels = built.network.host_counters(built.home, built.layout.scenario)?;
        Ok(Self { refused, kernels })
    }
}

/// Checks offloads, paths and connections, and starts to observe and to capture.
pub fn check(built: &mut Built, capture: Option<&Capture>) -> Result<(Endpoints, Watched)> {
    let (home, layout) = (built.home, built.layout);
    let mut findings = Findings::default();
    let placement = built.placement.as_ref().ok();
    let agents = agents::start(home, &built.network, layout, placement, &mut *built.kernels)?;
    findings.offloads(home, &built.network, layout.scenario, &mut *built.kernels)?;
    let kernels = kernels(built, &mut findings);
    sysctls(built, &mut findings)?;
    let ready = ready(built, agents, &kernels, &mut findings);
    let endpoints = ready.map_err(|error| match looping(&mut built.network, layout.scenario) {
        Some((object, said)) => error.during(format!("{object}: {said}")),
        None => error,
    })?;
    let before = Counters::read(built)?;
    let placement = built.placement.as_ref().ok();
    let observation = Observation::start(home, &mut built.network, layout.scenario, placement)?;
    let start = |capture| Capturing::start(capture, home, &built.network, placement);
    let capturing = capture.map(start).transpose()?;
    capture.map_or(Ok(()), |capture| built.network.sniff(capture))?;
    Ok((endpoints, Watched { findings, kernels, before, observation, capturing }))
}

/// Returns the record of each kernel that is not the network's. Verifies that each guest runs the kernel that it should,
/// and warns of machines on which nettrial sets no more than the MTU.
fn kernels(built: &mut Built, findings: &mut Findings) -> BTreeMap<String, KernelRecord> {
    let mut kernels = BTreeMap::new();
    for node in &built.layout.scenario.nodes {
        let Some(kernel) = built.kernels.of(&node.name) else { continue };
        let record = kernel.record();
        match &record {
            KernelRecord::Guest(guest, release) => findings.guest(&node.name, guest, release.as_deref()),
            KernelRecord::Machine(machine) if record.has_own_settings() => findings.system_settings(machine),
            KernelRecord::Machine(_) => {}
        }
        kernels.insert(node.name.clone(), record);
    }
    kernels
}

/// Verifies the sysctls that hosts have in addition to those of their stacks. A guest or a machine
/// has set its own, or has failed.
fn sysctls(built: &Built, findings: &mut Findings) -> Result<()> {
    for (node, own) in built.layout.scenario.nodes.iter().zip(built.network.nodes()) {
        if node.system.is_some() || node.machine.is_some() || node.sysctls.is_empty() {
            continue;
        }
        for (name, expected) in &node.sysctls {
            let value = built.home.visit(&own.namespace, || settings::value(name))?;
            findings.checks.push(Check {
                name: "sysctl".into(),
                object: format!("{} {name}", node.name),
                passed: value == *expected,
                expected: expected.clone(),
                found: value,
            });
        }
    }
    Ok(())
}

/// Verifies path MTUs, opens the receiver of every flow, and checks a connection of each.
fn ready(
    built: &Built,
    mut agents: Agents,
    kernels: &BTreeMap<String, KernelRecord>,
    findings: &mut Findings,
) -> Result<Endpoints> {
    let Built { home, layout, network, .. } = built;
    let cookie = Cookie(rand::random());
    findings.path_mtus(&mut agents, layout, cookie)?;
    let plan = LabFlows { clock: home.clock, layout, kernels, cookie };
    let mut ready = prepare(&mut agents, &layout.directory, &plan, findings)?;
    if home.clock == Clock::Virtual {
        start_apart(layout.scenario, &mut ready);
        std::thread::sleep(closing_time(&ready));
    }
    let mut subflow_listeners = Vec::new();
    for Ready { side, destination } in &ready {
        let port = destination.port();
        let listeners = mptcp::accept_subflows(home, network, layout, &side.flow, port)?;
        subflow_listeners.extend(listeners);
    }
    Ok(Endpoints { agents, ready, subflow_listeners })
}

/// Delays the start of each flow by its own part of a millisecond, as the simulator does: the virtual clock would start all
/// flows at the same instant, after which equal ones run in step.
fn start_apart(scenario: &Scenario, ready: &mut [Ready]) {
    for (number, Ready { side, .. }) in (0..).zip(ready) {
        side.flow.start.0 += late_ps(scenario, number) / 1000;
    }
}

/// Returns the time in which the connections that were inspected have closed: their last segments would be frames of
/// the traffic, and shift the fates of all later ones. It costs nothing on the virtual clock.
fn closing_time(ready: &[Ready]) -> Duration {
    let longest = ready.iter().filter_map(|ready| ready.side.round_trip).max();
    Duration::from_millis(10) + 3 * longest.map_or(Duration::ZERO, |longest| longest.as_std())
}

/// The flows between the hosts of a network of the lab.
struct LabFlows<'a> {
    clock: Clock,
    layout: &'a Layout<'a>,
    kernels: &'a BTreeMap<String, KernelRecord>,
    cookie: Cookie,
}

impl Plan for LabFlows<'_> {
    type Error = Error;

    fn side(&self, flow: &Flow, host: &str) -> Result<Side> {
        let Self { clock, layout, kernels, cookie } = *self;
        let stack =
            layout.directory.stack(host).ok_or_else(|| Error::Missing(format!("{host} has no stack")))?;
        let address = layout.own_address(host, flow.ip)?;
        Ok(Side {
            flow: Flow { ip: IpVersion::of(address), ..flow.clone() },
            cookie,
            address: address.into(),
            // Without a name, an agent uses its system's own.
            congestion_control: match kernels.get(host).is_some_and(KernelRecord::has_own_settings) {
                true => String::new(),
                false => stack.congestion_control.clone(),
            },
            clock_offset: (!layout.has_clocks(flow)).then_some(ClockOffset::ONE_CLOCK),
            round_trip: layout.paths.round_trip_of(flow),
            virtual_time: clock == Clock::Virtual,
        })
    }

    fn reached(&self, flow: &Flow, host: &str, _own: IpAddr) -> Result<IpAddr> {
        let other = if host == flow.from { &flow.to } else { &flow.from };
        self.layout.reached(other, host, flow.ip)
    }

    fn expected_mss(&self, flow: &Flow) -> Result<Option<u64>> {
        let Self { layout, .. } = *self;
        // Behind NAT64 a packet is smaller by as much as its header, so that its payload is that of the network's IPv6.
        let flow = &Flow { ip: layout.planned_version(flow), ..flow.clone() };
        let (near, far) = (layout.address(&flow.from, flow.ip)?, layout.address(&flow.to, flow.ip)?);
        let stacks = layout.directory.stack(&flow.from).zip(layout.directory.stack(&flow.to));
        let spare_bytes = stacks.map_or(0, |(from, to)| programs::spare_bytes(from, to));
        let expected = layout.paths.expected_mss(&layout.directory, flow, near, far);
        Ok(expected.map(|bytes| bytes.saturating_sub(spare_bytes)))
    }
}

/// Returns the port of a switch that sends frames of a loop, if there is one, from the frames that it has sent
/// since its creation.
fn looping(network: &mut Network, scenario: &Scenario) -> Option<(String, String)> {
    let handled = network.fabric()?.handled();
    let counted = network.counters(scenario).ok()?;
    checks::looping(scenario, counted.iter().map(Into::into), handled)
}
