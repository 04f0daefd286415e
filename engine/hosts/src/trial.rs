//! Runs one trial, from the settings of its machines to its record.

use crate::disturbances::{disturbances, radio};
use crate::error::{Error, Result};
use crate::expectations;
use crate::inventory::InterfaceEntry;
use crate::line::Line;
use crate::mapping::Mapping;
use crate::message::{Counted, FromMachine, Observation, ToMachine};
use crate::wanted;
use nettrial_scenario::{
    Absence, Check, DisturbanceRecord, Flow, FlowRecord, HostRecord, IpVersion, Machine, NodeKind, Phases,
    Record, Scenario, nanoseconds,
};
use nettrial_session::{
    Agents, CpuTime, Direction, Findings, Offset, Plan, Reading, directions, drive, host_records, path_mtus,
    prepare,
};
use nettrial_traffic::{ClockOffset, Cookie, Side};
use std::collections::{BTreeMap, HashMap};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// The connections to the machines of a trial, by the names of their nodes.
type Lines<'a> = Vec<(&'a str, &'a Line)>;

/// Runs the scenario of `mapping` on its machines, each of which has a connection; `machines` has their descriptions.
pub fn run(
    scenario: &Scenario,
    mapping: &Mapping,
    lines: &BTreeMap<String, Line>,
    machines: &BTreeMap<String, Machine>,
) -> Result<Record> {
    let started = SystemTime::now().duration_since(UNIX_EPOCH)?;
    let mut phases = Phases::default();
    let mut moment = Instant::now();
    let mut lap = || nanoseconds(std::mem::replace(&mut moment, Instant::now()).elapsed());
    let line = |node: &str| -> Option<&Line> { lines.get(mapping.machine(node)?.0) };
    let names = scenario.nodes.iter().map(|node| node.name.as_str());
    let lines: Lines = names.filter_map(|node| Some((node, line(node)?))).collect();

    let mut agents = begin(mapping, &lines, machines)?;
    phases.network_ns = lap();

    let mut findings = Findings::default();
    let cookie = Cookie(rand::random());
    let round_trips = paths(mapping, &mut agents, cookie, &mut findings)?;
    let clocks = clocks(&lines)?;
    let plan = MachineFlows { mapping, machines, cookie, clocks: &clocks, round_trips: &round_trips };
    let ready = prepare(&mut agents, &mapping.directory, &plan, &mut findings)?;
    own_settings(mapping, machines, &mut findings);
    findings.checks.extend(sysctls(mapping, machines));
    let before = observe(mapping, &lines)?;
    phases.checks_ns = lap();

    let mut flows = drive(&mut agents, &ready, scenario.measurement.interval.0, &mut findings)?;
    phases.traffic_ns = lap();

    let after = observe(mapping, &lines)?;
    let later = self::clocks(&lines)?;
    let mut absent = Vec::new();
    for (flow, record) in scenario.workload.iter().zip(&mut flows) {
        absent.extend(bound_delays(flow, record, &clocks, &later));
    }
    for (node, line) in &lines {
        if let (Some(before), Some(after)) = (clocks.get(node), later.get(node)) {
            let object = format!("machine {}", line.name);
            findings.clock_offset(&object, Offset::between(*before, *after));
        }
    }
    let seconds = phases.traffic_ns as f64 / 1e9;
    disturbances(mapping, &before, &after, &flows, seconds, &mut findings);
    findings.tools(&mapping.directory, &flows);
    let observed: HashMap<&str, &Observation> = after.iter().map(|(node, seen)| (*node, seen)).collect();
    findings.warnings.extend(expectations::warnings(mapping, &flows, &observed));
    let (hosts, missing) = hosts(mapping, machines, [&before, &after], &flows, &mut findings);
    absent.extend(missing);
    let (disturbances, unknown) = surroundings(mapping, machines, [&before, &after]);
    absent.extend(unknown);
    drop(agents);
    ask_all(&lines, |_| ToMachine::End, |answer| matches!(answer, FromMachine::Ended).then_some(()))?;
    phases.tear_down_ns = lap();
    Ok(Record {
        started_unix_ns: nanoseconds(started),
        phases,
        flows,
        hosts,
        disturbances,
        checks: findings.checks,
        warnings: findings.warnings,
        absent,
        ..Record::blank("hosts")
    })
}

/// Sends every machine a question, and takes the answers once all of them are sent.
fn ask_all<'a, T>(
    lines: &Lines<'a>,
    question: impl Fn(&str) -> ToMachine,
    take: impl Fn(FromMachine) -> Option<T>,
) -> Result<Vec<(&'a str, T)>> {
    for (node, line) in lines {
        line.ask(&question(node))?;
    }
    let answer = |(node, line): &(&'a str, &Line)| -> Result<(&'a str, T)> {
        let taken = take(line.answer()?);
        Ok((node, taken.ok_or_else(|| Error::NotMapped(format!("{} sent an unexpected answer", line.name)))?))
    };
    lines.iter().map(answer).collect()
}

