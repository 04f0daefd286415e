//! D-ITG (tested with 2.8.1): ITGSend requests a log from ITGRecv, which ITGDec decodes after the flow. With the
//! argument `-m rttm`, ITGRecv returns each packet, and ITGSend writes the log, which then has round trips instead
//! of one-way delays.
//!
//! The log is a file without a name (memfd_create(2)), which each program opens through this agent's descriptor in
//! /proc: all run on one machine, and nothing remains when the agent ends.

use super::process::{Finished, Watch, run};
use super::record::nanoseconds;
use super::text::{between, number, plain, whole};
use super::{Job, Program, words};
use crate::error::{Context, Error, Result};
use crate::platform::{SharedFile, interface_of};
use nettrial_admission::read_text;
use nettrial_flows::statistics::Durations;
use nettrial_scenario::{Flow, FlowRecord, Tool, Transport};
use std::net::SocketAddr;
use std::time::Duration;

/// The placeholder for the path of the log.
const LOG: &str = "{log}";
/// The bytes of a packet if no size is given: D-ITG's own default.
const DEFAULT_SIZE_BYTES: u64 = 512;
/// The packets per second for "as fast as possible", for which D-ITG has no option.
const FASTEST: &str = "1000000";
/// The largest size of the list of packets that ITGDec writes, in bytes.
const MOST_DECODED_BYTES: u64 = 1 << 30;
/// The time without growth after which the log is complete.
const SETTLED: Duration = Duration::from_millis(100);
/// The microseconds of a day, because the log contains only the time of day.
const DAY_US: i64 = 86_400_000_000;

/// The programs `ITGSend`, `ITGRecv` and `ITGDec`.
pub struct Ditg;

impl Program for Ditg {
    fn names(&self, _tool: &Tool) -> Vec<String> {
        words(&["ITGSend", "ITGRecv", "ITGDec"])
    }

    fn remedy(&self) -> &'static str {
        "apt-get install d-itg"
    }

    fn version(&self) -> &'static [&'static str] {
        &["ITGSend", "-h"]
    }

    fn chooses_congestion_control(&self) -> bool {
        false
    }

    fn receiver(&self, _flow: &Flow, tool: &Tool, at: SocketAddr) -> Option<Vec<String>> {
        let (address, port) = (at.ip().to_string(), at.port().to_string());
        let mut command = words(&["ITGRecv", "-a", &address, "-Sp", &port]);
        // Its signaling has no option for an address and would listen at all of them, but it has one for an interface.
        if let Some(interface) = interface_of(at.ip()) {
            command.extend(words(&["-Si", &interface]));
        }
        command.extend(tool.server_arguments.iter().cloned());
        Some(command)
    }

    fn sender(&self, job: &Job) -> Vec<String> {
        let size = job.tool.size.map_or(DEFAULT_SIZE_BYTES, |size| size.0);
        let protocol = if job.flow.transport == Transport::Tcp { "TCP" } else { "UDP" };
        let milliseconds = job.tool.duration.unwrap_or_default().0 / 1_000_000;
        let rate =
            job.tool.rate.map_or(FASTEST.into(), |rate| (rate.0 as f64 / (8 * size) as f64).to_string());
        let (to, port) = (job.destination.ip().to_string(), job.destination.port());
        let mut command = words(&["ITGSend", "-a", &to, "-Sdp", &port.to_string()]);
        // Data goes to the port after the signaling port. -sa fails over IPv4 in 2.8.1.
        command.extend(words(&["-rp", &(port + 1).to_string(), "-T", protocol]));
        command.extend(words(&["-t", &milliseconds.to_string(), "-c", &size.to_string()]));
        // The arguments may contain another distribution of gaps, which replaces the constant rate.
        let gaps = ["-C", "-U", "-E", "-N", "-O", "-V", "-Y", "-G", "-W", "-Ft"];
        if !job.tool.arguments.iter().any(|argument| gaps.contains(&argument.as_str())) {
            command.extend(words(&["-C", &rate]));
        }
        command.extend(words(&[if has_round_trips(job.tool) { "-l" } else { "-x" }, LOG]));
        command.extend(job.tool.arguments.iter().cloned());
        command
    }

    fn run(&self, _tool: &Tool, command: &[String], limit: Duration) -> Result<Finished> {
        let (log, decoded) = (SharedFile::new("log")?, SharedFile::new("decoded")?);
        let path = log.path.clone();
        let command: Vec<String> =
            command.iter().map(|word| if word == LOG { path.clone() } else { word.clone() }).collect();
        let sent = run(&command, Watch::Connections, limit)?;
        // The exit status of ITGSend is 0 even in this case.
        let said = format!("{}{}", sent.printed, sent.complained);
        if !sent.succeeded || said.contains("rror") {
            return Err(Error::Program(sent.shown()));
        }
        settle(&log)?;
        let mut summary = run(&words(&["ITGDec", &log.path]), Watch::Nothing, limit)?;
        summary.check()?;
        run(&words(&["ITGDec", &log.path, "-l", &decoded.path]), Watch::Nothing, limit)?.check()?;
        let printed = plain(&summary.printed);
        summary.printed = format!("{}{printed}", sent.printed);
        summary.congestion_control = sent.congestion_control;
        summary.logged = {
            let decoded = std::fs::File::open(&decoded.path).context("opening what ITGDec decoded")?;
            read_text(decoded, MOST_DECODED_BYTES).context("reading what ITGDec decoded")?
        };
        Ok(summary)
    }

    fn record(&self, flow: &Flow, tool: &Tool, finished: &Finished) -> Result<FlowRecord> {
        read(flow, tool, &finished.printed, &finished.logged)
    }
}

