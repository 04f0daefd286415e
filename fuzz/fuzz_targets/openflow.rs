//! Messages between a switch and a controller.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| nettrial_lab::fuzzing::read(input));
