//! The entry point for fuzzing (`fuzz/README.md`).

use crate::datagram::{self, Header};
use crate::parameters::Parameters;
use crate::results::Results;
use nettrial_admission::document;

/// Reads `input` as each message of a client, or of a server, of iperf3.
pub fn read(input: &[u8]) {
    if let Ok(parameters) = document::<Parameters>(input)
        && parameters.refusal().is_none()
    {
        assert!((1..=1 << 24).contains(&parameters.block_bytes()) && parameters.streams() <= 256);
    }
    if let Ok(results) = document::<Results>(input) {
        let _ = serde_json::to_vec(&results);
    }
    let _ = (datagram::opens(input), datagram::answers(input));
    for wide in [false, true] {
        if let Some(header) = Header::read(input, wide) {
            let mut written = input[..datagram::HEADER_BYTES.min(input.len())].to_vec();
            written.resize(datagram::HEADER_BYTES, 0);
            header.write(&mut written, wide);
            assert_eq!(Header::read(&written, wide).map(|again| again.number), Some(header.number));
        }
    }
}
