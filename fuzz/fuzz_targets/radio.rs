//! Outputs of commands that report the state of a radio.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| nettrial_hosts::fuzzing::read_radio(input));
