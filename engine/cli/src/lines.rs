//! Reads and writes one JSON document per line.

use anyhow::Result;
use serde::Serialize;
use std::io::{BufRead, Write};
use std::sync::mpsc::{Receiver, channel};

/// Returns the lines of standard input. The end of the input ends this process at once, whatever it is doing: the
/// program that planned the trials is gone, or wants them stopped, and agents and namespaces end with this
/// process.
pub fn input() -> Receiver<String> {
    input_until(|| ())
}

/// Returns the lines of standard input, and calls `at_end` before the end of the input ends this process.
pub fn input_until(at_end: impl FnOnce() + Send + 'static) -> Receiver<String> {
    let (sender, lines) = channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
        at_end();
        std::process::exit(0);
    });
    lines
}

/// Writes a document on standard output.
///
/// # Errors
/// Fails if nobody reads it.
pub fn output(document: &impl Serialize) -> Result<()> {
    let mut output = std::io::stdout().lock();
    writeln!(output, "{}", serde_json::to_string(document)?)?;
    output.flush()?;
    Ok(())
}
