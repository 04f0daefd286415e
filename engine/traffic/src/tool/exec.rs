//! Any command, which prints its own figures: if its last line is a JSON object, the fields are figures of the
//! record with the same names.

use super::process::Finished;
use super::text::whole;
use super::{Job, Program};
use crate::error::{Context, Result};
use nettrial_flows::statistics::Durations;
use nettrial_scenario::{Distribution, Flow, FlowRecord, PacketCounts, Tool};
use serde::Deserialize;
use std::net::SocketAddr;

/// The command in the scenario.
pub struct Exec;

/// The figures that a command may print in its last line. Every field is optional, and has the name and the
/// definition of a flow's record; counts of packets belong to `packets` there.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Figures {
    goodput_bps: Option<f64>,
    bytes: Option<u64>,
    active_ns: Option<u64>,
    rtt_us: Option<Values>,
    owd_us: Option<Values>,
    min_rtt_us: Option<u32>,
    jitter_rfc3550_us: Option<f64>,
    delay_difference_mean_us: Option<f64>,
    transactions_per_second: Option<f64>,
    connections: Option<u32>,
    retransmissions_pkts: Option<u64>,
    sent_pkts: Option<u64>,
    lost_pkts: Option<u64>,
    reordered_pkts: Option<u64>,
    duplicated_pkts: Option<u64>,
}

/// One value, or a list of them.
#[derive(Deserialize)]
#[serde(untagged)]
enum Values {
    One(f64),
    List(Vec<f64>),
}

impl Values {
    /// Returns the distribution of values in microseconds.
    fn distribution(&self) -> Option<Distribution> {
        let mut durations = Durations::default();
        let values = match self {
            Self::One(value) => std::slice::from_ref(value),
            Self::List(values) => values,
        };
        for value in values {
            durations.record(whole(value * 1e3)?);
        }
        Some(durations.distribution_us()).filter(|distribution| distribution.count > 0)
    }
}

impl Program for Exec {
    fn names(&self, tool: &Tool) -> Vec<String> {
        [tool.arguments.first(), tool.server_arguments.first()].into_iter().flatten().cloned().collect()
    }

    fn remedy(&self) -> &'static str {
        "the first argument is the program: a path, or a name that PATH leads to"
    }

    fn version(&self) -> &'static [&'static str] {
        &[]
    }

    fn receiver(&self, _flow: &Flow, tool: &Tool, at: SocketAddr) -> Option<Vec<String>> {
        let fill = |word: &String| {
            word.replace("{destination}", &at.ip().to_string()).replace("{port}", &at.port().to_string())
        };
        (!tool.server_arguments.is_empty()).then(|| tool.server_arguments.iter().map(fill).collect())
    }

    fn sender(&self, job: &Job) -> Vec<String> {
        let fill = |word: &String| {
            word.replace("{destination}", &job.destination.ip().to_string())
                .replace("{source}", &job.source.to_string())
                .replace("{port}", &job.destination.port().to_string())
        };
        job.tool.arguments.iter().map(fill).collect()
    }

    fn record(&self, flow: &Flow, _tool: &Tool, finished: &Finished) -> Result<FlowRecord> {
        finished.check()?;
        read(flow, &finished.printed)
    }
}

fn read(flow: &Flow, printed: &str) -> Result<FlowRecord> {
    let last = printed.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or_default();
    let figures = if last.starts_with('{') {
        let what = || format!("reading the figures in the command's last line, {last:?}");
        serde_json::from_str(last).with_context(what)?
    } else {
        Figures::default()
    };
    let mut record = FlowRecord::blank(flow);
    record.goodput_bps = figures.goodput_bps;
    record.bytes = figures.bytes.unwrap_or(0);
    record.active_ns = figures.active_ns.unwrap_or(0);
    record.rtt_us = figures.rtt_us.as_ref().and_then(Values::distribution);
    record.owd_us = figures.owd_us.as_ref().and_then(Values::distribution);
    record.min_rtt_us = figures.min_rtt_us;
    record.jitter_rfc3550_us = figures.jitter_rfc3550_us;
    record.delay_difference_mean_us = figures.delay_difference_mean_us;
    record.transactions_per_second = figures.transactions_per_second;
    record.connections = figures.connections.unwrap_or(u32::from(figures.retransmissions_pkts.is_some()));
    record.retransmissions_pkts = figures.retransmissions_pkts;
    record.packets = figures.sent_pkts.zip(figures.lost_pkts).map(|(sent, lost)| PacketCounts {
        sent_pkts: sent,
        received_pkts: sent.saturating_sub(lost),
        lost_pkts: lost,
        reordered_pkts: figures.reordered_pkts,
        duplicated_pkts: figures.duplicated_pkts,
        ..PacketCounts::default()
    });
    Ok(record)
}
