//! `nettrial-engine`: runs trials for whoever plans them, one JSON document a line.
//!
//! The simulator, the agent, a machine of `hosts`, and what serves and measures between two machines run on any operating
//! system; everything else here needs Linux, and is in the module `linux`.
//! `elsewhere` stands in for that on other systems, and says so. It is built for tests on Linux, too.

#[cfg(any(test, not(target_os = "linux")))]
mod elsewhere;
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
    /// Generate and measure traffic on a host, for a backend
    ///
    /// Reads orders from standard input and answers on standard output. The end of the input ends it.
    Agent {
        /// End at once with the thread that started it, whatever ends that (Linux)
        #[arg(long)]
        dies_with_parent: bool,
    },
    /// Print the JSON Schema of scenarios, records, requests and events
    Schema {
        /// Print that of `path` instead
        #[arg(long)]
        path: bool,
    },
    /// Print the capabilities of each backend where nothing is missing
    Capabilities,
    #[command(flatten)]
    System(system::Command),
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    logs::start();
    match arguments.command {
        Command::Sim => serve::simulator(),
        Command::Agent { dies_with_parent } => {
            if dies_with_parent {
                // Should that be over already, the input has ended.
                nettrial_traffic::die_with_parent()?;
            }
            nettrial_traffic::run_agent(std::io::stdin().lock())
        }
        Command::Schema { path } => {
            let schema = if path { nettrial_path::schema() } else { nettrial_scenario::schema() };
            println!("{}", serde_json::to_string_pretty(&schema)?);
            Ok(())
        }
        Command::Capabilities => {
            let of_system = system::capabilities().into_iter();
            let all: BTreeMap<_, _> = of_system.chain([("sim", nettrial_sim::capabilities())]).collect();
            println!("{}", serde_json::to_string_pretty(&all)?);
            Ok(())
        }
        Command::System(command) => system::run(command),
    }
}
