//! Reads a path request, and writes its answer.

use anyhow::{Context, Result};
use nettrial_admission::read_line;
use nettrial_path::{PathAnswer, PathRequest};
use nettrial_scenario::Place;
use std::io::Write;

/// The largest length of a request, in bytes.
const MOST_REQUEST_BYTES: u64 = 1 << 20;

/// Answers the request on standard input.
pub fn answer() -> Result<()> {
    let mut input = std::io::BufReader::new(std::io::stdin());
    let mut line = Vec::new();
    read_line(&mut input, &mut line, MOST_REQUEST_BYTES).context("reading the request")?;
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut input, &mut std::io::sink());
        // The program that asked is gone.
        std::process::exit(0);
    });
    let answer = match serde_json::from_slice::<PathRequest>(&line) {
        Ok(request) => nettrial_path::examine(&request),
        Err(error) => {
            let hint = error.to_string();
            let problem = Place::new("", "the path").problem_here(
                "request",
                String::from_utf8_lossy(&line).trim(),
                "a path request",
                hint,
            );
            PathAnswer::BadRequest { problem }
        }
    };
    let mut output = std::io::stdout().lock();
    writeln!(output, "{}", serde_json::to_string(&answer)?)?;
    output.flush().context("answering")
}
