//! Other programs' traffic: starts them on the flow's two hosts and reads what they print into the same
//! record that nettrial's own traffic gives. A figure that a program does not print is absent.
//!
//! One module a program, all behind [`Program`]; [`process`] starts them so that none outlives the agent.

mod curl;
mod ditg;
mod download;
mod exec;
mod http3;
mod iperf3;
mod netperf;
mod ping;
mod ports;
mod process;
mod record;
mod sockperf;
#[cfg(test)]
mod tests;
mod text;
mod tftp;

use crate::protocol::Side;
use crate::tcp::PATIENCE;
use anyhow::{Result, bail};
use nettrial_scenario::{Flow, FlowRecord, Place, Problem, Tool, ToolName, ToolRecord, Traffic, Transport};
pub use process::is_installed;
use process::{Finished, Process, Watch};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// Time that a program may take to say its version.
const QUICK: Duration = Duration::from_secs(5);

/// A flow as its sending program is told of it.
struct Job<'a> {
    flow: &'a Flow,
    tool: &'a Tool,
    source: IpAddr,
    destination: SocketAddr,
    congestion_control: &'a str,
    /// Time from one reading of the transport's state to the next.
    sample_period: Duration,
}

/// A program: its commands, and the reading of its output.
trait Program: Sync {
    /// The programs that must be installed.
    fn names(&self, tool: &Tool) -> Vec<String>;

    /// The command that installs them.
    fn remedy(&self) -> &'static str;

    /// The command that makes the program say its version; empty where no program is known.
    fn version(&self) -> &'static [&'static str];

    /// The settings of `flow` that the installed program cannot carry out.
    fn problems(&self, _flow: &Flow, _tool: &Tool) -> Vec<(&'static str, String, String, String)> {
        Vec::new()
    }

    /// Returns true if the program has an option for the congestion control, which its command uses, or none of TCP's.
    fn chooses_congestion_control(&self) -> bool {
        true
    }

    /// The bytes of a directory in memory, in which the program's commands begin without privileges, if they need one.
    fn shelter_bytes(&self, _tool: &Tool) -> Option<u64> {
        None
    }

    /// The command on the receiving host, or a download's server on the sending host, if there is one, which is to open a
    /// port at `at`.
    fn receiver(&self, flow: &Flow, tool: &Tool, at: SocketAddr) -> Option<Vec<String>>;

    /// The command on the sending host, or a download's client on the receiving host.
    fn sender(&self, job: &Job) -> Vec<String>;

    /// Runs `command`, which is [`sender`](Self::sender)'s; what it printed, and the congestion control of a connection of a program that
    /// chooses none.
    fn run(&self, tool: &Tool, command: &[String], limit: Duration) -> Result<Finished> {
        if let Some(bytes) = self.shelter_bytes(tool) {
            return Process::start_sheltered(command, bytes)?.finish(limit);
        }
        let watch = if self.chooses_congestion_control() { Watch::Nothing } else { Watch::Connections };
        process::run(command, watch, limit)
    }

    /// The flow's figures out of what the sending program printed.
    fn record(&self, flow: &Flow, tool: &Tool, finished: &Finished) -> Result<FlowRecord>;
}

fn program(name: ToolName) -> &'static dyn Program {
    match name {
        ToolName::Iperf3 => &iperf3::Iperf3,
        ToolName::Ping => &ping::Ping,
        ToolName::Netperf => &netperf::Netperf,
        ToolName::Ditg => &ditg::Ditg,
        ToolName::Sockperf => &sockperf::Sockperf,
        ToolName::Ftp => &curl::FTP,
        ToolName::Tftp => &tftp::Tftp,
        ToolName::Http1 => &curl::HTTP1,
        ToolName::Http2 => &curl::HTTP2,
        ToolName::Http3 => &http3::Http3,
        ToolName::Exec => &exec::Exec,
    }
}

/// The problems that keep `tool` from carrying `flow`, which is at `place`, on this machine; empty if nothing does.
pub fn problems(flow: &Flow, tool: &Tool, place: &Place) -> Vec<Problem> {
    let of_tool = place.within("traffic");
    let program = program(tool.tool);
    let missing: Vec<String> = program.names(tool).into_iter().filter(|name| !is_installed(name)).collect();
    if !missing.is_empty() {
        let value = format!("{} is not installed", missing.join(", "));
        return vec![of_tool.problem("tool", value, "an installed program", program.remedy())];
    }
    let problems = program.problems(flow, tool).into_iter();
    let of = |setting: &str| if ["transport", "ip"].contains(&setting) { place } else { &of_tool };
    problems
        .map(|(setting, value, expected, hint)| of(setting).problem(setting, value, expected, hint))
        .collect()
}

