//! Documents of the protocol of `nettrial serve`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| nettrial_remote::fuzzing::read(input));
