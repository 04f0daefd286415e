//! The computation of a trial, in which flows start and end. Between two of these events all rates are constant.

use crate::checks::check_paths;
use crate::coupled::{Coupling, Group, equilibrium};
use crate::error::{Error, Result};
use crate::routes::FlowPaths;
use nettrial_flows::statistics::Durations;
use nettrial_routing::Paths;
use nettrial_scenario::{
    Absence, Directory, Flow, FlowRecord, HostRecord, NodeKind, Phases, Record, Scenario, Span,
    SubflowRecord, Traffic, Transfer, Transport, Warning,
};

/// The error of rates above which a record has a warning.
const WARNS_FROM: f64 = 0.01;

/// A flow during the trial.
struct Running<'a> {
    flow: &'a Flow,
    transfer: &'a Transfer,
    coupling: Coupling,
    control: &'a str,
    /// The number of connections that were opened.
    opened: u64,
    /// The time at which the open connection was opened; `None` before the flow's start and after its end.
    begun_ns: Option<u64>,
    /// The payload that the open connection has carried, in bits.
    carried: f64,
    /// The payload that each subflow of all connections has carried, in bits.
    of_subflows: Vec<f64>,
    /// The payload rate of each subflow in bits per second.
    rates: Vec<f64>,
    bytes: u64,
    active_ns: u64,
    /// The payload that the flow had carried when its duration ended, in bits.
    carried_in_time: f64,
    completion: Durations,
}

impl<'a> Running<'a> {
    /// Returns a flow before its start.
    fn new(flow: &'a Flow, directory: &Directory<'a>, subflows: usize) -> Result<Self> {
        let control = directory.stack(&flow.from).map_or("", |stack| stack.congestion_control.as_str());
        let (Traffic::Transfer(transfer), Some(coupling)) = (&flow.traffic, Coupling::of(control)) else {
            return Err(Error::Unsupported(flow.name.clone()));
        };
        Ok(Self {
            flow,
            transfer,
            coupling,
            control,
            opened: 0,
            begun_ns: None,
            carried: 0.0,
            of_subflows: vec![0.0; subflows],
            rates: vec![0.0; subflows],
            bytes: 0,
            active_ns: 0,
            carried_in_time: 0.0,
            completion: Durations::default(),
        })
    }

    /// Returns the bits that the open connection has yet to carry, if it has a size.
    fn left(&self) -> Option<f64> {
        self.transfer.size.map(|size| size.0 as f64 * 8.0 - self.carried)
    }

    /// Returns the time until which the flow opens connections, or, without a size, at which it ends.
    fn deadline_ns(&self) -> Option<u64> {
        self.transfer.duration.map(|duration| self.flow.start.0 + duration.0)
    }

    /// Returns the time of the flow's next event in nanoseconds; `None` after its end.
    fn next_ns(&self, now_ns: u64) -> Option<u64> {
        if self.begun_ns.is_none() {
            return (self.opened == 0).then_some(self.flow.start.0);
        }
        match self.left() {
            Some(left) => {
                let rate: f64 = self.rates.iter().sum();
                Some(now_ns + (left.max(0.0) * 1e9 / rate).ceil() as u64)
            }
            None => self.deadline_ns(),
        }
    }

    /// Carries payload at the current rates from `now_ns` to `until_ns`.
    fn carry(&mut self, now_ns: u64, until_ns: u64) {
        let in_time_ns = self.deadline_ns().unwrap_or(until_ns).clamp(now_ns, until_ns) - now_ns;
        self.carried_in_time += self.rates.iter().sum::<f64>() * in_time_ns as f64 / 1e9;
        let seconds = (until_ns - now_ns) as f64 / 1e9;
        for (carried, rate) in self.of_subflows.iter_mut().zip(&self.rates) {
            *carried += rate * seconds;
            self.carried += rate * seconds;
        }
    }

    /// Closes the open connection at its end, and opens the next one, if any.
    fn act(&mut self, now_ns: u64) {
        if let Some(begun_ns) = self.begun_ns {
            self.begun_ns = None;
            self.active_ns += now_ns - begun_ns;
            self.bytes += self.transfer.size.map_or((self.carried / 8.0) as u64, |size| size.0);
            if self.transfer.size.is_some() {
                self.completion.record(now_ns - begun_ns);
            }
            if self.transfer.size.is_none() || self.deadline_ns().is_none_or(|deadline| now_ns >= deadline) {
                return;
            }
        }
        self.opened += 1;
        self.carried = 0.0;
        self.begun_ns = Some(now_ns);
    }
}

/// Computes `scenario`, which has passed `check_parts`, over its paths.
///
/// # Errors
/// Fails if a flow has no path or no rate.
pub fn run(scenario: &Scenario, paths: &Paths<'_>) -> Result<Record> {
    let directory = Directory::new(scenario);
    let mut flow_paths = FlowPaths::new(scenario);
    let mut flows = Vec::with_capacity(scenario.workload.len());
    for (number, flow) in scenario.workload.iter().enumerate() {
        if flow_paths.add(paths, &directory, flow, number as u32).is_err() {
            let problem = check_paths(scenario, paths).into_iter().next();
            return Err(problem
                .map_or_else(|| Error::NoPath(flow.name.clone()), |one| Error::Scenario(Box::new(one))));
        }
        flows.push(Running::new(flow, &directory, flow_paths.of(number, 0).len())?);
    }
    let error = drive(&mut flows, &flow_paths);
    let first = flows.iter().map(|flow| flow.flow.start.0).min().unwrap_or(0);
    let last = flows.iter().map(|flow| flow.flow.start.0 + flow.active_ns).max().unwrap_or(first);
    let warning = (error > WARNS_FROM).then(|| {
        let message = format!(
            "the equilibrium of coupled connections was found to {:.1}% of a link's rate",
            error * 100.0
        );
        Warning::new("not_at_rest", "the network", message, "rates may be wrong by more than that")
    });
    let (hosts, absent) = hosts(scenario);
    Ok(Record {
        phases: Phases { traffic_ns: last - first, ..Phases::default() },
        flows: flows.iter().enumerate().map(|(number, flow)| record(flow, number, &flow_paths)).collect(),
        hosts,
        warnings: warning.into_iter().collect(),
        absent,
        ..Record::blank("fluid")
    })
}