/// Puts the scenario's settings in force, and starts the agents of those hosts that have traffic.
fn begin(mapping: &Mapping, lines: &Lines, machines: &BTreeMap<String, Machine>) -> Result<Agents> {
    let has_traffic =
        |node: &str| mapping.scenario.workload.iter().any(|flow| flow.from == node || flow.to == node);
    let mut agents = Agents::default();
    for (node, line) in lines.iter().filter(|(node, _)| has_traffic(node)) {
        agents.start(node, |sink| Ok::<_, Error>(line.agent(sink)))?;
    }
    let begin = |node: &str| ToMachine::Begin {
        settings: on(mapping, machines, node)
            .map_or_else(Vec::new, |machine| wanted::had(wanted::of(mapping, node), machine)),
        agent: has_traffic(node),
    };
    ask_all(lines, begin, |answer| matches!(answer, FromMachine::Begun).then_some(()))?;
    Ok(agents)
}

/// Returns the description of the machine of `node`.
fn on<'a>(mapping: &Mapping, machines: &'a BTreeMap<String, Machine>, node: &str) -> Option<&'a Machine> {
    machines.get(mapping.machine(node)?.0)
}

/// Returns the sysctls that hosts have in addition to those of their stacks. Each machine read its own back when it had
/// set them, and the trial would have failed with another value.
fn sysctls(mapping: &Mapping, machines: &BTreeMap<String, Machine>) -> Vec<Check> {
    let nodes = mapping.scenario.nodes.iter();
    let set = nodes.filter(|node| on(mapping, machines, &node.name).is_some_and(Machine::is_linux));
    let check = |node: &str, name: &str, value: &str| Check {
        name: "sysctl".into(),
        object: format!("{node} {name}"),
        expected: value.to_owned(),
        found: value.to_owned(),
        passed: true,
    };
    set.flat_map(|node| node.sysctls.iter().map(|(name, value)| check(&node.name, name, value))).collect()
}

/// Warns of each host whose machine keeps the settings of its system, because nettrial sets none there.
fn own_settings(mapping: &Mapping, machines: &BTreeMap<String, Machine>, findings: &mut Findings) {
    for node in mapping.scenario.nodes.iter().filter(|node| node.kind == NodeKind::Host) {
        let Some(machine) = on(mapping, machines, &node.name).filter(|machine| !machine.is_linux()) else {
            continue;
        };
        findings.warn(
            "system_settings",
            &format!("machine {}", machine.name),
            format!(
                "{} keeps its own congestion control, TCP options, buffers and offloads, because nettrial \
                 can't set them there",
                machine.system
            ),
            "the study's stack is in force only on the other hosts",
        );
    }
}

/// The round-trip times between pairs of hosts, by the host that sends, the other one and the IP version.
type RoundTrips<'a> = HashMap<(&'a str, &'a str, IpVersion), Option<nettrial_scenario::Duration>>;

/// Returns the round-trip time of the idle path between two hosts that the study plans.
fn planned_round_trip(
    mapping: &Mapping,
    (near, far): (&str, &str),
    version: IpVersion,
) -> Option<nettrial_scenario::Duration> {
    let address = |host: &str| mapping.planned_address(host, version).ok();
    mapping.paths.round_trip((near, address(near)?), (far, address(far)?))
}

/// Verifies the path MTU of every pair of hosts with a flow, in both directions. Returns the longer of the planned
/// and the measured round-trip time of each.
fn paths<'a>(
    mapping: &Mapping<'a>,
    agents: &mut Agents,
    cookie: Cookie,
    findings: &mut Findings,
) -> Result<RoundTrips<'a>> {
    let mut round_trips = RoundTrips::new();
    let pairs = directions(mapping.scenario);
    let mut probed = Vec::new();
    for &(from, to, version) in &pairs {
        let (near, far) = (mapping.address(from, version)?, mapping.address(to, version)?);
        let planned = mapping.planned_address(to, version)?;
        let expected = mapping.paths.path_mtu(from, planned).unwrap_or(0);
        let round_trip = planned_round_trip(mapping, (from, to), version);
        probed.push(Direction {
            from: (from, near.into()),
            to: (to, far.into()),
            reached: far,
            expected,
            round_trip,
        });
    }
    let mtus = path_mtus(agents, &probed, cookie)?;
    for ((direction, mtu), (from, to, version)) in probed.iter().zip(mtus).zip(&pairs) {
        let consequence = match mtu.largest {
            0 => "UDP does not pass, so the path MTU is not known",
            _ => {
                "the trial does not measure the MTU that it is named after: set the MTU of every switch and \
                 router on the path"
            }
        };
        let object = format!("{from} to {to}, IPv{}", u8::from(*version));
        findings.path_mtu(&object, direction.expected, mtu, consequence);
        round_trips.insert((*from, *to, *version), direction.round_trip.max(mtu.round_trip));
    }
    Ok(round_trips)
}

