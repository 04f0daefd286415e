//! The entry points for fuzzing (`fuzz/README.md`).

/// Reads `input` as the messages of an OpenFlow connection, which arrive in pieces.
pub fn read(input: &[u8]) {
    crate::openflow::fuzz(input);
}

/// Reads `input` as an offload header and a frame, as hosts and guests send them.
pub fn read_frame(input: &[u8]) {
    crate::channel::fuzz(input);
    crate::delay_line::fuzz(input);
}
