//! Reads and writes one JSON document per line.

use anyhow::Result;
use nettrial_admission::lines;
use serde::Serialize;
use std::io::{ErrorKind, Write};
use std::sync::mpsc::{Receiver, channel};

/// The largest length of a request, in bytes: twice the scenario that a run file can have.
const MOST_REQUEST_BYTES: u64 = 512 << 20;
/// The exit status for bad input.
const BAD_INPUT: i32 = 2;

/// Returns the lines of standard input. The end of the input ends this process at once, whatever it is doing: the
/// program that planned the trials is gone, or wants them stopped, and agents and namespaces end with this
/// process.
pub fn input() -> Receiver<String> {
    input_until(|| ())
}

/// Returns the lines of standard input, and calls `at_end` before the end of the input ends this process.
pub fn input_until(at_end: impl FnOnce() + Send + 'static) -> Receiver<String> {
    let (sender, requests) = channel();
    std::thread::spawn(move || {
        let mut status = 0;
        for line in lines(std::io::stdin().lock(), MOST_REQUEST_BYTES) {
            match line {
                Ok(line) => {
                    if sender.send(line).is_err() {
                        return;
                    }
                }
                Err(error) if error.kind() == ErrorKind::InvalidData => {
                    eprintln!("error: reading requests from standard input: {error}");
                    status = BAD_INPUT;
                }
                Err(_) => {}
            }
        }
        at_end();
        std::process::exit(status);
    });
    requests
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