/// The problem of a duration that is not whole seconds, for a program that takes no other.
fn whole_seconds(tool: &Tool) -> Vec<(&'static str, String, String, String)> {
    let duration = tool.duration.unwrap_or_default();
    if duration.0 > 0 && duration.0.is_multiple_of(1_000_000_000) {
        return Vec::new();
    }
    let (expected, hint) = ("whole seconds", "the program's own option takes no other");
    vec![("duration", duration.to_string(), expected.into(), hint.into())]
}

fn seconds(tool: &Tool) -> String {
    tool.duration.unwrap_or_default().as_std().as_secs().to_string()
}

fn words(fixed: &[&str]) -> Vec<String> {
    fixed.iter().map(|word| (*word).to_owned()).collect()
}

/// Starts the receiving program of `side`, if its tool has one, and gives its port once it listens; 0
/// where there is none. It ends with the agent.
pub fn listen(side: &Side, tool: &Tool) -> Result<u16> {
    let at = SocketAddr::new(side.address, ports::free_pair(side.address)?);
    let program = program(tool.tool);
    let Some(command) = program.receiver(&side.flow, tool, at) else { return Ok(0) };
    let mut process = match program.shelter_bytes(tool) {
        Some(bytes) => Process::start_sheltered(&command, bytes)?,
        None => Process::start(&command, Watch::Nothing)?,
    };
    if command.iter().any(|word| word.contains(&at.port().to_string()))
        && let Err(error) = ports::await_listener(at.port(), &mut process)
    {
        let why = process.finish(Duration::ZERO).map_or_else(|why| format!("{why:#}"), |end| end.shown());
        bail!("{error:#}: {why}");
    }
    let name = side.flow.name.clone();
    std::thread::spawn(move || {
        // Until the agent ends, unless it ends by itself: then the sender's failure needs a reason.
        let why = process.finish(Duration::MAX).map_or_else(|error| format!("{error:#}"), |end| end.shown());
        eprintln!("flow {name:?}: {why}");
    });
    Ok(at.port())
}

/// Runs the sending program of `side` to its end.
pub fn run(side: &Side, tool: &Tool, destination: SocketAddr, sample_period: Duration) -> Result<FlowRecord> {
    let program = program(tool.tool);
    let job = Job {
        flow: &side.flow,
        tool,
        source: side.address,
        destination,
        congestion_control: &side.congestion_control,
        sample_period,
    };
    let command = program.sender(&job);
    let limit = tool.duration.unwrap_or_default().as_std() + PATIENCE;
    let finished = program.run(tool, &command, limit)?;
    let mut record = program.record(&side.flow, tool, &finished)?;
    if leaves_congestion_control(&side.flow) {
        record.congestion_control.clone_from(&finished.congestion_control);
    }
    let version = match program.version() {
        [] => String::new(),
        words => version(&self::words(words))?,
    };
    record.tool = Some(ToolRecord { version, command, output: finished.cut() });
    Ok(record)
}

/// A program's version in its own words: the first line it prints that has a digit.
fn version(command: &[String]) -> Result<String> {
    let finished = process::run(command, Watch::Nothing, QUICK)?;
    let line = finished.printed.lines().find(|line| line.contains(|letter: char| letter.is_ascii_digit()));
    Ok(line.unwrap_or_default().trim().to_owned())
}

/// Returns true if the traffic of `flow` is another program's over TCP that has no option for the congestion control: its
/// sockets have the system's default.
pub fn leaves_congestion_control(flow: &Flow) -> bool {
    let leaves = |tool: &Tool| !program(tool.tool).chooses_congestion_control();
    flow.transport == Transport::Tcp && of(flow).is_some_and(leaves)
}

/// Returns true if the traffic of `flow` is a download: its second host begins, and its first one listens.
pub fn is_download(flow: &Flow) -> bool {
    of(flow).is_some_and(|tool| tool.tool.downloads())
}

/// The tool of `flow`, if another program makes its traffic.
pub fn of(flow: &Flow) -> Option<&Tool> {
    match &flow.traffic {
        Traffic::Tool(tool) => Some(tool),
        _ => None,
    }
}
