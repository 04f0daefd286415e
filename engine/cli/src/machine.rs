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
    /// Restore them, and list the entries of the journal that can't be carried out, as a JSON document
    Forget {
        /// Keys of such entries, which are discarded
        keys: Vec<String>,
    },
}

/// The beginning of the line with the document of [`Machine::Forget`]. Earlier lines come from other programs, such
/// as login scripts.
const JOURNAL: &str = "nettrial-journal ";

/// Does a task of a machine.
///
/// # Errors
/// Fails with what could not be restored.
pub fn machine(part: &Machine) -> Result<()> {
    match part {
        Machine::Serve => Ok(nettrial_hosts::serve()?),
        Machine::Guard => Ok(nettrial_hosts::guard()?),
        Machine::Restore => {
            let outcome = nettrial_hosts::restore()?;
            outcome.restored.iter().for_each(|setting| println!("restored {setting}"));
            match outcome.failed() {
                None => Ok(()),
                Some(failed) => bail!("not restored: {failed}"),
            }
        }
        Machine::Forget { keys } => {
            println!("{JOURNAL}{}", serde_json::to_string(&nettrial_hosts::forget(keys)?)?);
            Ok(())
        }
    }
}