/// Handles event after event until all flows have ended. Returns the largest error of the rates.
fn drive(flows: &mut [Running<'_>], flow_paths: &FlowPaths) -> f64 {
    let (mut now_ns, mut error) = (0, 0.0_f64);
    loop {
        let next: Vec<Option<u64>> = flows.iter().map(|flow| flow.next_ns(now_ns)).collect();
        let Some(at_ns) = next.iter().flatten().min().copied() else { return error };
        flows.iter_mut().filter(|flow| flow.begun_ns.is_some()).for_each(|flow| flow.carry(now_ns, at_ns));
        now_ns = at_ns;
        for (flow, _) in flows.iter_mut().zip(&next).filter(|(_, next)| **next == Some(at_ns)) {
            flow.act(now_ns);
        }
        error = error.max(share(flows, flow_paths));
    }
}

/// Sets the rates of all open connections, and returns their error.
fn share(flows: &mut [Running<'_>], flow_paths: &FlowPaths) -> f64 {
    let open = |flow: &Running<'_>| flow.begun_ns.is_some();
    let subflows =
        |(number, flow): (usize, &Running<'_>)| (flow_paths.of(number, flow.opened - 1), flow.coupling);
    let connections: Vec<_> = flows.iter().enumerate().filter(|(_, flow)| open(flow)).map(subflows).collect();
    let group = |(subflows, coupling): &(&[crate::routes::SubflowPath], Coupling)| Group {
        coupling: *coupling,
        paths: subflows.iter().map(|path| flow_paths.links(path)).collect(),
    };
    let groups: Vec<Group<'_>> = connections.iter().map(group).collect();
    let shares = equilibrium(flow_paths.capacities(), &groups);
    let mut rates = shares.rates.iter();
    for (flow, (subflows, _)) in flows.iter_mut().filter(|flow| open(flow)).zip(&connections) {
        for (own, path) in flow.rates.iter_mut().zip(*subflows) {
            let wire = rates.next().copied().unwrap_or(0.0);
            *own = wire * path.payload as f64 / path.wire as f64;
        }
    }
    shares.error
}

/// Returns the span of a flow: its duration, or the time of its one transfer.
fn span(running: &Running<'_>) -> Span {
    let began_ns = running.flow.start.0;
    let (length_ns, bytes) = match running.transfer.duration {
        Some(duration) => (duration.0, (running.carried_in_time / 8.0) as u64),
        None => (running.active_ns, running.bytes),
    };
    Span { began_ns, ended_ns: began_ns + length_ns, active_ns: length_ns, bytes }
}

/// Returns the record of a flow.
fn record(running: &Running<'_>, number: usize, flow_paths: &FlowPaths) -> FlowRecord {
    let subflows = flow_paths.of(number, running.opened.saturating_sub(1));
    let path = &subflows[0];
    let segments = running.bytes.div_ceil(path.payload);
    let span = span(running);
    let is_mptcp = running.flow.transport == Transport::Mptcp;
    let subflow = |(path, bits): (&crate::routes::SubflowPath, &f64)| SubflowRecord {
        local: path.sockets[0].to_string(),
        remote: path.sockets[1].to_string(),
        bytes: (bits / 8.0) as u64,
        srtt_us: None,
        min_rtt_us: None,
        cwnd_pkts: None,
        retransmissions_pkts: None,
        marks_pkts: None,
        congestion_control: running.control.to_owned(),
    };
    let records = subflows.iter().zip(&running.of_subflows).map(subflow);
    FlowRecord {
        congestion_control: running.control.to_owned(),
        mss_bytes: path.payload as u32,
        connections: running.opened as u32,
        bytes: running.bytes,
        active_ns: running.active_ns,
        ip_bytes: Some(running.bytes + segments * (path.ip - path.payload)),
        wire_bytes: Some(running.bytes + segments * (path.wire - path.payload)),
        span: Some(span),
        ended_ns: Some(running.flow.start.0 + running.active_ns),
        goodput_bps: span.goodput_bps(),
        completion_us: Some(running.completion.distribution_us()).filter(|summary| summary.count > 0),
        retransmissions_pkts: None,
        subflows: if is_mptcp { records.collect() } else { Vec::new() },
        ..FlowRecord::blank(running.flow)
    }
}

/// Returns the records of the hosts, and the reasons for absent figures.
fn hosts(scenario: &Scenario) -> (Vec<HostRecord>, Vec<Absence>) {
    let hosts = scenario.nodes.iter().filter(|node| node.kind == NodeKind::Host);
    let reason = "the fluid model has no packets that would cost a host anything";
    let absent = scenario.measurement.cpu.iter().flat_map(|host| Absence::of_cpu_time(host, reason));
    (hosts.map(|node| HostRecord::blank(&node.name)).collect(), absent.collect())
}
