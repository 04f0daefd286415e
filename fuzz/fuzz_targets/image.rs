//! Images of disks.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| nettrial_guest::fuzzing::read_image(input));
