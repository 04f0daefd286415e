//! One measurement between the two machines, from new agents to its record.

use crate::client::{Client, Host};
use crate::error::{Error, Result};
use crate::interface;
use crate::mtu::{self, with_segments};
use nettrial_scenario::{
    Absence, Flow, FlowRecord, HostAddress, HostRecord, Measure, Phases, Record, Warning, nanoseconds,
};
use nettrial_session::{Direction, Findings, Offset, Pending, Planned, Ready, impossible, open, path_mtus};
use nettrial_traffic::{ClockOffset, Command, Cookie, Reply, Side};
use std::net::IpAddr;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The time that a flow may take beyond its own duration.
const GRACE: Duration = Duration::from_secs(60);
/// The time that a flow without a duration may take.
const UNTIMED: Duration = Duration::from_secs(3600);
/// The smallest MTU of a link (RFC 791, section 3.2).
const SMALLEST_MTU: u64 = 68;
/// The largest IP packet.
const LARGEST_PACKET: u64 = 65_535;

impl Client {
    /// Makes one measurement, which must have no problems, and returns its record.
    ///
    /// # Errors
    /// Fails if the session ends, or one of the two agents fails.
    pub fn run(&mut self, measure: &Measure) -> Result<Record> {
        run(self, measure)
    }
}

fn run(client: &mut Client, measure: &Measure) -> Result<Record> {
    let measure = &with_segments(measure);
    let started = SystemTime::now().duration_since(UNIX_EPOCH)?;
    let mut phases = Phases::default();
    let mut begin = Instant::now();
    let mut lap = || nanoseconds(std::mem::replace(&mut begin, Instant::now()).elapsed());

    let cookie = Cookie(rand::random());
    client.new_agents()?;
    let clock = client.clock_offset()?;
    // The control connection takes the same path.
    let round_trip = clock.map(|clock| nettrial_scenario::Duration(clock.round_trip_ns()));
    let mut findings = path(client, measure, cookie, round_trip)?;
    let flow = &measure.flow;
    let (from, to) = (Host::of(&flow.from), Host::of(&flow.to));
    let plan = |flow: &Flow| Planned {
        from: side(client, from, (measure, flow), cookie, clock),
        to: side(client, to, (measure, flow), cookie, clock),
        reached: reached(client, to),
    };
    let planned = measure.flows().iter().map(plan).collect();
    let ready = open(&mut client.agents, planned)?;
    let before = client.surroundings()?;
    phases.checks_ns = lap();

    let mut flows = carry(client, measure, ready, &mut findings)?;
    phases.traffic_ns = lap();

    let after = client.surroundings()?;
    let mut absent: Vec<Absence> =
        [Host::Client, Host::Server].iter().flat_map(|host| absences(*host)).collect();
    let mut disturbances = Vec::new();
    let shared = one_machine(client);
    // If both hosts are one machine, it is reported once.
    let hosts = [Host::Client, Host::Server].into_iter().take(if shared { 1 } else { 2 });
    for (host, (before, after)) in hosts.zip(before.iter().zip(&after)) {
        if let (Some(before), Some(after)) = (&before.processors, &after.processors) {
            findings.machine(host.name(), before, after);
        }
        let (disturbance, unknown) = before.disturbances(after, host.name(), shared);
        disturbances.push(disturbance);
        absent.extend(unknown);
    }
    if let Some((before, after)) = clock.zip(client.clock_offset()?) {
        // One-way delays are computed with the offset before the flow, so the drift of the clocks since then is an
        // error.
        let drifted_ns = Offset::drift_error_ns(before, after);
        for record in &mut flows {
            record.owd_error_us = record.owd_error_us.map(|error| error + drifted_ns as f64 / 1e3);
        }
        findings.clock_offset(Measure::SERVER, Offset::between(before, after));
    }
    findings.checks.extend(mtu::check(client, measure, &flows));
    findings.warnings.extend(losses(&flow.name, &flows));
    findings.warnings.extend(surroundings(client));
    phases.tear_down_ns = lap();
    Ok(Record {
        started_unix_ns: nanoseconds(started),
        phases,
        flows,
        hosts: [Host::Client, Host::Server].map(|host| HostRecord::blank(host.name())).into(),
        checks: findings.checks,
        warnings: findings.warnings,
        disturbances,
        absent,
        ..Record::blank("remote")
    })
}

/// Starts all streams at once and waits for the last to end. Warnings of their agents are added to `findings`.
fn carry(
    client: &mut Client,
    measure: &Measure,
    ready: Vec<Ready>,
    findings: &mut Findings,
) -> Result<Vec<FlowRecord>> {
    let time = measure.flow.traffic.duration().map_or(UNTIMED, nettrial_scenario::Duration::as_std);
    let begin = Instant::now();
    let deadline = begin + measure.flow.start.as_std() + time + GRACE;
    let start = |Ready { side, destination }| {
        let from = side.flow.from.clone();
        client.agents.order(&from, Command::Start { side, destination, sample_ns: measure.interval.0 })
    };
    let names: Vec<String> = ready.iter().map(|ready| ready.side.flow.name.clone()).collect();
    let pending = ready.into_iter().map(start).collect::<Result<Vec<Pending>, _>>()?;
    let mut flows = Vec::with_capacity(pending.len());
    for (name, pending) in names.iter().zip(&pending) {
        let left = deadline.saturating_duration_since(Instant::now());
        let Reply::Finished(record, cautions) = client.agents.collect(pending, Some(left))? else {
            return Err(Error::Answer("a flow ended without a record".into()));
        };
        let took = nanoseconds(begin.elapsed());
        if let Some(why) = impossible(name, &record, took) {
            return Err(Error::Implausible { flow: name.clone(), why });
        }
        flows.push(*record);
        findings.warnings.extend(cautions);
    }
    Ok(flows)
}

