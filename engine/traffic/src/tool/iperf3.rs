//! iperf3 (tested with 3.12, and with documents of 3.1 to 3.21): the goodput that the receiver counts; over TCP also the
//! sender's TCP_INFO in intervals, over UDP loss, order and jitter.

use super::process::{Finished, Watch, run};
use super::record::nanoseconds;
use super::text::whole;
use super::{Job, Program, QUICK, seconds, whole_seconds, words};
use crate::error::{Error, Result};
use nettrial_flows::statistics::Durations;
use nettrial_scenario::{Flow, FlowRecord, Interval, PacketCounts, Tool, Transport};
use serde_json::Value;
use std::net::SocketAddr;

/// The shortest interval of iperf3's reports.
const SHORTEST_INTERVAL_SECONDS: f64 = 0.1;

/// The program `iperf3`.
pub struct Iperf3;

impl Program for Iperf3 {
    fn names(&self, _tool: &Tool) -> Vec<String> {
        words(&["iperf3"])
    }

    fn remedy(&self) -> &'static str {
        "apt-get install iperf3"
    }

    fn version(&self) -> &'static [&'static str] {
        &["iperf3", "--version"]
    }

    fn problems(&self, flow: &Flow, tool: &Tool) -> Vec<(&'static str, String, String, String)> {
        let mut problems = whole_seconds(tool);
        if flow.transport == Transport::Mptcp {
            let help = run(&words(&["iperf3", "--help"]), Watch::Nothing, QUICK).unwrap_or_default();
            if !help.printed.contains("--mptcp") {
                let hint = "the iperf3 that is installed has no option --mptcp; 3.19 and later have";
                problems.push(("transport", "mptcp".into(), "tcp, udp".into(), hint.into()));
            }
        }
        problems
    }

    fn receiver(&self, _flow: &Flow, tool: &Tool, at: SocketAddr) -> Option<Vec<String>> {
        let (address, port) = (at.ip().to_string(), at.port().to_string());
        let mut command = words(&["iperf3", "-s", "-B", &address, "-p", &port]);
        command.extend(tool.server_arguments.iter().cloned());
        Some(command)
    }

    fn sender(&self, job: &Job) -> Vec<String> {
        let interval = job.sample_period.as_secs_f64().max(SHORTEST_INTERVAL_SECONDS).to_string();
        let (from, to) = (job.source.to_string(), job.destination.ip().to_string());
        let (port, seconds) = (job.destination.port().to_string(), seconds(job.tool));
        let mut command = words(&["iperf3", "-c", &to, "-p", &port, "-B", &from, "-J"]);
        command.extend(words(&["-t", &seconds, "-i", &interval]));
        match job.flow.transport {
            Transport::Udp => {
                // Without -b, iperf3 sends 1 Mbit/s over UDP; 0 is as fast as possible.
                let rate = job.tool.rate.map_or(0, |rate| rate.0).to_string();
                command.extend(words(&["-u", "-b", &rate]));
            }
            transport => {
                command.extend(words(&["-C", job.congestion_control]));
                if transport == Transport::Mptcp {
                    command.push("-m".into());
                }
                if let Some(rate) = job.tool.rate {
                    command.extend(words(&["-b", &rate.0.to_string()]));
                }
            }
        }
        if let Some(size) = job.tool.size {
            command.extend(words(&["-l", &size.0.to_string()]));
        }
        command.extend(job.tool.arguments.iter().cloned());
        command
    }

    fn record(&self, flow: &Flow, _tool: &Tool, finished: &Finished) -> Result<FlowRecord> {
        let document: Value = match serde_json::from_str(&finished.printed) {
            Ok(document) => document,
            Err(_) => return Err(Error::Program(format!("iperf3 printed no JSON; {}", finished.shown()))),
        };
        if let Some(error) = document.get("error").and_then(Value::as_str) {
            return Err(Error::Program(format!("iperf3: {error}")));
        }
        finished.check()?;
        read(flow, &document)
    }
}

