//! One measurement between the two machines, from fresh agents to its record.

use crate::client::{Client, Host};
use crate::interface;
use anyhow::{Context, Result, bail};
use nettrial_scenario::{
    Absence, Check, FORMAT, Flow, FlowRecord, HostRecord, Measure, Phases, Record, Warning,
};
use nettrial_session::{Direction, Findings, Offset, Reading, path_mtus};
use nettrial_traffic::{ClockOffset, Command, Cookie, Reply, Side};
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The time that an agent may take for what is no flow.
const QUICK: Duration = Duration::from_secs(60);
/// The time for which a flow may go on beyond its own time.
const GRACE: Duration = Duration::from_secs(60);
/// The time that a flow may take that says only how many bytes it has.
const UNTIMED: Duration = Duration::from_secs(3600);
/// The largest IP packet.
const LARGEST_PACKET: u64 = 65_535;

impl Client {
    /// Makes one measurement, in which there is no problem, and returns its record.
    ///
    /// # Errors
    /// Fails if the session ends, or one of the two agents fails.
    pub fn run(&mut self, measure: &Measure) -> Result<Record> {
        run(self, measure)
    }
}

fn run(client: &mut Client, measure: &Measure) -> Result<Record> {
    let started = SystemTime::now().duration_since(UNIX_EPOCH).context("the clock is before 1970")?;
    let mut phases = Phases::default();
    let mut begin = Instant::now();
    let mut lap = || nanoseconds(std::mem::replace(&mut begin, Instant::now()).elapsed());

    let cookie = Cookie(rand::random());
    client.new_agents()?;
    let mut findings = path(client, cookie)?;
    let clock = client.clock_offset()?;
    let flow = &measure.flow;
    let (from, to) = (Host::of(&flow.from), Host::of(&flow.to));
    let Reply::Listening { port } =
        client.agents.ask(to.name(), Command::Listen(side(client, to, flow, cookie, clock)), QUICK)?
    else {
        bail!("the agent of {} opened no port", to.name());
    };
    let destination = SocketAddr::new(reached(client, to), port);
    let sender = side(client, from, flow, cookie, clock);
    let before = (Reading::now().ok(), client.reading()?);
    phases.checks_ns = lap();

    let start = Command::Start { side: sender, destination, sample_ns: measure.interval.0 };
    let time = flow.traffic.duration().map_or(UNTIMED, nettrial_scenario::Duration::as_std);
    let Reply::Finished(mut record, cautions) =
        client.agents.ask(from.name(), start, flow.start.as_std() + time + GRACE)?
    else {
        bail!("the flow ended without a record");
    };
    phases.traffic_ns = lap();

    let after = (Reading::now().ok(), client.reading()?);
    let readings = [(Host::Client, before.0, after.0), (Host::Server, before.1, after.1)];
    // Where both are one machine, its CPUs are told of once.
    for (host, before, after) in readings.into_iter().take(if one_machine(client) { 1 } else { 2 }) {
        if let (Some(before), Some(after)) = (before, after) {
            findings.machine(host.name(), &before, &after);
        }
    }
    if let Some((before, after)) = clock.zip(client.clock_offset()?) {
        // One-way delays are by the offset before the flow: what the clocks drifted apart since is error.
        let drifted_ns = Offset::drift_error_ns(before, after);
        record.owd_error_us = record.owd_error_us.map(|error| error + drifted_ns as f64 / 1e3);
        findings.checks.push(clock_check(Offset::between(before, after)));
    }
    findings.warnings.extend(cautions);
    findings.warnings.extend(losses(&record));
    findings.warnings.extend(surroundings(client));
    phases.tear_down_ns = lap();
    Ok(Record {
        format: FORMAT,
        backend: "remote".into(),
        engine_version: env!("CARGO_PKG_VERSION").into(),
        started_unix_ns: nanoseconds(started),
        phases,
        flows: vec![*record],
        hosts: [Host::Client, Host::Server].map(host_record).into(),
        processors: Vec::new(),
        interfaces: Vec::new(),
        channels: Vec::new(),
        congestion: Vec::new(),
        checks: findings.checks,
        warnings: findings.warnings,
        absent: [Host::Client, Host::Server].iter().flat_map(|host| absences(*host)).collect(),
    })
}

