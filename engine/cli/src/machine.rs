//! This machine as one of the user's, on which `hosts` runs trials.

use anyhow::{Result, bail};
use clap::Subcommand;

/// The parts that a machine does.
#[derive(Subcommand)]
pub enum Machine {
    /// Answer the engine that runs trials, on standard input and output
    Serve,
    /// Restore what was changed, at the end of standard input
    Guard,
    /// Restore what a session left changed
    Restore,
}

/// Does the part of a machine.
///
/// # Errors
/// Fails with what could not be restored.
pub fn machine(part: &Machine) -> Result<()> {
    match part {
        Machine::Serve => nettrial_hosts::serve(),
        Machine::Guard => nettrial_hosts::guard(),
        Machine::Restore => {
            let outcome = nettrial_hosts::restore()?;
            outcome.restored.iter().for_each(|setting| println!("restored {setting}"));
            if !outcome.failed.is_empty() {
                bail!("not restored: {}", outcome.failed.join("; "));
            }
            Ok(())
        }
    }
}
