//! Runs one trial, from building its network to its record.

use crate::awake::Awake;
use crate::bystanders::Census;
use crate::capture::Capturing;
use crate::checks::{self, Findings};
use crate::clock::Clock;
use crate::congestion::Own;
use crate::guests::Guests;
use crate::interfaces::{Observation, Observed};
use crate::layout::Layout;
use crate::namespace::Home;
use crate::network::Network;
use crate::openflow::Fabric;
use crate::outages::Outages;
use crate::processors::{self, Placement};
use crate::shaper_time::{self, Shares};
use crate::{affinity, agents, lateness, mptcp};
use anyhow::{Context, Result};
use nettrial_flows::recovery;
use nettrial_scenario::{
    Absence, Capture, Flow, FlowRecord, HostRecord, NodeKind, Phases, ProcessorRecord, Record, Scenario,
    Transport, nanoseconds,
};
use nettrial_session::{Agents, Planned, Reading, Ready, Use, drive};
use nettrial_traffic::{ClockOffset, Cookie, Side};
use nix::time::{ClockId, clock_gettime};
use socket2::Socket;
use std::collections::HashMap;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Runs `scenario`, which has passed the lab's check and uses the kernel's names of the congestion controls in
/// `own`.
pub fn run(
    home: &Home,
    scenario: &Scenario,
    own: &Own,
    capture: Option<&Capture>,
    pool: &mut Guests,
) -> Result<Record> {
    let started_unix_ns = nanoseconds(SystemTime::now().duration_since(UNIX_EPOCH)?);
    let mut phases = Phases::default();
    let mut begin = Instant::now();
    let mut lap = || nanoseconds(std::mem::replace(&mut begin, Instant::now()).elapsed());

    let layout = Layout::new(scenario);
    let mut guests = pool.take(&layout)?;
    let clock = home.clock;
    let placement = if clock == Clock::Virtual {
        Err("computing takes no time in virtual time: `--backend lab` measures it".to_owned())
    } else if guests.are_some() {
        Err(guests.without_cpu_time().to_owned())
    } else if scenario.measurement.cpu.is_empty() {
        Err("the study does not ask for it".to_owned())
    } else {
        Placement::plan(scenario, home)
    };
    match &placement {
        Ok(_) => tracing::debug!("each measured host has a CPU of its own"),
        Err(reason) => tracing::debug!(reason, "no host has a CPU of its own"),
    }
    tracing::info!(nodes = scenario.nodes.len(), links = scenario.links.len(), "building the network");
    let mut network = Network::build(home, &layout, placement.as_ref().ok())?;
    mptcp::prepare(home, &network, scenario)?;
    guests.begin(home, &mut network, scenario)?;
    phases.network_ns = lap();

    tracing::info!(took_ns = phases.network_ns, "checking what was built");
    let mut findings = Findings::default();
    let cookie = Cookie(rand::random());
    let mut agents = agents::start(home, &network, scenario, placement.as_ref().ok(), &mut guests)?;
    findings.offloads(home, &network, scenario, &guests)?;
    let of_guests = guests.records();
    for (node, (guest, release)) in &of_guests {
        findings.guest(node, guest, release.as_deref());
    }
    let prepared = findings
        .path_mtus(&mut agents, &layout, cookie)
        .and_then(|()| prepare(home, &network, &mut agents, &layout, cookie, &mut findings));
    let (ready, subflow_listeners) = prepared.map_err(|error| match looping(&mut network, scenario) {
        Some((object, said)) => error.context(format!("{object}: {said}")),
        None => error,
    })?;
    let (refused, counted) = (network.refused()?, network.host_counters(home, scenario)?);
    let observation = Observation::start(home, &mut network, scenario, placement.as_ref().ok())?;
    let start = |capture| Capturing::start(capture, home, &network, placement.as_ref().ok());
    let capturing = capture.map(start).transpose()?;
    capture.map_or(Ok(()), |capture| network.sniff(capture))?;
    phases.checks_ns = lap();

    tracing::info!(took_ns = phases.checks_ns, "starting the traffic");
    let part_of_trial: Vec<u32> = agents.processes().chain([std::process::id()]).collect();
    let bystanders = Census::take(&part_of_trial);
    let offset = clock_offset_ns()?;
    network.arm()?;
    let calls = own.callbacks()?;
    let timers = clock.measured(|| lateness::Watch::start().map(Some))?;
    let awake = Awake::begin();
    let shapers = shaper_time::Watch::of_hosts(scenario, placement.as_ref().ok());
    let idle = Reading::now()?;
    network.fabric().map(Fabric::begin);
    let outages = Outages::start(home, &network, scenario, &guests)?;
    let mut flows = drive(&mut agents, &ready, scenario.measurement.interval.0, &mut findings)?;
    let events = outages.map_or(Ok(Vec::new()), Outages::finish)?;
    let driven = network.finish_channels()?;
    let controlled = network.fabric().map(Fabric::finish).transpose()?;
    let frequencies = processors::frequencies_mhz();
    let busy = Reading::now()?;
    let shapers = shapers.map(|watch| watch.and_then(shaper_time::Watch::finish));
    drop(awake);
    let lateness = timers.map_or_else(|| Ok(HashMap::new()), lateness::Watch::finish)?;
    let congestion = own.since(&calls, scenario)?;
    findings.congestion(scenario, &congestion, &flows);
    findings.tools(&layout.directory, &flows);
    findings.bystanders(bystanders.percent_until(&Census::take(&part_of_trial)));
    findings.clock("the machine", clock_offset_ns()? - offset);
    phases.traffic_ns = lap();
    tracing::info!(took_ns = phases.traffic_ns, "all flows have ended");

    if let Some(capturing) = capturing {
        let of_channels: Vec<u64> = driven.iter().filter_map(|(_, _, driven)| driven.captured_pkts).collect();
        findings.warnings.push(capturing.finish(&of_channels)?);
    }
    let Observed { interfaces, absent: unobserved, sampled } = observation.finish(&mut network)?;
    findings.drops(scenario, &interfaces);
    if let Some(fabric) = network.fabric() {
        findings.looping(scenario, &interfaces, fabric.handled());
    }
    let failing: Vec<_> = scenario.events.iter().flat_map(|outage| outage.links(scenario)).collect();
    let failing: Vec<_> = failing.iter().flat_map(|&link| &scenario.links[link].interfaces).collect();
    findings.refused(&failing, &refused, &network.refused()?);
    findings.host_counters(&layout, &counted, &network.host_counters(home, scenario)?);
    for (link, carried) in network.carried()? {
        findings.delay_line(link, carried);
    }
    findings.frame_time(&layout, &flows);
    findings.late_timers(&layout, &flows, &lateness);
    for (link, _, driven) in &driven {
        findings.radio_channel(link, *driven);
    }
    if let Some(reason) = network.unheld() {
        findings.unheld(reason);
    }
    let use_of = match clock {
        Clock::Real => usage(&idle, &busy),
        Clock::Virtual => Vec::new(),
    };
    for (processor, spent) in &use_of {
        let placement = placement.as_ref().ok();
        let object = processor_object(scenario, placement, *processor);
        findings.processor(&object, *spent, polls(scenario, placement, *processor));
    }
    for interface in &sampled {
        let processor = placement.as_ref().ok().and_then(|placement| placement.of(&interface.node));
        let steal =
            use_of.iter().filter(|(number, _)| processor.is_none_or(|processor| *number == processor));
        let steal_percent = steal.map(|(_, spent)| spent.steal_percent).fold(0.0, f64::max);
        findings.saturated(interface, &lateness, steal_percent);
    }
    let record_of = |&(number, spent): &(usize, Use)| ProcessorRecord {
        number: u32::try_from(number).unwrap_or(u32::MAX),
        busy_percent: spent.busy_percent,
        stolen_percent: spent.steal_percent,
        frequency_mhz: frequencies.get(&number).copied(),
        timer_lateness_us: lateness.get(&number).copied(),
    };
    let processors = use_of.iter().map(record_of).collect();
    let (untold, unrecovered) = recovery::measure(scenario, &events, &mut flows);
    findings.warnings.extend(unrecovered);
    let (mut hosts, mut absent) =
        hosts(scenario, &placement, &use_of.into_iter().collect(), shapers.as_ref(), &flows);
    for host in &mut hosts {
        host.guest = of_guests.get(&host.name).map(|(guest, _)| guest.clone());
    }
    let (controller, unheard) =
        controlled.map_or_else(Default::default, |outcome| findings.controller(outcome));
    if let Some(reason) = network.fabric().and_then(|fabric| fabric.cramped()) {
        findings.cramped(reason);
    }
    absent.extend(unheard);
    absent.extend(unobserved);
    absent.extend(untold);
    absent.extend(untold_delays(&layout));
    drop(subflow_listeners);
    // The kernel removes namespaces one after the other, on a CPU that is free while the agents end.
    let mut apart = network.into_hosts(scenario);
    drop(agents);
    guests.finish(home, scenario, &mut apart, pool)?;
    drop(apart);
    phases.tear_down_ns = lap();
    tracing::info!(took_ns = phases.tear_down_ns, "the network is gone");

    let nettrial_session::Findings { checks, warnings } = findings.into_common();
    Ok(Record {
        started_unix_ns,
        phases,
        flows,
        hosts,
        processors,
        interfaces,
        channels: driven.into_iter().map(|(_, record, _)| record).collect(),
        events,
        controller,
        congestion,
        checks,
        warnings,
        absent,
        ..Record::blank(clock.backend())
    })
}

