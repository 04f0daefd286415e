//! The traffic of other programs: starts them on the flow's two hosts, and reads their output into the same record
//! as that of nettrial's own traffic. A figure that a program does not print is absent.
//!
//! Each program has a module, which implements [`Program`]; [`process`] starts programs so that none outlives the
//! agent.

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

use crate::error::{Error, Result};
use crate::platform::Bounds;
use crate::protocol::Side;
use nettrial_scenario::{
    Flow, FlowRecord, Place, Problem, Tool, ToolName, ToolRecord, Traffic, Transport, chain,
};
pub use process::is_installed;
use process::{Finished, Process, Watch};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// The time in which a program must print its version.
const QUICK: Duration = Duration::from_secs(30);

/// The most descriptors of a receiving program, and so of connections that anyone can open to it.
const MOST_DESCRIPTORS: u64 = 256;

/// A flow from the point of view of its sending program.
struct Job<'a> {
    flow: &'a Flow,
    tool: &'a Tool,
    source: IpAddr,
    destination: SocketAddr,
    congestion_control: &'a str,
    /// The time between two readings of the transport's state.
    sample_period: Duration,
}

/// A program: its commands, and the parsing of its output.
trait Program: Sync {
    /// Returns the names of the programs that must be installed.
    fn names(&self, tool: &Tool) -> Vec<String>;

    /// Returns the command that installs them.
    fn remedy(&self) -> &'static str;

    /// Returns the command that prints the program's version; empty if the program is not known.
    fn version(&self) -> &'static [&'static str];

    /// Returns the settings of `flow` that the installed program does not support.
    fn problems(&self, _flow: &Flow, _tool: &Tool) -> Vec<(&'static str, String, String, String)> {
        Vec::new()
    }

    /// Returns true if the program has an option for the congestion control, which its command uses, or none of TCP's.
    fn chooses_congestion_control(&self) -> bool {
        true
    }

    /// Returns the bytes of a directory in memory in which the program's commands start without privileges, if
    /// they need one.
    fn shelter_bytes(&self, _tool: &Tool) -> Option<u64> {
        None
    }

    /// Returns the command on the receiving host, which is to open a port at `at`, or for a download the server on
    /// the sending host; `None` if there is none.
    fn receiver(&self, flow: &Flow, tool: &Tool, at: SocketAddr) -> Option<Vec<String>>;

    /// Returns the command on the sending host, or for a download the client on the receiving host.
    fn sender(&self, job: &Job) -> Vec<String>;

    /// Runs `command`, the result of [`sender`](Self::sender). Returns its output, and the congestion control of a
    /// connection if the program does not choose one.
    fn run(&self, tool: &Tool, command: &[String], limit: Duration) -> Result<Finished> {
        if let Some(bytes) = self.shelter_bytes(tool) {
            return Process::start_sheltered(command, bytes)?.finish(limit);
        }
        let watch = if self.chooses_congestion_control() { Watch::Nothing } else { Watch::Connections };
        process::run(command, watch, limit)
    }

    /// Returns the flow's figures from the output of the sending program.
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

/// Reads `text` as both outputs and the log of the program.
#[cfg(fuzzing)]
pub fn fuzz(flow: &Flow, tool: &Tool, text: &str) {
    let (printed, complained, logged) = (text.to_owned(), text.to_owned(), text.to_owned());
    let finished = Finished { succeeded: true, printed, complained, logged, ..Finished::default() };
    let _ = program(tool.tool).record(flow, tool, &finished);
}

/// Returns the reasons why `tool` can't carry `flow`, which is at `place`, on this machine; empty if there are
/// none.
pub fn problems(flow: &Flow, tool: &Tool, place: &Place) -> Vec<Problem> {
    let of_tool = place.within("traffic");
    let program = program(tool.tool);
    let missing: Vec<String> = program.names(tool).into_iter().filter(|name| !is_installed(name)).collect();
    if !missing.is_empty() {
        let value = format!("{} is not installed", missing.join(", "));
        return vec![of_tool.problem("tool", value, "an installed program", program.remedy()).of_machine()];
    }
    let problems = program.problems(flow, tool).into_iter();
    let of = |setting: &str| if ["transport", "ip"].contains(&setting) { place } else { &of_tool };
    problems
        .map(|(setting, value, expected, hint)| of(setting).problem(setting, value, expected, hint))
        .collect()
}

