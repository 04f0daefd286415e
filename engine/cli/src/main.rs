//! `nettrial-engine`: runs trials for whoever plans them, one JSON document a line.
//!
//! The simulator runs on any operating system; everything else here needs Linux, and is in the module `linux`.
//! `elsewhere` stands in for that on other systems, and says so. It is built for tests on Linux, too.

#[cfg(any(test, not(target_os = "linux")))]
mod elsewhere;
mod lines;
#[cfg(target_os = "linux")]
mod linux;
mod serve;

use clap::{Parser, Subcommand};
#[cfg(not(target_os = "linux"))]
use elsewhere as system;
#[cfg(target_os = "linux")]
use linux as system;

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
    /// Print the JSON Schema of scenarios, records, requests and events
    Schema {
        /// That of `path` instead
        #[arg(long)]
        path: bool,
    },
    #[command(flatten)]
    System(system::Command),
}

fn main() -> anyhow::Result<()> {
    match Arguments::parse().command {
        Command::Sim => serve::simulator(),
        Command::Schema { path } => {
            let schema = if path { system::path_schema() } else { nettrial_scenario::schema() };
            println!("{}", serde_json::to_string_pretty(&schema)?);
            Ok(())
        }
        Command::System(command) => system::run(command),
    }
}
