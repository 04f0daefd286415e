//! `nettrial-engine`: runs trials for whoever plans them, one JSON document a line.

mod lines;
mod path;
mod remote;
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
    /// Run trials in simulated time
    ///
    /// Reads requests from standard input and answers each with an event on standard output, one JSON
    /// document a line (see `schema`). The end of the input stops everything at once.
    Sim,
    /// Generate and measure traffic on a host, for a backend
    ///
    /// Reads orders from standard input and answers on standard output. The end of the input ends it.
    Agent {
        /// End at once with the thread that started it, whatever ends that
        #[arg(long)]
        dies_with_parent: bool,
    },
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
    /// Print the JSON Schema of scenarios, records, requests and events
    Schema {
        /// That of `path` instead
        #[arg(long)]
        path: bool,
    },
}

fn main() -> anyhow::Result<()> {
    match Arguments::parse().command {
        Command::Lab => serve::lab(),
        Command::Sim => serve::simulator(),
        Command::Agent { dies_with_parent } => {
            if dies_with_parent {
                // Should that be over already, the input has ended.
                nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL)?;
            }
            nettrial_traffic::run_agent(std::io::stdin().lock())
        }
        Command::Path => path::answer(),
        Command::Serve(options) => remote::serve(options),
        Command::Measure(options) => remote::measure(&options),
        Command::Schema { path } => {
            let schema = if path { nettrial_path::schema() } else { nettrial_scenario::schema() };
            println!("{}", serde_json::to_string_pretty(&schema)?);
            Ok(())
        }
    }
}
