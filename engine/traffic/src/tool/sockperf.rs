//! sockperf's ping-pong test (tested with 3.7): round-trip time.

use super::process::{Finished, Watch, run};
use super::record::nanoseconds;
use super::text::{number, plain, whole};
use super::{Job, Program, QUICK, seconds, whole_seconds, words};
use crate::error::{Context, Error, Result};
use nettrial_scenario::{Distribution, Flow, FlowRecord, IpVersion, PacketCounts, Tool, Transport};
use std::net::SocketAddr;

/// The first version that supports IPv6 addresses.
const IPV6_SINCE: (u32, u32) = (3, 8);
/// The bytes of a message if no size is given.
const DEFAULT_SIZE_BYTES: u64 = 14;

/// The program `sockperf`.
pub struct Sockperf;

impl Program for Sockperf {
    fn names(&self, _tool: &Tool) -> Vec<String> {
        words(&["sockperf"])
    }

    fn remedy(&self) -> &'static str {
        "apt-get install sockperf"
    }

    fn version(&self) -> &'static [&'static str] {
        &["sockperf", "--version"]
    }

    fn problems(&self, flow: &Flow, tool: &Tool) -> Vec<(&'static str, String, String, String)> {
        let mut problems = whole_seconds(tool);
        if flow.ip == IpVersion::V6 {
            let said = run(&words(&["sockperf", "--version"]), Watch::Nothing, QUICK).unwrap_or_default();
            if version(&said.printed).is_none_or(|version| version < IPV6_SINCE) {
                let hint = "the sockperf that is installed takes no IPv6 address; 3.8 and later do";
                problems.push(("ip", "6".into(), "4".into(), hint.into()));
            }
        }
        if tool.size.is_some_and(|size| !(DEFAULT_SIZE_BYTES..=65_507).contains(&size.0)) {
            let value = tool.size.unwrap_or_default().to_string();
            problems.push(("size", value, "14 B to 65507 B".into(), "sockperf's messages".into()));
        }
        problems
    }

    fn chooses_congestion_control(&self) -> bool {
        false
    }

    fn receiver(&self, flow: &Flow, tool: &Tool, at: SocketAddr) -> Option<Vec<String>> {
        let (address, port) = (at.ip().to_string(), at.port().to_string());
        let mut command = words(&["sockperf", "server", "-i", &address, "-p", &port]);
        command.extend(protocol(flow));
        command.extend(tool.server_arguments.iter().cloned());
        Some(command)
    }

    fn sender(&self, job: &Job) -> Vec<String> {
        let (from, to) = (job.source.to_string(), job.destination.ip().to_string());
        let (port, seconds) = (job.destination.port().to_string(), seconds(job.tool));
        let mut command = words(&["sockperf", "ping-pong", "-i", &to, "-p", &port, "--client_ip", &from]);
        command.extend(words(&["-t", &seconds, "--full-rtt"]));
        command.extend(protocol(job.flow));
        if let Some(size) = job.tool.size {
            command.extend(words(&["-m", &size.0.to_string()]));
        }
        if let Some(rate) = job.tool.rate {
            let size = job.tool.size.map_or(DEFAULT_SIZE_BYTES, |size| size.0);
            command.extend(words(&["--mps", &(rate.0 / (8 * size)).max(1).to_string()]));
        }
        command.extend(job.tool.arguments.iter().cloned());
        command
    }

    fn record(&self, flow: &Flow, tool: &Tool, finished: &Finished) -> Result<FlowRecord> {
        finished.check()?;
        read(flow, tool, &plain(&finished.printed)).with_context(|| finished.shown())
    }
}

fn protocol(flow: &Flow) -> Option<String> {
    (flow.transport == Transport::Tcp).then(|| "--tcp".into())
}

/// Returns the major and the minor version in "sockperf, version 3.7-no.git".
fn version(said: &str) -> Option<(u32, u32)> {
    let rest = said.split_once("version ")?.1;
    let mut parts = rest.split(|letter: char| !letter.is_ascii_digit());
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

fn read(flow: &Flow, tool: &Tool, printed: &str) -> Result<FlowRecord> {
    let count = |before: &str, after: &str| number(printed, before, after).and_then(whole);
    let percentile = |name: &str| number(printed, &format!("percentile {name} ="), "");
    // sockperf leaves out the time before and after the valid duration.
    let valid = printed.lines().find(|line| line.contains("[Valid Duration]"));
    let valid = valid.ok_or_else(|| Error::Program("sockperf printed no valid duration".into()))?;
    let observations = count("Total ", "observations")
        .ok_or_else(|| Error::Program("sockperf gave no number of observations".into()))?;
    let distribution = || {
        let tail = |name: &str, least| percentile(name).filter(|_| observations >= least);
        Some(Distribution {
            count: observations,
            mean: number(printed, "avg-rtt=", "(")?,
            deviation: number(printed, "std-dev=", ")")?,
            minimum: number(printed, "<MIN> observation =", "")?,
            p50: percentile("50.000")?,
            p90: percentile("90.000")?,
            p99: percentile("99.000")?,
            p99_9: tail("99.900", 1_000),
            p99_99: tail("99.990", 10_000),
            p99_999: tail("99.999", 100_000),
            maximum: number(printed, "<MAX> observation =", "")?,
        })
    };
    let mut record = FlowRecord::blank(flow);
    record.rtt_us = distribution();
    let sent = number(valid, "SentMessages=", ";").and_then(whole).unwrap_or(0);
    let received = number(valid, "ReceivedMessages=", "").and_then(whole).unwrap_or(0);
    record.bytes = sent.saturating_mul(tool.size.map_or(DEFAULT_SIZE_BYTES, |size| size.0));
    if let Some(seconds) = number(valid, "RunTime=", "sec").filter(|seconds| *seconds > 0.0) {
        record.active_ns = nanoseconds(seconds);
        record.transactions_per_second = Some(received as f64 / seconds);
    }
    if flow.transport == Transport::Udp {
        record.packets = count("dropped messages =", ";").map(|lost| PacketCounts {
            sent_pkts: sent,
            received_pkts: received,
            lost_pkts: lost,
            reordered_pkts: count("out-of-order messages =", ""),
            duplicated_pkts: count("duplicated messages =", ";"),
            ..PacketCounts::default()
        });
    }
    Ok(record)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_two_numbers() {
        assert_eq!(version("sockperf, version 3.7-no.git"), Some((3, 7)));
        assert_eq!(version("sockperf, version 3.10-31.gitcfe67d8af9da"), Some((3, 10)));
        assert_eq!((version(""), version("version x")), (None, None));
    }
}
