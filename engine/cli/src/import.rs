//! Reads the texts of files, and answers each with the measurements of iperf3 in it.

use crate::lines;
use anyhow::Result;
use nettrial_scenario::{ImportAnswer, ImportRequest};

/// Answers requests until the input ends.
///
/// # Errors
/// Fails if nobody reads the answers.
pub fn serve() -> Result<()> {
    for line in lines::input() {
        let answer = match serde_json::from_str::<ImportRequest>(&line) {
            Ok(request) => nettrial_traffic::read_imports(&request),
            Err(error) => ImportAnswer::Refused { message: format!("not a request: {error}") },
        };
        lines::output(&answer)?;
    }
    Ok(())
}
