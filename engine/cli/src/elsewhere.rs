//! The commands on other systems, where those that need Linux fail with a message. Being one of the user's
//! machines (`machine serve`), serving and measuring work there, too.

pub mod iperf3;

use crate::serve::{refused, serve};
use crate::{machine, path, remote};
use anyhow::Result;
use clap::{Args, Subcommand};
use nettrial_scenario::{Capabilities, Preflight, Shortfall};
use std::ffi::OsString;

/// The exit status for a command that this machine can't run.
const CANNOT: i32 = 3;
/// The remedy on systems without Linux.
const REMEDY: &str = "use a machine with Linux; `nettrial run STUDY --backend sim` runs on any system";

/// The commands, which are those of `linux`.
#[derive(Subcommand)]
pub enum Command {
    /// Run trials between network namespaces of this machine (needs Linux)
    ///
    /// Reads requests as `sim` does, and answers them with the missing features.
    Lab,
    /// Run trials between network namespaces of a kernel in virtual time (needs Linux)
    ///
    /// Reads requests as `sim` does, and answers them with the missing features.
    Virtual(Ignored),
    /// Run trials between machines of the user's own (needs Linux)
    ///
    /// Reads requests as `sim` does, and answers them with the missing features.
    Hosts(Ignored),
    /// Be one of the machines on which `hosts` runs trials
    #[command(subcommand)]
    Machine(machine::Machine),
    /// Examine the path to a host
    ///
    /// Reads one request from standard input and answers it on standard output, a JSON document each
    /// (see `schema --path`). The end of the input stops it.
    Path,
    /// Serve clients on other machines: those of nettrial (those of iperf3 need Linux)
    Serve(remote::Serve),
    /// Measure between this machine and one that serves
    ///
    /// Reads measurements from standard input and answers each with an event on standard output, one JSON
    /// document a line (see `schema`). The end of the input stops everything at once.
    Measure(remote::Measure),
}

/// Arguments that are ignored.
#[derive(Args)]
pub struct Ignored {
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

/// Runs a command; refuses `lab`, `virtual` and `hosts` in their backend's protocol.
///
/// # Errors
/// Fails if nobody reads the answers.
pub fn run(command: Command) -> Result<()> {
    match command {
        Command::Lab => {
            let refusal = preflight("the lab");
            serve(|request| refused(&refusal, request))
        }
        Command::Virtual(_) => {
            let refusal = preflight("a kernel in virtual time");
            serve(|request| refused(&refusal, request))
        }
        Command::Hosts(_) => {
            let refusal = preflight("driving machines of your own");
            serve(|request| refused(&refusal, request))
        }
        Command::Machine(part) => machine::machine(&part),
        Command::Path => path::answer(),
        Command::Serve(options) => remote::serve(options),
        Command::Measure(options) => remote::measure(&options),
    }
}

/// Returns the capabilities of the backends that need Linux, which is an empty list, because they do not run here.
pub fn capabilities() -> Vec<(&'static str, Capabilities)> {
    Vec::new()
}

/// Ends the program with the error that the command does not run on this system.
fn end(command: &str) -> ! {
    eprintln!("error: {}", message(command));
    std::process::exit(CANNOT)
}

fn message(command: &str) -> String {
    format!(
        "this machine can't run it: `{command}` needs Linux, and this system is {}; {REMEDY}",
        nettrial_traffic::system_name()
    )
}

/// Returns the findings of a backend that needs Linux; `what` names the part that needs it.
fn preflight(what: &str) -> Preflight {
    let mut preflight = nettrial_sim::preflight();
    preflight.capabilities = None;
    preflight.environment.kernel = nettrial_traffic::system_name();
    preflight.environment.congestion_controls.clear();
    preflight.missing = vec![Shortfall::new(
        "Linux",
        format!("{what} needs Linux, and this system is {}", nettrial_traffic::system_name()),
        REMEDY,
    )];
    preflight
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Command as Parser;
    use nettrial_scenario::{Event, Request};

    /// Returns the names of the commands, except for the hidden ones, which run only inside a guest.
    fn names<C: Subcommand>() -> Vec<String> {
        let parser = C::augment_subcommands(Parser::new("nettrial-engine"));
        let shown = parser.get_subcommands().filter(|command| !command.is_hide_set());
        shown.map(|command| command.get_name().to_owned()).collect()
    }

    #[test]
    fn the_commands_are_those_of_linux() {
        assert_eq!(names::<Command>(), names::<crate::system::Command>());
    }

    /// Fails to compile unless a module has these items, which both modules must have.
    fn is_system<C: Subcommand>(
        _run: fn(C) -> Result<()>,
        _capabilities: fn() -> Vec<(&'static str, Capabilities)>,
    ) {
    }

    #[test]
    fn main_can_use_it_as_it_uses_linux() {
        is_system(run, capabilities);
        is_system(crate::linux::run, crate::linux::capabilities);
    }

    /// Fails to compile unless a client has this function, which both clients must have.
    fn measures<C, E: nettrial_scenario::Fault>(
        _run: fn(&C, &nettrial_scenario::Measure) -> Result<nettrial_scenario::Record, E>,
    ) {
    }

    #[test]
    fn iperf3s_protocol_has_what_linux_has() {
        let _: fn(std::net::SocketAddr) -> iperf3::Client = iperf3::Client::new;
        measures(iperf3::Client::run);
        measures(crate::linux::iperf3::Client::run);
        let _: fn(&nettrial_scenario::Measure) -> Vec<nettrial_scenario::Problem> = iperf3::problems;
        let _ = iperf3::serve::<fn(std::net::SocketAddr)>;
        assert_eq!(iperf3::PORT, crate::linux::iperf3::PORT);
    }

    #[test]
    fn every_argument_is_taken_that_linux_takes() {
        for line in ["e serve --iperf3 --port 1", "e measure 192.0.2.1:5210 --token-file x", "e hosts {}"] {
            let parser = Command::augment_subcommands(Parser::new("e"));
            parser.try_get_matches_from(line.split(' ')).expect(line);
        }
    }

    #[test]
    fn the_lab_says_what_is_missing() {
        let refusal = preflight("the lab");
        let Event::Preflight { preflight } = refused(&refusal, Request::Preflight { thorough: false }) else {
            panic!("no preflight")
        };
        assert_eq!(preflight.missing[0].what, "Linux");
        assert!(preflight.missing[0].remedy.contains("--backend sim"));
        assert!(
            message("serve --iperf3").starts_with("this machine can't run it: `serve --iperf3` needs Linux")
        );
    }
}
