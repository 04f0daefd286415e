//! Reads a path request, and writes its answer.

use anyhow::{Context, Result};
use nettrial_path::{PathAnswer, PathRequest};
use nettrial_scenario::Place;
use std::io::{BufRead, Write};

/// Answers the request on standard input.
pub fn answer() -> Result<()> {
    let mut input = std::io::BufReader::new(std::io::stdin());
    let mut line = String::new();
    input.read_line(&mut line).context("reading the request")?;
    std::thread::spawn(move || {
        let mut rest = String::new();
        while input.read_line(&mut rest).is_ok_and(|length| length > 0) {
            rest.clear();
        }
        // The program that asked is gone.
        std::process::exit(0);
    });
    let answer = match serde_json::from_str::<PathRequest>(&line) {
        Ok(request) => nettrial_path::examine(&request),
        Err(error) => {
            let hint = error.to_string();
            let problem =
                Place::new("", "the path").problem_here("request", line.trim(), "a path request", hint);
            PathAnswer::BadRequest { problem }
        }
    };
    let mut output = std::io::stdout().lock();
    writeln!(output, "{}", serde_json::to_string(&answer)?)?;
    output.flush().context("answering")
}
