//! Outputs of programs that are a flow's traffic.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| nettrial_traffic::fuzzing::read_output(input));
