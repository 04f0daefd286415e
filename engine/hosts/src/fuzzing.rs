//! The entry points for fuzzing (`fuzz/README.md`).

use crate::message::{FromMachine, ToMachine, Welcome};
use crate::{journal, radio};
use nettrial_admission::document;

/// Reads `input` as each line between the runner's engine and a machine's, and as a journal.
pub fn read(input: &[u8]) {
    if let Ok(line) = document::<FromMachine>(input) {
        let text = serde_json::to_vec(&line).expect("what was read can be written");
        document::<FromMachine>(&text).expect("what was written can be read");
    }
    let _ = document::<ToMachine>(input);
    let _ = document::<Welcome>(input);
    journal::fuzz(input);
}

/// Reads `input` as the output of each command that reports the state of a radio.
pub fn read_radio(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let _ = radio::netsh(&text, "Wi-Fi");
    let _ = radio::system_profiler(&text, "en0");
    let (about, stations) = text.split_once('\0').unwrap_or((&text, ""));
    let _ = radio::ifconfig(about, stations);
}
