//! Downloads by HTTP/3 (RFC 9114) with gtlsclient and gtlsserver of ngtcp2 (tested with 0.12.1). Times are those
//! at which the client logs frames, in whole milliseconds since the beginning of the connection.

use super::download::{self, FILE, MAKE_CERTIFICATE, SAY_SIZE, Times, shell};
use super::process::Finished;
use super::{Job, Program, words};
use crate::error::{Context, Error, Result};
use nettrial_scenario::{Flow, FlowRecord, Tool};
use std::net::SocketAddr;

/// The memory of the server in KiB. It has no bound on its connections, each of which takes memory.
const MOST_MEMORY_KIB: u32 = 512 << 10;

/// The programs `gtlsclient` and `gtlsserver`.
pub struct Http3;

impl Program for Http3 {
    fn names(&self, _tool: &Tool) -> Vec<String> {
        words(&["gtlsclient", "gtlsserver", "openssl"])
    }

    fn remedy(&self) -> &'static str {
        "apt-get install ngtcp2-client ngtcp2-server openssl (Debian starts the server, too: systemctl disable --now ngtcp2d)"
    }

    fn version(&self) -> &'static [&'static str] {
        // Neither program prints its version.
        &[]
    }

    fn shelter_bytes(&self, tool: &Tool) -> Option<u64> {
        Some(download::shelter_bytes(tool))
    }

    fn receiver(&self, _flow: &Flow, tool: &Tool, at: SocketAddr) -> Option<Vec<String>> {
        let script = format!(
            "{MAKE_CERTIFICATE}address=$1 && port=$2 && shift 2 && ulimit -v {MOST_MEMORY_KIB} && \
             exec gtlsserver --quiet --max-dyn-length=0 --htdocs=/run/served \"$@\" \"$address\" \"$port\" key.pem certificate.pem"
        );
        let (address, port) = (at.ip().to_string(), at.port().to_string());
        Some(download::server(tool, &script, &[&address, &port]))
    }

    fn sender(&self, job: &Job) -> Vec<String> {
        let client = "gtlsclient --exit-on-all-streams-close --no-quic-dump --no-http-dump --download=.";
        let script = format!("{client} \"$@\" && {SAY_SIZE}");
        let (to, port) = (job.destination.ip().to_string(), job.destination.port().to_string());
        let url = format!("https://{}/{FILE}", job.destination);
        let mut arguments = job.tool.arguments.clone();
        arguments.extend([to, port, url]);
        shell(&script, &[], &arguments)
    }

    fn record(&self, flow: &Flow, tool: &Tool, finished: &Finished) -> Result<FlowRecord> {
        finished.check()?;
        let times = times(&finished.complained).context("reading the client's log")?;
        download::record(flow, tool, download::size_said(&finished.printed), &times).context("gtlsclient")
    }
}

/// Returns the times at which the request was sent and the last frame of the answer arrived. The first stream of a
/// connection is 0.
fn times(log: &str) -> Result<Times> {
    let frames = |direction: &str| {
        let frames = log.lines().filter(|line| line.contains(" STREAM(") && line.contains(" id=0x0 "));
        let direction = format!(" frm {direction} ");
        frames.filter(move |line| line.contains(&direction)).filter_map(seconds)
    };
    let asked = frames("tx").next().ok_or_else(|| Error::Program("no request left".into()))?;
    let done = frames("rx").next_back().ok_or_else(|| Error::Program("no answer came".into()))?;
    Ok(Times { connected: Some(asked), ready: asked, done })
}

/// Returns the time of a line of the log, which begins with "I" and milliseconds.
fn seconds(line: &str) -> Option<f64> {
    let milliseconds: u32 = line.strip_prefix('I')?.split(' ').next()?.parse().ok()?;
    Some(f64::from(milliseconds) / 1e3)
}
