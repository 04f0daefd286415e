//! `nettrial-engine` runs trials for the program that plans them, with one JSON document per line.
//!
//! The simulator, the agent, a machine of `hosts`, and the server and client that measure between two machines run
//! on any operating system. Everything else here needs Linux, and is in the module `linux`. On other systems
//! `elsewhere` replaces it with error messages. It is built for tests on Linux, too.

#[cfg(any(test, not(target_os = "linux")))]
mod elsewhere;
mod import;
mod lines;
#[cfg(target_os = "linux")]
mod linux;
mod logs;
mod machine;
mod path;
mod remote;
mod serve;

use clap::{Parser, Subcommand};
#[cfg(not(target_os = "linux"))]
use elsewhere as system;
#[cfg(target_os = "linux")]
use linux as system;
use std::collections::BTreeMap;

#[derive(Parser)]
#[command(version, about)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run trials in simulated time
    ///
    /// Reads requests from standard input and answers each with an event on standard output, one JSON
    /// document a line (see `schema`). The end of the input stops everything at once.
    Sim,
    /// Compute the rates of trials' flows from the network alone
    ///
    /// Reads requests from standard input and answers each with an event on standard output, one JSON
    /// document a line (see `schema`). The end of the input stops everything at once.
    Fluid,
    /// Generate and measure traffic on a host, for a backend
    ///
    /// Reads orders from standard input and answers on standard output. The end of the input ends it.
    Agent {
        /// End at once with the thread that started it, whatever ends that thread (Linux)
        #[arg(long)]
        dies_with_parent: bool,
    },
    /// Read measurements of iperf3
    ///
    /// Reads the texts of files from standard input and answers each with the measurements in it on standard
    /// output, one JSON document a line (see `schema`). The end of the input stops it.
    Import,
    /// Print the JSON Schema of scenarios, records, requests and events
    Schema {
        /// Print the schema of `path` instead
        #[arg(long)]
        path: bool,
    },
    /// Print the capabilities of each backend on a machine that lacks nothing
    Capabilities,
    #[command(flatten)]
    System(system::Command),
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    logs::start();
    match arguments.command {
        Command::Sim => serve::simulator(),
        Command::Fluid => serve::fluid(),
        Command::Agent { dies_with_parent } => {
            if dies_with_parent {
                // If that thread has ended already, the input has ended.
                nettrial_traffic::die_with_parent()?;
            }
            Ok(nettrial_traffic::run_agent(std::io::stdin().lock())?)
        }
        Command::Import => import::serve(),
        Command::Schema { path } => {
            let schema = if path { nettrial_path::schema() } else { nettrial_scenario::schema() };
            println!("{}", serde_json::to_string_pretty(&schema)?);
            Ok(())
        }
        Command::Capabilities => {
            let of_system = system::capabilities().into_iter();
            let all: BTreeMap<_, _> = of_system
                .chain([("sim", nettrial_sim::capabilities()), ("fluid", nettrial_fluid::capabilities())])
                .collect();
            println!("{}", serde_json::to_string_pretty(&all)?);
            Ok(())
        }
        Command::System(command) => system::run(command),
    }
}