/// Returns the lead of the clock of each node's machine over this machine's.
fn clocks<'a>(lines: &Lines<'a>) -> Result<HashMap<&'a str, Offset>> {
    // The machines are asked at the same time, because each takes some round trips.
    std::thread::scope(|scope| {
        let threads: Vec<_> =
            lines.iter().map(|(node, line)| (*node, scope.spawn(|| line.clock()))).collect();
        let mut clocks = HashMap::new();
        for (node, thread) in threads {
            let Ok(offset) = thread.join() else {
                return Err(Error::Thread("a thread that measures clocks panicked"));
            };
            clocks.insert(node, offset?.0);
        }
        Ok(clocks)
    })
}

/// Returns the lead of the clock of a flow's second host over its first host's.
fn lead(flow: &Flow, clocks: &HashMap<&str, Offset>) -> Option<ClockOffset> {
    let (from, to) = (clocks.get(flow.from.as_str())?, clocks.get(flow.to.as_str())?);
    Some(ClockOffset {
        ahead_ns: to.offset_ns.saturating_sub(from.offset_ns),
        error_ns: to.error_ns.saturating_add(from.error_ns).unsigned_abs(),
    })
}

/// The flows between the machines of a mapping.
struct MachineFlows<'a> {
    mapping: &'a Mapping<'a>,
    machines: &'a BTreeMap<String, Machine>,
    cookie: Cookie,
    clocks: &'a HashMap<&'a str, Offset>,
    round_trips: &'a RoundTrips<'a>,
}

impl Plan for MachineFlows<'_> {
    type Error = Error;

    fn side(&self, flow: &Flow, host: &str) -> Result<Side> {
        let Self { mapping, machines, cookie, clocks, round_trips } = *self;
        let stack =
            mapping.directory.stack(host).ok_or_else(|| Error::NotMapped(format!("{host} has no stack")))?;
        // Only on Linux the congestion control is chosen by name: without a name an agent uses its system's own.
        let chooses = on(mapping, machines, host).is_none_or(Machine::is_linux);
        Ok(Side {
            flow: flow.clone(),
            cookie,
            address: mapping.address(host, flow.ip)?.into(),
            congestion_control: if chooses { stack.congestion_control.clone() } else { String::new() },
            clock_offset: lead(flow, clocks),
            round_trip: round_trips.get(&(flow.from.as_str(), flow.to.as_str(), flow.ip)).copied().flatten(),
            virtual_time: false,
        })
    }

    fn expected_mss(&self, flow: &Flow) -> Result<Option<u64>> {
        let near = self.mapping.planned_address(&flow.from, flow.ip)?;
        let far = self.mapping.planned_address(&flow.to, flow.ip)?;
        Ok(self.mapping.paths.expected_mss(&self.mapping.directory, flow, near, far))
    }
}

fn observe<'a>(mapping: &Mapping, lines: &Lines<'a>) -> Result<Vec<(&'a str, Observation)>> {
    let question = |node: &str| ToMachine::Observe {
        interfaces: mapping.machine(node).map_or_else(Vec::new, |(_, machine)| {
            machine.interfaces.iter().map(|interface| interface.name.clone()).collect()
        }),
    };
    let answers = ask_all(lines, question, |answer| match answer {
        FromMachine::Observed(observation) => Some(observation),
        _ => None,
    })?;
    for (node, observation) in &answers {
        let entries = mapping.machine(node).map_or(&[][..], |(_, machine)| &machine.interfaces);
        let is_same = |(entry, counted): (&InterfaceEntry, &Counted)| entry.name == counted.name;
        let counted = &observation.interfaces;
        if !(entries.len() == counted.len() && entries.iter().zip(counted).all(is_same)) {
            return Err(Error::Answer(format!(
                "the machine of {node} reported other interfaces than it was entries for"
            )));
        }
    }
    Ok(answers)
}

/// Adds the drift of the clocks to the error of a flow's one-way delays, and removes the delays if the smallest
/// one is not above that error.
fn bound_delays(
    flow: &Flow,
    record: &mut FlowRecord,
    before: &HashMap<&str, Offset>,
    after: &HashMap<&str, Offset>,
) -> Option<Absence> {
    let delays = record.owd_us?;
    let (first, last) = (lead(flow, before)?, lead(flow, after)?);
    let offset = |lead: ClockOffset| Offset {
        offset_ns: lead.ahead_ns,
        error_ns: i64::try_from(lead.error_ns).unwrap_or(i64::MAX),
    };
    let drifted_us = Offset::drift_error_ns(offset(first), offset(last)) as f64 / 1e3;
    let error_us = record.owd_error_us.unwrap_or(first.error_ns as f64 / 1e3) + drifted_us;
    record.owd_error_us = Some(error_us);
    if delays.minimum > error_us {
        return None;
    }
    record.owd_us = None;
    record.owd_histogram = None;
    record.owd_error_us = None;
    Some(Absence {
        metric: "owd".into(),
        object: flow.name.clone(),
        reason: format!(
            "the smallest delay, {:.0} us, is not above the bound on the clocks' error, {error_us:.0} us",
            delays.minimum
        ),
    })
}

