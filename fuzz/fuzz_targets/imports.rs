//! Measurements of iperf3 that are imported.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| nettrial_traffic::fuzzing::read_imports(input));
