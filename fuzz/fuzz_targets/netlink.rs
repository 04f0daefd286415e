//! Answers of the kernel on netlink.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| nettrial_netlink::fuzzing::read(input));