/// The address under which `host` is reached from the other one.
fn reached(client: &Client, host: Host) -> IpAddr {
    match host {
        Host::Client => client.here.ip(),
        Host::Server => client.server.ip(),
    }
}

/// The flow as `host` sees it. The server's clock is ahead of the client's by `clock`.
fn side(client: &Client, host: Host, flow: &Flow, cookie: Cookie, clock: Option<Offset>) -> Side {
    let clock_offset = clock.map(|clock| ClockOffset {
        ahead_ns: if Host::of(&flow.to) == Host::Server { clock.offset_ns } else { -clock.offset_ns },
        error_ns: clock.error_ns.unsigned_abs(),
    });
    let (address, congestion_control) = match host {
        Host::Client => (client.here.ip(), interface::congestion_control()),
        Host::Server => (client.welcome.address, client.welcome.congestion_control.clone()),
    };
    Side { flow: flow.clone(), cookie, address, congestion_control, clock_offset }
}

/// Verifies the path MTU of each direction, which should be what the sender's interface lets out.
fn path(client: &mut Client, cookie: Cookie) -> Result<Findings> {
    if let Some(found) = &client.path {
        return Ok(found.clone());
    }
    let (here, there) = (client.here.ip(), client.welcome.address);
    let own = |host| if host == Host::Client { here } else { there };
    let mut findings = Findings::default();
    let mut directions = Vec::new();
    for (from, to, mtu) in [
        (Host::Client, Host::Server, interface::mtu(here)),
        (Host::Server, Host::Client, client.welcome.interface_mtu),
    ] {
        if let Some(mtu) = mtu {
            directions.push(Direction {
                from: (from.name(), own(from)),
                to: (to.name(), own(to)),
                reached: reached(client, to),
                expected: mtu.min(LARGEST_PACKET),
            });
        } else {
            let message = format!("the MTU of the interface of {} is not known", from.name());
            let consequence = "whether the path carries as large packets was not looked at";
            findings.warn("path_mtu", &format!("{} to {}", from.name(), to.name()), message, consequence);
        }
    }
    let found = path_mtus(&mut client.agents, &directions, cookie)?;
    for (direction, found) in directions.iter().zip(found) {
        let object = format!("{} to {}", direction.from.0, direction.to.0);
        let consequence = match found.largest {
            0 => "the path's MTU, and whether UDP passes at all, is not known",
            _ => {
                "full packets of the interface are cut or lost on the way; goodput is that of the smaller MTU"
            }
        };
        findings.path_mtu(&object, direction.expected, found, consequence);
    }
    client.path = Some(findings.clone());
    Ok(findings)
}

fn clock_check(offset: Offset) -> Check {
    let milliseconds = |ns: i64| ns as f64 / 1e6;
    let (ahead, error) = (milliseconds(offset.offset_ns), milliseconds(offset.error_ns));
    Check {
        name: "clock_offset".into(),
        object: Measure::SERVER.into(),
        expected: "any".into(),
        found: format!("{ahead:+.3} ms ± {error:.3} ms"),
        passed: true,
    }
}

fn losses(flow: &FlowRecord) -> Option<Warning> {
    let packets = flow.packets.filter(|packets| packets.lost_pkts > 0)?;
    Some(Warning {
        code: "packets_lost".into(),
        object: format!("flow {:?}", flow.name),
        message: format!("{} of {} packets were lost", packets.lost_pkts, packets.sent_pkts),
        consequence:
            "the rate that arrived is not the one that was offered; delays are of those that arrived".into(),
    })
}

fn one_machine(client: &Client) -> bool {
    client.here.ip() == client.server.ip()
}

/// Returns warnings of what makes this more, or less, than the two machines' network.
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

fn host_record(host: Host) -> HostRecord {
    HostRecord {
        name: host.name().into(),
        processor: None,
        processor_shared_with: Vec::new(),
        cpu_percent: None,
        cpu_busy_ns: None,
        service_demand_us_per_kb: None,
    }
}

fn absences(host: Host) -> [Absence; 2] {
    ["cpu", "service_demand"].map(|metric| Absence {
        metric: metric.into(),
        object: host.name().into(),
        reason: "the machine's CPUs also do other work, and none is set apart for the traffic".into(),
    })
}

fn nanoseconds(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}