/// Returns the tools whose programs are not all installed: the tool with the missing programs, in words, and the commands that
/// install them.
pub fn lacking() -> Vec<(String, &'static str)> {
    use ToolName::{Ditg, Ftp, Http1, Http2, Http3, Iperf3, Netperf, Ping, Sockperf, Tftp};
    let lack = |name: ToolName| {
        let program = program(name);
        let missing: Vec<String> =
            program.names(&name.into()).into_iter().filter(|name| !process::is_installed(name)).collect();
        let words = format!("{} ({})", format!("{name:?}").to_lowercase(), missing.join(", "));
        (!missing.is_empty()).then(|| (words, program.remedy()))
    };
    [Iperf3, Ping, Netperf, Ditg, Sockperf, Ftp, Tftp, Http1, Http2, Http3]
        .into_iter()
        .filter_map(lack)
        .collect()
}

/// Returns the problem of a duration that is not whole seconds, for a program that accepts no other.
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

/// Starts the receiving program of `side`, if its tool has one. Returns its port once it listens; 0 without a
/// receiving program. It ends with the agent.
pub fn listen(side: &Side, tool: &Tool) -> Result<u16> {
    let at = side.address.socket(ports::free_pair(side.address.ip)?);
    let program = program(tool.tool);
    let Some(command) = program.receiver(&side.flow, tool, at) else { return Ok(0) };
    // The limits of a command of the user's own are the user's.
    let descriptors = (tool.tool != ToolName::Exec).then_some(MOST_DESCRIPTORS);
    let mut process =
        Process::serve(&command, Bounds { shelter_bytes: program.shelter_bytes(tool), descriptors })?;
    if command.iter().any(|word| word.contains(&at.port().to_string()))
        && let Err(error) = ports::await_listener(at.port(), &mut process)
    {
        let why = process.finish(Duration::ZERO).map_or_else(|why| chain(&why), |end| end.shown());
        return Err(Error::Program(format!("{}: {why}", chain(&error))));
    }
    let name = side.flow.name.clone();
    std::thread::spawn(move || {
        // The program runs until the agent ends. If it ends by itself, the sender's failure needs a reason.
        let why = process.finish(Duration::MAX).map_or_else(|error| chain(&error), |end| end.shown());
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
        source: side.address.ip,
        destination,
        congestion_control: &side.congestion_control,
        sample_period,
    };
    let command = program.sender(&job);
    let limit = tool.duration.unwrap_or_default().as_std() + side.patience();
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

/// Returns the version that a program prints: the first line with a digit.
fn version(command: &[String]) -> Result<String> {
    let finished = process::run(command, Watch::Nothing, QUICK)?;
    let line = finished.printed.lines().find(|line| line.contains(|letter: char| letter.is_ascii_digit()));
    Ok(line.unwrap_or_default().trim().to_owned())
}

/// Returns true if the traffic of `flow` is that of another program over TCP without an option for the congestion
/// control, so that its sockets have the system's default.
pub fn leaves_congestion_control(flow: &Flow) -> bool {
    let leaves = |tool: &Tool| !program(tool.tool).chooses_congestion_control();
    flow.transport == Transport::Tcp && of(flow).is_some_and(leaves)
}

/// Returns true if the traffic of `flow` is a download, in which its second host opens the connection and its
/// first one listens.
pub fn is_download(flow: &Flow) -> bool {
    of(flow).is_some_and(|tool| tool.tool.downloads())
}

/// Returns the tool of `flow`, if another program generates its traffic.
pub fn of(flow: &Flow) -> Option<&Tool> {
    match &flow.traffic {
        Traffic::Tool(tool) => Some(tool),
        _ => None,
    }
}
