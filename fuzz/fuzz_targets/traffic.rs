//! Orders to an agent, its reports, and headers of packets.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| nettrial_traffic::fuzzing::read(input));
