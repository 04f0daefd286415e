//! The records of flows and hosts.

use crate::hosts::Running;
use crate::sampler::{Sampler, microseconds};
use nettrial_figures::statistics::Durations;
use nettrial_scenario::{
    Absence, Distribution, FlowRecord, HostRecord, NodeKind, Scenario, SubflowRecord, Traffic, Transport,
};

/// The record of a flow that is over. What of it was still open is taken as it is.
pub fn flow(running: &mut Running<'_>) -> FlowRecord {
    let flow = running.wiring.flow;
    let (figures, sampler) = (&running.figures, &mut running.sampler);
    let is_mptcp = flow.transport == Transport::Mptcp;
    for interval in &mut sampler.intervals {
        // Subflows that had not been seen yet had carried nothing.
        interval.subflow_bytes.resize(if is_mptcp { sampler.columns.len() } else { 0 }, 0);
    }
    let mut weight = figures.weight;
    weight += sampler.weight;
    let known = |bytes: u64| (bytes > 0).then_some(bytes);
    let seconds = figures.active_ns as f64 / 1e9;
    let has_goodput = matches!(flow.traffic, Traffic::Transfer(_) | Traffic::Packets(_)) && seconds > 0.0;
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
        goodput_bps: has_goodput.then(|| figures.bytes as f64 * 8.0 / seconds),
        connect_us: figures.connect.distribution_us(),
        completion_us: some_if_any(&figures.completion),
        retransmissions_pkts: sampler.retransmissions_pkts(),
        srtt_us: sampler.srtt.distribution_us(),
        min_rtt_us: microseconds(sampler.min_rtt_ns),
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
        columns.iter().zip(&running.wiring.sockets).map(|(column, (local, remote))| SubflowRecord {
            local: local.to_string(),
            remote: remote.to_string(),
            bytes: column.closed_bytes,
            srtt_us: microseconds(column.last.srtt_ns),
            min_rtt_us: microseconds(column.last.min_rtt_ns),
            cwnd_pkts: column.last.cwnd_pkts,
            retransmissions_pkts: column.closed_retransmissions,
            congestion_control: (*congestion_control).to_owned(),
        });
    records.collect()
}

/// The records of the hosts, and what can't be said of them.
pub fn hosts(scenario: &Scenario) -> (Vec<HostRecord>, Vec<Absence>) {
    let mut absent = Vec::new();
    let mut note = |metric: &str, object: &str, reason: &str| {
        absent.push(Absence { metric: metric.into(), object: object.into(), reason: reason.into() });
    };
    for host in &scenario.measurement.cpu {
        for metric in ["cpu", "service_demand"] {
            note(metric, host, "a simulated host's work takes no processor time");
        }
    }
    if scenario.measurement.packet_sizes {
        note("packet_sizes", "every link end", "the simulator does not count packets by size");
    }
    let hosts = scenario.nodes.iter().filter(|node| node.kind == NodeKind::Host);
    let record = |name: &String| HostRecord {
        name: name.clone(),
        processor: None,
        processor_shared_with: Vec::new(),
        cpu_percent: None,
        cpu_busy_ns: None,
        service_demand_us_per_kb: None,
    };
    (hosts.map(|node| record(&node.name)).collect(), absent)
}
