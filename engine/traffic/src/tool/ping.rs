//! ping (iputils, tested with 20221126): the round-trip time of every ICMP echo reply, and loss.

use super::process::Finished;
use super::text::{between, number};
use super::{Job, Program, whole_seconds, words};
use crate::error::{Context, Error, Result};
use nettrial_flows::statistics::Durations;
use nettrial_scenario::{Flow, FlowRecord, IpVersion, PacketCounts, Tool};
use std::collections::HashSet;
use std::net::SocketAddr;

/// The program `ping`.
pub struct Ping;

impl Program for Ping {
    fn names(&self, _tool: &Tool) -> Vec<String> {
        words(&["ping"])
    }

    fn remedy(&self) -> &'static str {
        "apt-get install iputils-ping"
    }

    fn version(&self) -> &'static [&'static str] {
        &["ping", "-V"]
    }

    fn problems(&self, _flow: &Flow, tool: &Tool) -> Vec<(&'static str, String, String, String)> {
        whole_seconds(tool)
    }

    fn receiver(&self, _flow: &Flow, _tool: &Tool, _at: SocketAddr) -> Option<Vec<String>> {
        None // the kernel answers
    }

    fn sender(&self, job: &Job) -> Vec<String> {
        let version = if job.flow.ip == IpVersion::V4 { "-4" } else { "-6" };
        // The number of requests follows from the duration. With a deadline instead, a request in flight at its
        // end would count as lost.
        let requests = job.tool.duration.unwrap_or_default().as_std().as_secs_f64() / interval(job.tool);
        let requests = (requests.round() as u64).max(1).to_string();
        let mut command = words(&["ping", version, "-n", "-D", "-I", &job.source.to_string()]);
        command.extend(words(&["-c", &requests]));
        if let Some(size) = job.tool.size {
            command.extend(words(&["-s", &size.0.to_string()]));
        }
        command.extend(job.tool.arguments.iter().cloned());
        command.push(job.destination.ip().to_string());
        command
    }

    fn record(&self, flow: &Flow, _tool: &Tool, finished: &Finished) -> Result<FlowRecord> {
        // Status 1 means that replies are missing, which is a result.
        read(flow, &finished.printed).with_context(|| finished.shown())
    }
}

/// Returns the seconds between two requests: ping's default, unless its arguments contain an interval.
fn interval(tool: &Tool) -> f64 {
    let mut arguments = tool.arguments.iter();
    let mut seconds = 1.0;
    while let Some(argument) = arguments.next() {
        let value = match argument.strip_prefix("-i") {
            Some("") => arguments.next().map(String::as_str),
            other => other,
        };
        seconds = value.and_then(|value| value.parse().ok()).filter(|value| *value > 0.0).unwrap_or(seconds);
    }
    seconds
}

fn read(flow: &Flow, printed: &str) -> Result<FlowRecord> {
    let statistics = || printed.lines().filter(|line| line.contains("packets transmitted"));
    let line = statistics().next_back().ok_or_else(|| Error::Program("ping printed no statistics".into()))?;
    let sent = line.split_whitespace().next().and_then(|word| word.parse().ok());
    let sent: u64 =
        sent.ok_or_else(|| Error::Program("ping does not say how many requests it sent".into()))?;

    let mut rtt = Durations::default();
    let mut seen = HashSet::new();
    let (mut latest, mut reordered, mut duplicated) = (0, 0, 0);
    for line in printed.lines() {
        let reply = number(line, "icmp_seq=", "ttl").zip(number(line, "time=", "ms"));
        let Some((sequence, milliseconds)) = reply else { continue };
        // Sequence numbers have 16 bits (RFC 792), and ping continues from 0.
        let number = unwrap(sequence as u64 & 0xffff, latest);
        if between(line, "(DUP!", ")").is_some() || !seen.insert(number) {
            duplicated += 1;
            continue;
        }
        rtt.record(super::record::nanoseconds(milliseconds / 1e3));
        if number < latest {
            reordered += 1;
        }
        latest = latest.max(number);
    }
    let received = seen.len() as u64;
    let (loss_bursts, longest) = runs(&seen, sent);
    let mut record = FlowRecord::blank(flow);
    record.rtt_us = Some(rtt.distribution_us()).filter(|rtt| rtt.count > 0);
    record.packets = Some(PacketCounts {
        sent_pkts: sent,
        received_pkts: received,
        lost_pkts: sent.saturating_sub(received),
        reordered_pkts: Some(reordered),
        duplicated_pkts: Some(duplicated),
        loss_bursts: Some(loss_bursts),
        longest_loss_burst_pkts: Some(longest),
        send_errors_pkts: 0,
    });
    Ok(record)
}

/// Returns the number nearest to `latest` whose last 16 bits are `sequence`.
fn unwrap(sequence: u64, latest: u64) -> u64 {
    let base = latest & !0xffff;
    let candidates = [base.saturating_sub(0x1_0000), base, base + 0x1_0000].map(|base| base + sequence);
    candidates.into_iter().min_by_key(|candidate| candidate.abs_diff(latest)).unwrap_or(sequence)
}

/// Counts the bursts of requests from 1 to `sent` without a reply, and finds the longest one.
fn runs(seen: &HashSet<u64>, sent: u64) -> (u64, u64) {
    let mut received: Vec<u64> = seen.iter().copied().filter(|number| (1..=sent).contains(number)).collect();
    received.sort_unstable();
    received.push(sent.saturating_add(1));
    let (mut runs, mut longest, mut before) = (0, 0, 0);
    for number in received {
        let missing = number - before - 1;
        runs += u64::from(missing > 0);
        longest = longest.max(missing);
        before = number;
    }
    (runs, longest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequence_numbers_go_on_after_their_16_bits() {
        assert_eq!((unwrap(1, 0), unwrap(0, 0xffff), unwrap(0xffff, 0x1_0000)), (1, 0x1_0000, 0xffff));
    }

    #[test]
    fn losses_are_counted_in_runs_up_to_the_last_request() {
        assert_eq!(runs(&HashSet::from([1, 2, 5, 7]), 10), (3, 3));
        assert_eq!(runs(&HashSet::new(), 4), (1, 4));
        assert_eq!(runs(&HashSet::from([1]), 1), (0, 0));
    }
}
