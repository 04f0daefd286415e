//! iperf3 (tested with 3.12, and with documents of 3.1 to 3.21): the goodput that the receiver counts; over TCP also the
//! sender's TCP_INFO in intervals, over UDP loss, order and jitter.

use super::process::{Finished, Watch, run};
use super::{Job, Program, QUICK, seconds, whole_seconds, words};
use crate::error::{Error, Result};
use crate::iperf3::documents;
use nettrial_scenario::{Flow, FlowRecord, ImportedDocument, Iperf3Refusal, Tool, Transport};
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
        let test = match documents(&finished.printed).into_iter().next() {
            Some(ImportedDocument::Iperf3 { test }) => test,
            Some(ImportedDocument::Refused { refusal }) => return Err(refused(refusal)),
            _ => return Err(Error::Program(format!("iperf3 printed no JSON; {}", finished.shown()))),
        };
        finished.check()?;
        // With `--bidir`, the flow is the direction from its sender.
        let measured = test.directions.into_iter().next().map(|direction| direction.record);
        let measured = measured.filter(|record| record.goodput_bps.is_some()).ok_or_else(unknown)?;
        Ok(FlowRecord { name: flow.name.clone(), transport: flow.transport, ip: flow.ip, ..measured })
    }
}

fn unknown() -> Error {
    Error::Program("iperf3 does not say what the receiver got".into())
}

/// Returns the error about a document that can't be used.
fn refused(refusal: Iperf3Refusal) -> Error {
    match refusal {
        Iperf3Refusal::TestFailed { error } | Iperf3Refusal::NoClient { error } => {
            Error::Program(format!("iperf3: {error}"))
        }
        Iperf3Refusal::BadField { place, value, expected } => {
            Error::Program(format!("iperf3 printed {value} as {place}; expected: {expected}"))
        }
        Iperf3Refusal::OtherRate { bits_per_second, bytes, seconds } => {
            let rate = format!("{bits_per_second} bit/s, which is not that of {bytes} bytes in {seconds} s");
            Error::Program(format!("iperf3 printed the rate {rate}"))
        }
        Iperf3Refusal::NoSettings {} | Iperf3Refusal::NoAddress {} => {
            Error::Program("iperf3 printed neither the settings of the test nor its address".into())
        }
        Iperf3Refusal::NoSums {} | Iperf3Refusal::NoFigure { .. } => unknown(),
    }
}
