//! This machine as one of the user's machines, on which `hosts` runs trials.

use anyhow::{Result, bail};
use clap::Subcommand;

/// The tasks of a machine.
#[derive(Subcommand)]
pub enum Machine {
    /// Answer the engine that runs trials, on standard input and output
    Serve,
    /// Restore the settings that were changed, at the end of standard input
    Guard,
    /// Restore the settings that a session left changed
    Restore,
}

/// Does a task of a machine.
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