/// Returns true if D-ITG measures round trips.
fn has_round_trips(tool: &Tool) -> bool {
    tool.arguments.iter().any(|argument| argument == "rttm")
}

/// Waits until `log` has stopped growing.
fn settle(log: &SharedFile) -> Result<()> {
    let length = || log.file.metadata().map(|file| file.len()).context("looking at a log");
    let mut before = length()?;
    loop {
        std::thread::sleep(SETTLED);
        let now = length()?;
        if now == before {
            return Ok(());
        }
        before = now;
    }
}

/// Reads ITGDec's summary, and its list of packets, which contains the delays.
fn read(flow: &Flow, tool: &Tool, summary: &str, packets: &str) -> Result<FlowRecord> {
    let total = summary
        .split_once("TOTAL RESULTS")
        .ok_or_else(|| Error::Program("ITGDec printed no results".into()))?
        .1;
    let figure = |name: &str| {
        let line = total.lines().find(|line| line.starts_with(name))?;
        number(line, "=", "")
    };
    let count = |name: &str| figure(name).and_then(whole);
    let arrived =
        count("Total packets").ok_or_else(|| Error::Program("ITGDec gave no number of packets".into()))?;
    if arrived == 0 {
        return Err(Error::Program("no packet arrived".into()));
    }
    let mut record = FlowRecord::blank(flow);
    record.bytes =
        count("Bytes received").ok_or_else(|| Error::Program("ITGDec gave no number of bytes".into()))?;
    record.active_ns =
        nanoseconds(figure("Total time").ok_or_else(|| Error::Program("ITGDec gave no time".into()))?);
    record.goodput_bps = figure("Average bitrate").map(|rate| rate * 1e3);
    record.delay_difference_mean_us = figure("Average jitter").map(|jitter| jitter * 1e6);
    let mut arrivals = Arrivals::default();
    packets.lines().filter_map(packet).for_each(|packet| arrivals.add(packet));
    let delays = Some(arrivals.delays.distribution_us()).filter(|delays| delays.count > 0);
    *(if has_round_trips(tool) { &mut record.rtt_us } else { &mut record.owd_us }) = delays;
    if flow.transport == Transport::Udp {
        let lost = count("Packets dropped").unwrap_or(0);
        record.packets = Some(nettrial_scenario::PacketCounts {
            sent_pkts: arrived + lost,
            received_pkts: arrived,
            lost_pkts: lost,
            reordered_pkts: Some(arrivals.reordered),
            ..Default::default()
        });
    }
    Ok(record)
}

/// The packets in D-ITG's list: their delays, and the number of reordered packets.
#[derive(Default)]
struct Arrivals {
    delays: Durations,
    latest: u64,
    reordered: u64,
}

impl Arrivals {
    fn add(&mut self, (sequence, delay_us): (u64, i64)) {
        // A negative delay is an error of the clock.
        if let Ok(delay) = u64::try_from(delay_us) {
            self.delays.record(delay * 1000);
        }
        if sequence < self.latest {
            self.reordered += 1;
        }
        self.latest = self.latest.max(sequence);
    }
}

/// Returns a packet's number and its delay in microseconds from a line of ITGDec's list.
fn packet(line: &str) -> Option<(u64, i64)> {
    let sequence = between(line, "Seq>", "Src>")?.parse().ok()?;
    let departure = time_of_day_us(between(line, "txTime>", "rxTime>")?)?;
    let arrival = time_of_day_us(between(line, "rxTime>", "Size>")?)?;
    let delay = (arrival - departure + DAY_US / 2).rem_euclid(DAY_US) - DAY_US / 2;
    Some((sequence, delay))
}

/// Returns the microseconds of "23:36:8.811289" since midnight.
fn time_of_day_us(text: &str) -> Option<i64> {
    let (clock, fraction) = text.split_once('.')?;
    let mut parts = clock.split(':').map(|part| part.parse::<u8>().ok());
    let (hours, minutes, seconds) = (parts.next()??, parts.next()??, parts.next()??);
    let microseconds: i64 = fraction.parse::<u32>().ok().filter(|_| fraction.len() == 6)?.into();
    Some((i64::from(hours) * 3600 + i64::from(minutes) * 60 + i64::from(seconds)) * 1_000_000 + microseconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_under_way_at_midnight_has_its_delay() {
        let line =
            "Flow>0001 Seq>      7 Src> a/1 Dest> b/2 txTime>23:59:59.999900 rxTime>0:0:0.000150 Size> 8";
        assert_eq!(packet(line), Some((7, 250)));
        let back = line.replace("0:0:0.000150", "23:59:59.999000");
        assert_eq!(packet(&back), Some((7, -900)));
        assert_eq!(packet(&line.replace("999900", "99")), None);
    }
}
