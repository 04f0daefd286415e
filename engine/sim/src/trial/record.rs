//! The records of flows and hosts.

use crate::applications::hosts::Running;
use crate::applications::sampler::{Sampler, microseconds};
use crate::{Network, Time};
use nettrial_flows::statistics::Durations;
use nettrial_scenario::{
    Absence, Directory, Distribution, FlowRecord, HostRecord, MechanismsRecord, Node, NodeKind, Scenario,
    SubflowRecord, Traffic, Transport,
};

/// Returns the record of a flow that has ended. Connections that are still open are included in their current
/// state.
pub fn flow(running: &mut Running<'_>) -> FlowRecord {
    let flow = running.wiring.flow;
    let (figures, sampler) = (&running.figures, &mut running.sampler);
    let is_mptcp = flow.transport == Transport::Mptcp;
    for interval in &mut sampler.intervals {
        // Subflows that did not exist yet had carried nothing.
        interval.subflow_bytes.resize(if is_mptcp { sampler.columns.len() } else { 0 }, 0);
    }
    let mut weight = figures.weight;
    weight += sampler.weight;
    let known = |bytes: u64| (bytes > 0).then_some(bytes);
    let seconds = figures.active_ns as f64 / 1e9;
    let has_goodput = matches!(flow.traffic, Traffic::Transfer(_) | Traffic::Packets(_));
    let span = figures.span;
    let answers = matches!(flow.traffic, Traffic::RequestResponse(_)) && seconds > 0.0;
    let received = figures.received.as_ref();
    let jitter = (figures.jitter.rfc3550_us(), figures.jitter.difference_mean_us());
    FlowRecord {
        congestion_control: sampler.congestion_control.to_owned(),
        mss_bytes: sampler.mss_bytes,
        connections: figures.connections,
        bytes: figures.bytes,
        active_ns: figures.active_ns,
        ip_bytes: known(weight.ip_bytes),
        wire_bytes: known(weight.wire_bytes),
        span,
        ended_ns: span.map(|span| match &flow.traffic {
            Traffic::Transfer(_) => figures.over.map_or(span.ended_ns, Time::as_ns),
            _ => span.ended_ns,
        }),
        goodput_bps: span.filter(|_| has_goodput).and_then(|span| span.goodput_bps()),
        connect_us: figures.connect.distribution_us(),
        completion_us: some_if_any(&figures.completion),
        retransmissions_pkts: Some(sampler.retransmissions_pkts()),
        marks_pkts: Some(sampler.closed_marks).filter(|_| figures.connections > 0),
        srtt_us: sampler.srtt.distribution_us(),
        min_rtt_us: sampler.min_rtt_ns.map(microseconds),
        rtt_us: some_if_any(&figures.rtt),
        rtt_histogram: figures.rtt.histogram(),
        transactions_per_second: answers.then(|| figures.rtt.distribution_us().count as f64 / seconds),
        owd_us: received.and_then(|received| received.owd_us),
        owd_histogram: received.and_then(|received| received.owd_histogram.clone()),
        delay_variation_us: received.and_then(|received| received.delay_variation_us),
        jitter_rfc3550_us: received.map_or(jitter.0, |received| received.jitter_rfc3550_us),
        delay_difference_mean_us: received.map_or(jitter.1, |received| received.delay_difference_mean_us),
        packets: figures.packets,
        pacing: figures.pacing,
        subflows: if is_mptcp { subflows(running) } else { Vec::new() },
        sizes: running.figures.sizes.clone(),
        intervals: std::mem::take(&mut running.sampler.intervals),
        ..FlowRecord::blank(flow)
    }
}

fn some_if_any(durations: &Durations) -> Option<Distribution> {
    Some(durations.distribution_us()).filter(|summary| summary.count > 0)
}

