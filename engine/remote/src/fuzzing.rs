//! The entry point for fuzzing (`fuzz/README.md`).

use crate::message::{ToClient, ToServer};
use nettrial_admission::document;

/// Reads `input` as a document of a client, and of a server, of `nettrial serve`.
pub fn read(input: &[u8]) {
    let _ = document::<ToServer>(input);
    let _ = document::<ToClient>(input);
}