fn read(flow: &Flow, document: &Value) -> Result<FlowRecord> {
    let number = |pointer: &str| document.pointer(pointer).and_then(Value::as_f64);
    let count = |pointer: &str| number(pointer).and_then(whole);
    let received = received(document)
        .ok_or_else(|| Error::Program("iperf3 does not say what the receiver got".into()))?;
    let mut record = FlowRecord::blank(flow);
    record.bytes = received.bytes;
    record.active_ns = nanoseconds(received.seconds);
    record.goodput_bps = received.bits_per_second;
    if flow.transport == Transport::Udp {
        record.jitter_rfc3550_us = number("/end/sum/jitter_ms").map(|jitter| jitter * 1e3);
        record.packets = packets(document);
        return Ok(record);
    }
    let congestion_control = document.pointer("/end/sender_tcp_congestion").and_then(Value::as_str);
    record.congestion_control = congestion_control.unwrap_or_default().to_owned();
    record.mss_bytes = count("/start/tcp_mss_default").and_then(|mss| mss.try_into().ok()).unwrap_or(0);
    record.connections =
        count("/start/test_start/num_streams").and_then(|streams| streams.try_into().ok()).unwrap_or(1);
    record.retransmissions_pkts = count("/end/sum_sent/retransmits");
    let streams = document.pointer("/end/streams").and_then(Value::as_array).into_iter().flatten();
    let minima = streams.filter_map(|stream| stream.pointer("/sender/min_rtt")?.as_f64().and_then(whole));
    record.min_rtt_us = minima.min().and_then(|rtt| rtt.try_into().ok());
    let mut srtt = Durations::default();
    let intervals = document.get("intervals").and_then(Value::as_array).into_iter().flatten();
    for interval in intervals {
        // Intervals at the beginning that `-O` leaves out of the sums.
        if interval.pointer("/sum/omitted").and_then(Value::as_bool) == Some(true) {
            continue;
        }
        let streams = interval.get("streams").and_then(Value::as_array).into_iter().flatten();
        // The kernel reports 0 before its first estimate.
        let rtts = streams.filter_map(|stream| stream.get("rtt")?.as_u64());
        let rtts = rtts.filter(|rtt| (1..1 << 32).contains(rtt));
        rtts.for_each(|rtt| srtt.record(rtt * 1000));
        // Several streams have no common window and round-trip time.
        if record.connections == 1 {
            record.intervals.extend(read_interval(interval, record.mss_bytes));
        }
    }
    record.srtt_us = srtt.distribution_us();
    Ok(record)
}

/// The figures that the receiver of a test counted.
struct Received {
    bytes: u64,
    seconds: f64,
    bits_per_second: Option<f64>,
}

/// Returns what the receiver counted. Before 3.11, the only sum over UDP has the sender's bytes and packets and the
/// receiver's losses and jitter: the bytes follow from the packets that arrived, which are of one size. Without
/// losses and jitter, nothing says that a packet arrived.
fn received(document: &Value) -> Option<Received> {
    let number = |sum: &Value, name: &str| sum.get(name)?.as_f64();
    if let Some(sum) = document.pointer("/end/sum_received") {
        let bits_per_second = number(sum, "bits_per_second");
        let bytes = number(sum, "bytes").and_then(whole)?;
        return Some(Received { bytes, seconds: number(sum, "seconds")?, bits_per_second });
    }
    let sum = document.pointer("/end/sum")?;
    let (sent, lost) = (number(sum, "packets")?, number(sum, "lost_packets")?.max(0.0));
    if sent <= 0.0 || (lost == 0.0 && number(sum, "jitter_ms")? == 0.0) {
        return None;
    }
    let (bytes, seconds) = (number(sum, "bytes")? * (sent - lost).max(0.0) / sent, number(sum, "seconds")?);
    let bits_per_second = (seconds > 0.0).then(|| bytes * 8.0 / seconds);
    Some(Received { bytes: whole(bytes.round())?, seconds, bits_per_second })
}

/// Returns the counts of packets; iperf3 counts a duplicate as a packet that had been considered lost.
fn packets(document: &Value) -> Option<PacketCounts> {
    let sum = |name: &str| document.pointer("/end/sum")?.get(name)?.as_f64().and_then(whole);
    let received = document.pointer("/end/sum_received/packets").and_then(Value::as_f64).and_then(whole);
    let streams = document.pointer("/end/streams")?.as_array()?;
    let reordered =
        streams.iter().map(|stream| stream.pointer("/udp/out_of_order")?.as_f64().and_then(whole));
    let (sent, lost) = (sum("packets")?, sum("lost_packets")?);
    Some(PacketCounts {
        sent_pkts: sent,
        received_pkts: received.map_or(sent, |received| received.min(sent)).saturating_sub(lost),
        lost_pkts: lost,
        reordered_pkts: reordered.sum(),
        ..PacketCounts::default()
    })
}

fn read_interval(interval: &Value, mss_bytes: u32) -> Option<Interval> {
    let stream = interval.get("streams")?.get(0)?;
    let number = |name: &str| stream.get(name)?.as_f64().and_then(whole);
    let small = |name: &str| u32::try_from(number(name)?).ok();
    Some(Interval {
        at_ns: nanoseconds(stream.get("end")?.as_f64()?),
        bytes: number("bytes")?,
        srtt_us: small("rtt").filter(|&rtt| rtt > 0),
        cwnd_pkts: small("snd_cwnd")?.checked_div(mss_bytes)?,
        retransmissions_pkts: number("retransmits")?,
        // iperf3 reports the smallest round-trip time only for the whole test.
        ..Interval::default()
    })
}