/// Returns the port of a switch that sends frames of a loop, if there is one, from the frames that it has sent
/// since its creation.
fn looping(network: &mut Network, scenario: &Scenario) -> Option<(String, String)> {
    let handled = network.fabric()?.handled();
    let counted = network.counters().ok()?;
    checks::looping(scenario, counted.iter().map(Into::into), handled)
}

/// Opens the receiver of every flow, and checks a connection of each. The sockets must be held during the traffic.
fn prepare(
    home: &Home,
    network: &Network,
    agents: &mut Agents,
    layout: &Layout,
    cookie: Cookie,
    findings: &mut Findings,
) -> Result<(Vec<Ready>, Vec<Socket>)> {
    let side = |flow: &Flow, host: &str| -> Result<Side> {
        let stack = layout.directory.stack(host).with_context(|| format!("{host} has no stack"))?;
        Ok(Side {
            flow: flow.clone(),
            cookie,
            address: layout.address(host, flow.ip)?.into(),
            congestion_control: stack.congestion_control.clone(),
            // A guest has its own clock.
            clock_offset: (!has_guest(layout, flow)).then_some(ClockOffset::ONE_CLOCK),
            round_trip: layout.paths.round_trip_of(flow),
        })
    };
    let planned =
        |flow: &Flow| -> Result<Planned> { Ok(Planned::new(side(flow, &flow.from)?, side(flow, &flow.to)?)) };
    let planned = layout.scenario.workload.iter().map(planned).collect::<Result<_>>()?;
    let ready = nettrial_session::open(agents, planned)?;
    for (number, found) in nettrial_session::inspect(agents, &ready)? {
        let Ready { side, destination } = &ready[number];
        let near = layout.address(&side.flow.from, side.flow.ip)?;
        let mss = layout.paths.expected_mss(&layout.directory, &side.flow, near, destination.ip());
        findings.connection(&layout.directory, side, mss, found);
    }
    let mut listeners = Vec::new();
    for Ready { side, destination } in &ready {
        let port = destination.port();
        listeners.extend(mptcp::accept_subflows(home, network, layout.scenario, &side.flow, port)?);
    }
    Ok((ready, listeners))
}

