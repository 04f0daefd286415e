//! This machine as one of the user's machines, on which `hosts` runs trials.

use anyhow::Result;
use clap::Subcommand;
use nettrial_scenario::{FailureKind, Fault};

/// The tasks of a machine.
#[derive(Subcommand)]
pub enum Machine {
    /// Answer the engine that runs trials, on standard input and output
    Serve,
    /// Restore the settings that were changed, at the end of standard input
    Guard,
    /// Restore the settings that a session left changed
    Restore,
    /// Restore them, and list the entries of the journal that can't be carried out, as a JSON document
    Forget {
        /// Keys of such entries, which are discarded
        keys: Vec<String>,
    },
}

/// The beginning of the line with the document of [`Machine::Forget`]. Earlier lines come from other programs, such
/// as login scripts.
const JOURNAL: &str = "nettrial-journal ";

/// The exit status if a session uses the machine. `nettrial/backends/hosts.py` knows it and the next one.
const BUSY: i32 = 98;
/// The exit status if a setting could not be restored.
const NOT_RESTORED: i32 = 99;

/// Does a task of a machine.
///
/// # Errors
/// Fails with what could not be restored.
pub fn machine(part: &Machine) -> Result<()> {
    match part {
        Machine::Serve => Ok(nettrial_hosts::serve()?),
        Machine::Guard => Ok(nettrial_hosts::guard()?),
        Machine::Restore => {
            let outcome = unless_busy(nettrial_hosts::restore())?;
            outcome.restored.iter().for_each(|setting| println!("restored {setting}"));
            match outcome.failed() {
                None => Ok(()),
                Some(failed) => end(NOT_RESTORED, &format!("not restored: {failed}")),
            }
        }
        Machine::Forget { keys } => {
            let outcome = unless_busy(nettrial_hosts::forget(keys))?;
            println!("{JOURNAL}{}", serde_json::to_string(&outcome)?);
            Ok(())
        }
    }
}

/// Returns a result, but ends this process if a session uses the machine.
fn unless_busy<T>(result: nettrial_hosts::Result<T>) -> Result<T> {
    match result {
        Err(error) if error.kind() == FailureKind::Busy => end(BUSY, &error.in_words()),
        result => Ok(result?),
    }
}

/// Ends this process with an error message and an exit status, which reaches another machine through ssh.
fn end(status: i32, message: &str) -> ! {
    eprintln!("Error: {message}");
    std::process::exit(status);
}
