//! Answers to the probes of a path.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| nettrial_path::fuzzing::read(input));