/// Returns true if an end of `flow` is a guest.
fn has_guest(layout: &Layout, flow: &Flow) -> bool {
    let is_guest = |host: &str| layout.directory.node(host).is_some_and(|node| node.system.is_some());
    is_guest(&flow.from) || is_guest(&flow.to)
}

/// Returns the one-way delays that are absent because an end of their flow is a guest.
fn untold_delays(layout: &Layout) -> Vec<Absence> {
    let flows = layout.scenario.workload.iter().filter(|flow| flow.transport == Transport::Udp);
    let absence = |flow: &Flow| Absence {
        metric: "owd".into(),
        object: flow.name.clone(),
        reason: "a guest has a clock of its own".into(),
    };
    flows.filter(|flow| has_guest(layout, flow)).map(absence).collect()
}

/// Returns the time of the wall clock minus that of the monotonic clock, in nanoseconds.
fn clock_offset_ns() -> Result<i64> {
    let read = |clock| -> Result<i64> {
        let time = clock_gettime(clock).context("reading a clock")?;
        Ok(time.tv_sec() * 1_000_000_000 + time.tv_nsec())
    };
    Ok(read(ClockId::CLOCK_REALTIME)? - read(ClockId::CLOCK_MONOTONIC)?)
}

/// Returns the use of each usable CPU during the traffic, by its number.
fn usage(before: &Reading, after: &Reading) -> Vec<(usize, Use)> {
    let all = before.until(after);
    let spent = |processor| Some((processor, *all.get(&processor)?));
    affinity::usable().into_iter().filter_map(spent).collect()
}