/// Returns the address at which the other host reaches `host`.
fn reached(client: &Client, host: Host) -> IpAddr {
    match host {
        Host::Client => client.here.ip(),
        Host::Server => client.server.ip(),
    }
}

/// Returns the flow as `host` sees it. The server's clock is ahead of the client's by `clock`.
fn side(
    client: &Client,
    host: Host,
    (measure, flow): (&Measure, &Flow),
    cookie: Cookie,
    clock: Option<Offset>,
) -> Side {
    let clock_offset = clock.map(|clock| ClockOffset {
        ahead_ns: if Host::of(&flow.to) == Host::Server { clock.offset_ns } else { -clock.offset_ns },
        error_ns: clock.error_ns.unsigned_abs(),
    });
    let (address, own_control) = match host {
        Host::Client => (client.here.into(), interface::congestion_control()),
        Host::Server => (client.welcome.address, client.welcome.congestion_control.clone()),
    };
    let round_trip = clock.map(|clock| nettrial_scenario::Duration(clock.round_trip_ns()));
    Side {
        flow: flow.clone(),
        cookie,
        address,
        congestion_control: measure.congestion_control.clone().unwrap_or(own_control),
        clock_offset,
        round_trip,
        virtual_time: false,
    }
}

/// Verifies the path MTU of each direction, which should be the MTU of the sender's interface.
fn path(
    client: &mut Client,
    measure: &Measure,
    cookie: Cookie,
    round_trip: Option<nettrial_scenario::Duration>,
) -> Result<Findings> {
    let (here, there) = (HostAddress::from(client.here), client.welcome.address);
    let own_mtu = interface::mtu(here);
    if let Some((_, findings)) = client.path.as_ref().filter(|(of_mtu, _)| *of_mtu == own_mtu) {
        return Ok(findings.clone());
    }
    // The server's segments are as small as this side asks for, and larger packets may arrive or not.
    let is_smaller_here = measure.mtu.is_some() && own_mtu < client.welcome.interface_mtu;
    let ways =
        [(Host::Client, Host::Server, own_mtu), (Host::Server, Host::Client, client.welcome.interface_mtu)];
    let ways = if is_smaller_here { &ways[..1] } else { &ways[..] };
    let own = |host| if host == Host::Client { here } else { there };
    let mut findings = Findings::default();
    let mut directions = Vec::new();
    for &(from, to, mtu) in ways {
        if let Some(mtu) = mtu.filter(|mtu| *mtu >= SMALLEST_MTU) {
            directions.push(Direction {
                from: (from.name(), own(from)),
                to: (to.name(), own(to)),
                reached: reached(client, to),
                expected: mtu.min(LARGEST_PACKET),
                round_trip,
            });
        } else {
            let message = format!("the MTU of the interface of {} is not known", from.name());
            let consequence = "whether the path carries as large packets was not looked at";
            findings.warn("path_mtu", &format!("{} to {}", from.name(), to.name()), message, consequence);
        }
    }
    let mtus = path_mtus(&mut client.agents, &directions, cookie)?;
    for (direction, mtu) in directions.iter().zip(mtus) {
        let object = format!("{} to {}", direction.from.0, direction.to.0);
        let consequence = match mtu.largest {
            0 => "the path's MTU, and whether UDP passes at all, is not known",
            _ => {
                "full packets of the interface are cut or lost on the way; goodput is that of the smaller MTU"
            }
        };
        findings.path_mtu(&object, direction.expected, mtu, consequence);
    }
    client.path = Some((own_mtu, findings.clone()));
    Ok(findings)
}

/// Warns of packets that the streams of the measurement called `name` lost.
fn losses(name: &str, streams: &[FlowRecord]) -> Option<Warning> {
    let packets = || streams.iter().filter_map(|stream| stream.packets);
    // The server counts what it sends, and sums of its counts may be too large.
    let lost = packets().map(|packets| packets.lost_pkts).fold(0, u64::saturating_add);
    let sent = packets().map(|packets| packets.sent_pkts).fold(0, u64::saturating_add);
    (lost > 0).then(|| Warning {
        code: "packets_lost".into(),
        object: format!("flow {name:?}"),
        message: format!("{lost} of {sent} packets were lost"),
        consequence:
            "the rate that arrived is not the one that was offered; delays are of those that arrived".into(),
    })
}

fn one_machine(client: &Client) -> bool {
    client.here.ip() == client.server.ip()
}

/// Returns warnings of circumstances under which the measurement is not of the network between two machines alone.
fn surroundings(client: &Client) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if one_machine(client) {
        warnings.push(Warning {
            code: "same_machine".into(),
            object: format!("{} and {}", Measure::CLIENT, Measure::SERVER),
            message: "both are this machine".into(),
            consequence: "no network is measured: segments of 64 KiB pass uncut, and both use the same CPUs"
                .into(),
        });
    }
    if client.welcome.others > 0 {
        warnings.push(Warning {
            code: "server_shared".into(),
            object: Measure::SERVER.into(),
            message: format!("it had {} other sessions when this one began", client.welcome.others),
            consequence: "their traffic may have taken its share".into(),
        });
    }
    warnings
}

fn absences(host: Host) -> [Absence; 2] {
    let reason = "the machine's CPUs also do other work, and none is set apart for the traffic";
    Absence::of_cpu_time(host.name(), reason)
}
