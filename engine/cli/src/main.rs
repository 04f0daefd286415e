//! `nettrial-engine`: runs trials for whoever plans them, one JSON document a line.

mod serve;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(version, about)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run trials between network namespaces of this machine
    ///
    /// Reads requests from standard input and answers each with an event on standard output, one JSON
    /// document a line (see `schema`). The end of the input stops everything at once.
    Lab,
    /// Generate and measure traffic on a host, for a backend
    ///
    /// Reads orders from standard input and answers on standard output. The end of the input ends it.
    Agent,
    /// Print the JSON Schema of scenarios, records, requests and events
    Schema,
}

fn main() -> anyhow::Result<()> {
    match Arguments::parse().command {
        Command::Lab => serve::lab(),
        Command::Agent => nettrial_traffic::run_agent(std::io::stdin().lock()),
        Command::Schema => {
            println!("{}", serde_json::to_string_pretty(&nettrial_scenario::schema())?);
            Ok(())
        }
    }
}