/// Returns a CPU in words: its number, and the nodes whose work is kept on it.
fn processor_object(scenario: &Scenario, placement: Option<&Placement>, processor: usize) -> String {
    let here = |name: &&str| placement.is_some_and(|placement| placement.of(name) == Some(processor));
    let nodes: Vec<&str> = scenario.nodes.iter().map(|node| node.name.as_str()).filter(here).collect();
    if nodes.is_empty() {
        format!("CPU {processor}")
    } else {
        format!("CPU {processor} ({})", nodes.join(", "))
    }
}

/// Returns true if a flow's reads poll on this CPU, as far as is known.
fn polls(scenario: &Scenario, placement: Option<&Placement>, processor: usize) -> bool {
    let here = |host: &str| placement.is_none_or(|placement| placement.of(host) == Some(processor));
    let polling = scenario.workload.iter().filter(|flow| flow.socket.busy_poll.is_some());
    polling.flat_map(|flow| [&flow.from, &flow.to]).any(|host| here(host))
}

fn hosts(
    scenario: &Scenario,
    placement: &Result<Placement, String>,
    use_of: &HashMap<usize, Use>,
    shapers: Option<&Shares>,
    flows: &[FlowRecord],
) -> (Vec<HostRecord>, Vec<Absence>) {
    let mut absent = Vec::new();
    let hosts = scenario.nodes.iter().filter(|node| node.kind == NodeKind::Host).map(|node| {
        let name = node.name.clone();
        let measured = scenario.measurement.cpu.contains(&name);
        if let (Err(reason), true) = (placement, measured) {
            absent.extend(Absence::of_cpu_time(&name, reason));
        }
        let placement = placement.as_ref().ok();
        let processor = placement.and_then(|placement| placement.of(&name));
        let spent = processor.filter(|_| measured).and_then(|processor| use_of.get(&processor).copied());
        let host = HostRecord {
            processor: processor.and_then(|processor| u32::try_from(processor).ok()),
            processor_shared_with: placement
                .map_or_else(Vec::new, |placement| placement.neighbours(scenario, &name)),
            ..HostRecord::blank(&name)
        };
        let Some(spent) = spent else { return host };
        let shapers =
            processor.zip(shapers).map(|(processor, shares)| shares.as_ref().map(|of| of[&processor]));
        if let Some(Err(reason)) = shapers {
            absent.push(Absence {
                metric: "cpu_shaper".into(),
                object: name.clone(),
                reason: format!("the shapers' time counts as the host's: {reason}"),
            });
        }
        let shaper_percent = shapers.and_then(Result::ok);
        let own = spent.without(shaper_percent.unwrap_or(0.0));
        let host = HostRecord { shaper_percent, ..host };
        host.with_cpu_time(own.busy_ns, own.busy_percent, scenario.payload_bytes(&name, flows))
    });
    (hosts.collect(), absent)
}
