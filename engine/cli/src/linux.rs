//! The commands that need Linux: its network namespaces, its socket options and its files with the kernel's state.

mod hosts;
mod in_virtual_time;
mod lab;
mod station;

pub use nettrial_iperf3 as iperf3;

use crate::{machine, path, remote};

use anyhow::Result;
use clap::Subcommand;
use nettrial_lab::Clock;
use nettrial_scenario::Capabilities;

/// The commands.
#[derive(Subcommand)]
pub enum Command {
    /// Run trials between network namespaces of this machine
    ///
    /// Reads requests from standard input and answers each with an event on standard output, one JSON
    /// document a line (see `schema`). The end of the input stops everything at once.
    Lab(lab::Options),
    /// Run trials between network namespaces of a kernel in virtual time
    ///
    /// Reads requests from standard input and answers each with an event on standard output, one JSON
    /// document a line (see `schema`). The end of the input stops everything at once.
    Virtual(in_virtual_time::Options),
    /// Run trials between machines of the user's own
    ///
    /// Connects to the machines of the inventory with commands such as ssh. Reads requests from standard input and
    /// answers each with an event on standard output, one JSON document a line (see `schema`). The end of the
    /// input stops everything, and restores the settings of the machines.
    Hosts(hosts::Hosts),
    /// Be one of the machines on which `hosts` runs trials
    #[command(subcommand)]
    Machine(machine::Machine),
    /// Be a guest of the lab, or a node in a guest
    #[command(subcommand, hide = true)]
    Guest(Guest),
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

/// The processes of a guest.
#[derive(Subcommand)]
pub enum Guest {
    /// Be the first process of a guest
    Init,
    /// Be the agent of a guest whose system has another first process
    Serve,
    /// Be a node of a trial
    Node,
    /// Be the first process of a kernel in virtual time
    Virtual,
}

/// The arguments with which this program is a node in a guest.
const GUEST_NODE: &[&str] = &["guest", "node"];

/// Runs a command.
///
/// # Errors
/// Fails if the command fails.
pub fn run(command: Command) -> Result<()> {
    match command {
        Command::Lab(options) => lab::serve(options),
        Command::Virtual(options) => in_virtual_time::serve(options),
        Command::Hosts(options) => hosts::serve(&options),
        Command::Machine(part) => machine::machine(&part),
        Command::Guest(Guest::Init) => Ok(nettrial_guest::init(GUEST_NODE)?),
        Command::Guest(Guest::Serve) => Ok(nettrial_guest::serve(GUEST_NODE)?),
        Command::Guest(Guest::Node) => Ok(nettrial_lab::guest_node()?),
        Command::Guest(Guest::Virtual) => in_virtual_time::init(),
        Command::Path => path::answer(),
        Command::Serve(options) => remote::serve(options),
        Command::Measure(options) => remote::measure(&options),
    }
}

/// Returns the capabilities of the backends that need Linux, by name.
pub fn capabilities() -> Vec<(&'static str, Capabilities)> {
    vec![
        ("hosts", nettrial_hosts::capabilities()),
        ("lab", nettrial_lab::capabilities(Clock::Real)),
        ("virtual", nettrial_lab::capabilities(Clock::Virtual)),
    ]
}