fn subflows(running: &Running<'_>) -> Vec<SubflowRecord> {
    let Sampler { columns, congestion_control, .. } = &running.sampler;
    let records =
        columns.iter().zip(&running.wiring.sockets[0]).map(|(column, (local, remote))| SubflowRecord {
            local: local.to_string(),
            remote: remote.to_string(),
            bytes: column.closed_bytes,
            srtt_us: column.last.srtt_ns.map(microseconds),
            min_rtt_us: column.last.min_rtt_ns.map(microseconds),
            cwnd_pkts: Some(column.last.cwnd_pkts),
            retransmissions_pkts: Some(column.closed_retransmissions),
            marks_pkts: Some(column.closed_marks),
            congestion_control: (*congestion_control).to_owned(),
        });
    records.collect()
}

/// Returns the times of the parts of a flow's round trips, if it asks for them and some are known, and the parts that
/// the scenario's model does not have.
pub fn mechanisms(
    scenario: &Scenario,
    running: &Running<'_>,
    network: &Network,
) -> (Option<MechanismsRecord>, Vec<Absence>) {
    let Some(parts) = &running.figures.mechanisms else { return (None, Vec::new()) };
    let flow = running.wiring.flow;
    let directory = Directory::new(scenario);
    let has_cost = [&flow.from, &flow.to]
        .iter()
        .any(|host| directory.node(host).is_some_and(|node| node.cost.is_some()));
    let has_rate = [0, 1].iter().any(|&side| network.has_rate(running.wiring.datagrams(side).0));
    let mut absent = Vec::new();
    let mut known = |metric: &str, is_known: bool, durations: &Durations, reason: &str| {
        if !is_known {
            let (metric, object, reason) = (metric.to_owned(), flow.name.clone(), reason.to_owned());
            absent.push(Absence { metric, object, reason });
        }
        is_known.then(|| durations.distribution_us())
    };
    let no_cost = "simulated hosts take no time for a message unless the study sets `hosts.NAME.cost`";
    let sending_us = known("sending_time", has_cost, &parts.sending, no_cost);
    let no_rate = "nothing waits for a link without a rate, which those of both hosts are";
    let queue_us = known("queue_time", has_rate, &parts.queue, no_rate);
    let reading_us = known("reading_time", has_cost, &parts.reading, no_cost);
    let computing = "simulated programs answer in no time";
    let answering_us = known("answering_time", false, &Durations::default(), computing);
    let wire_us = parts.wire.distribution_us();
    (Some(MechanismsRecord { sending_us, queue_us, wire_us, reading_us, answering_us }), absent)
}

/// Returns the records of the hosts, and the figures that are absent. `busy` returns the CPU time of a node, if
/// its work costs anything, to be compared with the `traffic` time, both in nanoseconds.
pub fn hosts(
    scenario: &Scenario,
    flows: &[FlowRecord],
    busy: impl Fn(usize) -> Option<u64>,
    traffic_ns: u64,
) -> (Vec<HostRecord>, Vec<Absence>) {
    let mut absent = Vec::new();
    let hosts = scenario.nodes.iter().enumerate().filter(|(_, node)| node.kind == NodeKind::Host);
    let record = |(number, node): (usize, &Node)| {
        let is_measured = scenario.measurement.cpu.contains(&node.name);
        let cpu_busy_ns = busy(number).filter(|_| is_measured);
        if is_measured && cpu_busy_ns.is_none() {
            let reason = "simulated hosts use no CPU time unless the study sets `hosts.NAME.cost`";
            absent.extend(Absence::of_cpu_time(&node.name, reason));
        }
        let host = HostRecord::blank(&node.name);
        match cpu_busy_ns {
            Some(busy_ns) => {
                let bytes = scenario.payload_bytes(&node.name, flows);
                host.with_cpu_time(busy_ns, percent(busy_ns, traffic_ns), bytes)
            }
            None => host,
        }
    };
    (hosts.map(record).collect(), absent)
}

/// Returns a part of a time in percent.
pub fn percent(part_ns: u64, of_ns: u64) -> f64 {
    part_ns as f64 * 100.0 / of_ns.max(1) as f64
}
