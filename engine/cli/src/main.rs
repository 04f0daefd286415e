//! `nettrial-engine`: runs trials for whoever plans them, one JSON document a line.

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(version, about)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Print the JSON Schema of scenarios, records, requests and events
    Schema,
}

fn main() -> anyhow::Result<()> {
    match Arguments::parse().command {
        Command::Schema => println!("{}", serde_json::to_string_pretty(&nettrial_scenario::schema())?),
    }
    Ok(())
}
