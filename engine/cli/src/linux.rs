//! The commands that need Linux: its network namespaces, its sockets' options, its files of the kernel's state.

mod lab;
mod path;
mod remote;

use anyhow::Result;
use clap::Subcommand;
use nettrial_scenario::Capabilities;
use schemars::Schema;

/// The commands.
#[derive(Subcommand)]
pub enum Command {
    /// Run trials between network namespaces of this machine
    ///
    /// Reads requests from standard input and answers each with an event on standard output, one JSON
    /// document a line (see `schema`). The end of the input stops everything at once.
    Lab,
    /// Examine the path to a host
    ///
    /// Reads one request from standard input and answers it on standard output, a JSON document each
    /// (see `schema --path`). The end of the input stops it.
    Path,
    /// Serve clients on other machines: those of nettrial, or of iperf3
    Serve(remote::Serve),
    /// Measure between this machine and one that serves
    ///
    /// Reads measurements from standard input and answers each with an event on standard output, one JSON
    /// document a line (see `schema`). The end of the input stops everything at once.
    Measure(remote::Measure),
}

/// Does what a command says.
///
/// # Errors
/// Those of the command.
pub fn run(command: Command) -> Result<()> {
    match command {
        Command::Lab => lab::serve(),
        Command::Path => path::answer(),
        Command::Serve(options) => remote::serve(options),
        Command::Measure(options) => remote::measure(&options),
    }
}

/// The lab's capabilities.
pub fn lab_capabilities() -> Option<Capabilities> {
    Some(nettrial_lab::capabilities())
}

/// The schema of `path`.
pub fn path_schema() -> Schema {
    nettrial_path::schema()
}
