//! netperf (tested with 2.7.0): TCP_STREAM, UDP_STREAM, TCP_RR and UDP_RR in its omni test, with output selectors.

use super::process::Finished;
use super::record::nanoseconds;
use super::text::{between, number, whole};
use super::{Job, Program, seconds, whole_seconds, words};
use crate::error::{Context, Error, Result};
use nettrial_scenario::{Distribution, Flow, FlowRecord, PacketCounts, Tool, Transport};
use std::net::SocketAddr;

/// The selected figures (netperf's "omni output selectors").
const FIGURES: &str = "ELAPSED_TIME,LOCAL_BYTES_SENT,REMOTE_BYTES_RECVD,REMOTE_RECV_THROUGHPUT,\
LOCAL_SEND_CALLS,REMOTE_RECV_CALLS,LOCAL_CONG_CONTROL,LOCAL_TRANSPORT_RETRANS,TRANSPORT_MSS,\
TRANSACTION_RATE,MIN_LATENCY,MEAN_LATENCY,STDDEV_LATENCY,P50_LATENCY,P90_LATENCY,P99_LATENCY,MAX_LATENCY,\
LSS_SIZE_END,LSR_SIZE_END,RSS_SIZE_END,RSR_SIZE_END";

/// The programs `netperf` and `netserver`.
pub struct Netperf;

impl Program for Netperf {
    fn names(&self, _tool: &Tool) -> Vec<String> {
        words(&["netperf", "netserver"])
    }

    fn remedy(&self) -> &'static str {
        "apt-get install netperf (Debian has it in non-free, Ubuntu in multiverse)"
    }

    fn version(&self) -> &'static [&'static str] {
        &["netperf", "-V"]
    }

    fn problems(&self, _flow: &Flow, tool: &Tool) -> Vec<(&'static str, String, String, String)> {
        whole_seconds(tool)
    }

    fn receiver(&self, _flow: &Flow, tool: &Tool, at: SocketAddr) -> Option<Vec<String>> {
        let version = if at.is_ipv4() { "4" } else { "6" };
        let (listen, port) = (format!("{},{version}", at.ip()), at.port().to_string());
        // Its process serves one client after the other (-f), and starts none for each.
        let mut command = words(&["netserver", "-D", "-f", "-L", &listen, "-p", &port]);
        command.extend(tool.server_arguments.iter().cloned());
        Some(command)
    }

    fn sender(&self, job: &Job) -> Vec<String> {
        let version = if job.source.is_ipv4() { "4" } else { "6" };
        let (from, to) = (format!("{},{version}", job.source), format!("{},{version}", job.destination.ip()));
        let (port, seconds) = (job.destination.port().to_string(), seconds(job.tool));
        let is_tcp = job.flow.transport == Transport::Tcp;
        let test = match (is_tcp, job.tool.request_response) {
            (true, false) => "TCP_STREAM",
            (false, false) => "UDP_STREAM",
            (true, true) => "TCP_RR",
            (false, true) => "UDP_RR",
        };
        let mut command = words(&["netperf", "-H", &to, "-L", &from, "-p", &port, "-l", &seconds]);
        // Rates are in 10^3 bit/s, latencies are kept (-j), there is no heading, and UDP may pass routers (-R 1).
        command.extend(words(&["-f", "k", "-j", "-P", "0", "-t", test, "--", "-k", FIGURES, "-R", "1"]));
        if is_tcp {
            command.extend(words(&["-K", &format!("{},", job.congestion_control)]));
        }
        if let Some(size) = job.tool.size {
            let size = size.0;
            command.extend(match job.tool.request_response {
                true => words(&["-r", &format!("{size},{size}")]),
                false => words(&["-m", &size.to_string()]),
            });
        }
        command.extend(job.tool.arguments.iter().cloned());
        command
    }

    fn record(&self, flow: &Flow, tool: &Tool, finished: &Finished) -> Result<FlowRecord> {
        finished.check()?;
        read(flow, tool, &finished.printed).with_context(|| finished.shown())
    }
}

fn read(flow: &Flow, tool: &Tool, printed: &str) -> Result<FlowRecord> {
    // netperf writes -1 for unknown figures.
    let figure = |name: &str| number(printed, &format!("{name}="), "").filter(|value| *value >= 0.0);
    let count = |name: &str| figure(name).and_then(whole);
    let mut record = FlowRecord::blank(flow);
    record.active_ns = nanoseconds(
        figure("ELAPSED_TIME").ok_or_else(|| Error::Program("netperf gave no ELAPSED_TIME".into()))?,
    );
    if flow.transport == Transport::Tcp {
        record.connections = 1;
        record.congestion_control =
            between(printed, "LOCAL_CONG_CONTROL=", "").unwrap_or_default().to_owned();
        record.mss_bytes = count("TRANSPORT_MSS").and_then(|mss| mss.try_into().ok()).unwrap_or(0);
        record.retransmissions_pkts = count("LOCAL_TRANSPORT_RETRANS");
    }
    if tool.request_response {
        record.bytes = count("LOCAL_BYTES_SENT").unwrap_or(0);
        record.transactions_per_second = figure("TRANSACTION_RATE");
        record.rtt_us = latency(figure);
        return Ok(record);
    }
    record.bytes = count("REMOTE_BYTES_RECVD")
        .ok_or_else(|| Error::Program("netperf gave no REMOTE_BYTES_RECVD".into()))?;
    record.goodput_bps = figure("REMOTE_RECV_THROUGHPUT").map(|rate| rate * 1e3);
    if flow.transport == Transport::Udp {
        let counts = count("LOCAL_SEND_CALLS").zip(count("REMOTE_RECV_CALLS"));
        record.packets = counts.map(|(sent, received)| PacketCounts {
            sent_pkts: sent,
            received_pkts: received,
            lost_pkts: sent.saturating_sub(received),
            ..PacketCounts::default()
        });
    }
    Ok(record)
}

/// Returns the round-trip times in microseconds; netperf keeps them in a histogram.
fn latency(figure: impl Fn(&str) -> Option<f64>) -> Option<Distribution> {
    Some(Distribution {
        count: figure("LOCAL_SEND_CALLS").and_then(whole)?,
        mean: figure("MEAN_LATENCY")?,
        deviation: figure("STDDEV_LATENCY")?,
        minimum: figure("MIN_LATENCY")?,
        p50: figure("P50_LATENCY")?,
        p90: figure("P90_LATENCY")?,
        p99: figure("P99_LATENCY")?,
        maximum: figure("MAX_LATENCY")?,
        ..Distribution::default()
    })
}
