//! The entry point for fuzzing (`fuzz/README.md`).

/// Reads `input` as an answer to each kind of probe, and as an ICMP error that quotes a probe.
pub fn read(input: &[u8]) {
    crate::wire::fuzz(input);
}
