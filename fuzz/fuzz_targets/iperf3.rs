//! Messages and datagrams of iperf3's protocol.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| nettrial_iperf3::fuzzing::read(input));
