//! The execution of a trial, from its network to its record.

pub mod checks;
pub mod environment;
pub mod estimates;
mod findings;
mod queue_series;
mod record;
pub mod supported;

use crate::applications::hosts::Hosts;
use crate::capture::Captures;
use crate::error::Result;
use crate::packets::trace::Trace;
use crate::parallel::{Divided, Span, State};
use crate::transport::wiring::wire;
use crate::{Io, Network, Time, World};
use findings::Findings;
use nettrial_flows::recovery;
use nettrial_routing::Paths;
use nettrial_scenario::{Capture, OutageRecord, Phases, Record, Scenario};
use queue_series::Queues;

/// The time without a sent packet after which a trial counts as stalled: 2 hours, longer than TCP keeps trying
/// (tcp_retries2).
pub const STANDSTILL: Time = Time::from_ms(2 * 3600 * 1000);

/// Runs `scenario`, which has passed the simulator's checks, over its paths, in at most that many threads.
///
/// # Errors
/// Fails if one of its flows can't be set up.
pub fn run(
    scenario: &Scenario,
    routing: &Paths<'_>,
    capture: Option<&Capture>,
    threads: usize,
) -> Result<Record> {
    let mut network = Network::new(scenario);
    let wirings = wire(scenario, routing, &mut network)?;
    let captures = capture
        .map(|capture| Captures::new(capture, scenario, routing.interfaces(), &wirings))
        .transpose()?;
    let span = Span::new(scenario, &network, &wirings, if captures.is_some() { 1 } else { threads });
    let first = wirings.iter().map(|wiring| wiring.start).min().unwrap_or_default();
    let mut queues = Queues::new(scenario, &network);
    let hosts = Hosts::new(wirings, Time::from_ns(scenario.measurement.interval.0))?;
    let mut world = World::new(network, hosts);
    world.engine.capture(captures);
    world
        .engine
        .trace(Trace::of(scenario.workload.iter().map(|flow| flow.traffic.has_mechanisms()).collect()));
    world.act(|hosts, engine| hosts.begin(engine));
    if let Some(span) = span {
        match drive_parts(world, &mut queues, &span) {
            Some(whole) => world = whole,
            None => return run(scenario, routing, capture, 1),
        }
    }
    drive(&mut world, &mut queues);

    let World { mut engine, endpoints: mut hosts, .. } = world;
    engine.captured()?;
    let ended = engine.now();
    let last = hosts.flows.iter().filter_map(|flow| flow.figures.over).max().unwrap_or(first);
    let interfaces = queues.records(scenario, routing.interfaces(), engine.network(), last);
    let mut findings = Findings::default();
    findings.paths(scenario, routing, &hosts, engine.network());
    hosts.count_spans();
    let mut flows: Vec<_> = hosts.flows.iter_mut().map(record::flow).collect();
    let events = happened(scenario, last.as_ns());
    let (untold, unrecovered) = recovery::measure(scenario, &events, &mut flows);
    findings.warnings.extend(unrecovered);
    findings.connections(scenario, routing, &hosts);
    findings.unfinished(&hosts);
    findings.drops(scenario, &interfaces);
    let traffic_ns = last.since(first).as_ns();
    let network = engine.network();
    // No work is done before the first flow starts.
    let busy = |node: usize| network.busy(node, last).map(Time::as_ns);
    let (host_records, mut absent) = record::hosts(scenario, &flows, busy, traffic_ns);
    absent.extend(untold);
    for (running, flow) in hosts.flows.iter().zip(&mut flows) {
        let (mechanisms, missing) = record::mechanisms(scenario, running, network);
        flow.mechanisms = mechanisms;
        absent.extend(missing);
    }
    findings.processors(scenario, busy, traffic_ns);
    findings.coalescing(scenario, network);
    let channels = network.air.records(routing.interfaces(), ended);
    findings.radio_drops(scenario, &channels);
    Ok(Record {
        phases: Phases { traffic_ns, ..Phases::default() },
        flows,
        hosts: host_records,
        interfaces,
        channels,
        events,
        checks: findings.checks,
        warnings: findings.warnings,
        absent,
        ..Record::blank("sim")
    })
}

/// Returns the events that happened until `ended_ns`.
fn happened(scenario: &Scenario, ended_ns: u64) -> Vec<OutageRecord> {
    let until = scenario.events.iter().filter(|outage| outage.at.0 <= ended_ns);
    let record = |outage: &nettrial_scenario::Outage| OutageRecord {
        fails: outage.fails.clone(),
        at_ns: outage.at.0,
        returned_ns: outage.returns.map(|returns| returns.0).filter(|returns| *returns <= ended_ns),
    };
    until.map(record).collect()
}

/// Runs the simulation until all flows are over or nothing moves any more, and samples its queues meanwhile.
fn drive(world: &mut World<Hosts<'_>>, queues: &mut Queues) {
    let mut still_at = STANDSTILL;
    let mut sent = 0;
    loop {
        let next = queues.next.min(still_at);
        world.run(next);
        if world.endpoints.is_done() {
            return;
        }
        if next == queues.next {
            queues.sample(next, |direction| world.engine.network().link(direction).sample(next));
        }
        if next == still_at {
            let before = std::mem::replace(&mut sent, world.engine.balance().sent_pkts);
            if before == sent {
                return world.endpoints.give_up(next);
            }
            still_at += STANDSTILL;
        }
    }
}

/// Runs the simulation in several threads until the last flow may end, and samples its queues meanwhile. Returns `None`
/// if it has to be repeated in one thread.
fn drive_parts<'a>(
    mut world: World<Hosts<'a>>,
    queues: &mut Queues,
    span: &Span,
) -> Option<World<Hosts<'a>>> {
    while queues.next < span.begin {
        let next = queues.next;
        world.run(next);
        queues.sample(next, |direction| world.engine.network().link(direction).sample(next));
    }
    world.run(span.begin);
    if !world.endpoints.is_divisible() {
        return Some(world);
    }
    let (from_ns, window_ns) = (span.begin.as_ns(), span.lookahead.as_ns());
    tracing::info!(parts = span.count, from_ns, window_ns, "dividing the network");
    let mut divided = Divided::new(world, span);
    loop {
        let next = queues.next.min(STANDSTILL);
        match divided.run(next) {
            State::Dependent => {
                tracing::info!("beginning again in one thread");
                return None;
            }
            State::Reached if next < STANDSTILL => {
                queues.sample(next, |direction| divided.link(direction).sample(next));
            }
            State::Reached | State::Ending => break,
        }
    }
    tracing::info!(at_ns = divided.reached().as_ns(), "one thread goes on");
    Some(divided.join())
}
