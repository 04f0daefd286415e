//! Frames that hosts and guests send.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| nettrial_lab::fuzzing::read_frame(input));
