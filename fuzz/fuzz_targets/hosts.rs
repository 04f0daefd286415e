//! Lines between the runner's engine and a machine's, and of the settings journal.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| nettrial_hosts::fuzzing::read(input));