/// Returns the record of each host, and the reasons for absent figures. Verifies that the machines did nothing else.
fn hosts(
    mapping: &Mapping,
    machines: &BTreeMap<String, Machine>,
    [before, after]: [&[(&str, Observation)]; 2],
    flows: &[FlowRecord],
    findings: &mut Findings,
) -> (Vec<HostRecord>, Vec<Absence>) {
    let scenario = mapping.scenario;
    let shared = on_one_kernel(mapping, machines);
    if let [one, .., other] = shared.as_slice() {
        findings.warn(
            "same_machine",
            &format!("{one} and {other}"),
            "their machines run the same kernel".into(),
            "they share CPUs, and the network between them is inside that kernel",
        );
    }
    let readings = |host: &str| {
        let reading = |observed: &[(&str, Observation)]| -> Option<Reading> {
            observed.iter().find(|(name, _)| *name == host)?.1.surroundings.processors.clone()
        };
        reading(before).zip(reading(after))
    };
    let hosts = scenario.nodes.iter().filter(|node| node.kind == NodeKind::Host);
    for host in hosts.map(|node| node.name.as_str()).filter(|host| !shared.contains(host)) {
        let Some((before, after)) = readings(host) else { continue };
        findings.machine(host, &before, &after);
        findings.checks.extend(before.interrupt_percent(&after).map(|percent| Check {
            name: "interrupts".into(),
            object: format!("host {host}"),
            expected: "any".into(),
            found: format!("{percent:.1}% of the CPUs' time"),
            passed: true,
        }));
    }
    let (mut records, mut absent) = host_records(scenario, flows, |host| match readings(host) {
        _ if shared.contains(&host) => {
            Err("its machine runs the same kernel as the machine of another node".to_owned())
        }
        None => Err("its machine does not report how busy its CPUs are".to_owned()),
        Some((before, after)) => {
            let spent = before.until(&after);
            let all_ns = before.span_ns(&after).saturating_mul(spent.len() as u64);
            let busy_ns = spent.values().map(|spent| spent.busy_ns).fold(0, u64::saturating_add);
            Ok(CpuTime { busy_ns, busy_percent: busy_ns as f64 / all_ns.max(1) as f64 * 100.0 })
        }
    });
    for record in &mut records {
        record.system = on(mapping, machines, &record.name).map(|machine| machine.system.clone());
        let seen = |observed: &'_ [(&str, Observation)]| {
            observed.iter().find(|(name, _)| *name == record.name).map(|(_, seen)| seen.clone())
        };
        match seen(before).zip(seen(after)).map(|(before, after)| radio(&before, &after)) {
            Some(Ok(radio)) => record.radio = Some(radio),
            Some(Err(reason)) => {
                absent.push(Absence { metric: "radio".into(), object: record.name.clone(), reason });
            }
            None => {}
        }
    }
    (records, absent)
}

/// Returns the disturbances of each machine, and the reasons for absent ones.
fn surroundings(
    mapping: &Mapping,
    machines: &BTreeMap<String, Machine>,
    [before, after]: [&[(&str, Observation)]; 2],
) -> (Vec<DisturbanceRecord>, Vec<Absence>) {
    let shared = on_one_kernel(mapping, machines);
    let disturbances = before.iter().zip(after).filter_map(|((node, before), (_, after))| {
        let (name, _) = mapping.machine(node)?;
        Some(before.surroundings.disturbances(&after.surroundings, name, shared.contains(node)))
    });
    let (records, absent): (Vec<_>, Vec<_>) = disturbances.unzip();
    (records, absent.into_iter().flatten().collect())
}

/// Returns the nodes whose machines run the same kernel as the machine of another node.
fn on_one_kernel<'a>(mapping: &Mapping<'a>, machines: &BTreeMap<String, Machine>) -> Vec<&'a str> {
    let boot = |node: &str| Some(machines.get(mapping.machine(node)?.0)?.boot.as_str());
    let names = || mapping.scenario.nodes.iter().map(|node| node.name.as_str());
    let shares = |node: &&str| {
        names().any(|other| other != *node && boot(other).is_some() && boot(other) == boot(node))
    };
    names().filter(shares).collect()
}
