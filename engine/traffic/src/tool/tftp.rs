//! Downloads by TFTP (RFC 1350) with the options for the size of blocks (RFC 2348) and of windows (RFC 7440): atftp and
//! atftpd (tested with 0.8.0).

use super::download::{self, FILE, MOST_CLIENTS, SAY_SIZE, Times, shell};
use super::process::Finished;
use super::text::number;
use super::{Job, Program, words};
use crate::error::{Context, Error, Result};
use nettrial_scenario::{Flow, FlowRecord, IpVersion, Tool};
use std::fmt::Write;
use std::net::SocketAddr;

/// The programs `atftp` and `atftpd`.
pub struct Tftp;

impl Program for Tftp {
    fn names(&self, _tool: &Tool) -> Vec<String> {
        words(&["atftp", "atftpd"])
    }

    fn remedy(&self) -> &'static str {
        "apt-get install atftp atftpd"
    }

    fn version(&self) -> &'static [&'static str] {
        &["atftp", "--version"]
    }

    fn problems(&self, flow: &Flow, _tool: &Tool) -> Vec<(&'static str, String, String, String)> {
        if flow.ip == IpVersion::V6 {
            return vec![("ip", "6".into(), "4".into(), "atftpd serves nothing over IPv6".into())];
        }
        Vec::new()
    }

    fn shelter_bytes(&self, tool: &Tool) -> Option<u64> {
        Some(download::shelter_bytes(tool))
    }

    fn receiver(&self, _flow: &Flow, tool: &Tool, at: SocketAddr) -> Option<Vec<String>> {
        // The server keeps the user that it already has.
        let script = format!(
            "exec atftpd --daemon --no-fork --no-multicast --bind-address \"$1\" --port \"$2\" \
             --maxthread {MOST_CLIENTS} --user \"$(id -un)\" --group \"$(id -gn)\" --logfile - /run/served"
        );
        let (address, port) = (at.ip().to_string(), at.port().to_string());
        Some(download::server(tool, &script, &[&address, &port]))
    }

    fn sender(&self, job: &Job) -> Vec<String> {
        let mut commands = String::new();
        if let Some(block) = job.tool.block_size {
            let _ = writeln!(commands, "option blksize {}", block.0);
        }
        if let Some(window) = job.tool.window_size {
            let _ = writeln!(commands, "option windowsize {window}");
        }
        let _ = write!(commands, "get {FILE}\nstatus\nquit\n");
        // atftp prints the time only if a command requests it.
        let client = "commands=$1 && shift && printf %s \"$commands\" | atftp \"$@\" 2>&1";
        let script = format!("{client} && {SAY_SIZE}");
        let (to, port) = (job.destination.ip().to_string(), job.destination.port().to_string());
        let mut arguments = job.tool.arguments.clone();
        arguments.extend([to, port]);
        shell(&script, &[&commands], &arguments)
    }

    fn record(&self, flow: &Flow, tool: &Tool, finished: &Finished) -> Result<FlowRecord> {
        finished.check()?;
        let printed = &finished.printed;
        let Some(time) = number(printed, "Time of transfer:", "s") else {
            return Err(Error::Program(format!("atftp printed no time of transfer; {}", finished.shown())));
        };
        let times = Times { connected: None, ready: 0.0, done: time };
        download::record(flow, tool, download::size_said(printed), &times).context("atftp")
    }
}
