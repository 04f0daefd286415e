//! The entry point for fuzzing (`fuzz/README.md`).

use crate::wireless;

/// Reads `input` as an answer of the kernel, on route netlink and on generic netlink.
pub fn read(input: &[u8]) {
    let _ = crate::messages(input, |message| {
        if let netlink_packet_core::NetlinkPayload::InnerMessage(inner) = message.payload {
            let _ = crate::interfaces::interface(inner);
        }
        false
    });
    let mut answers = Vec::new();
    let _ = wireless::read(input, 1, &mut answers);
    if let Some((interface, stations)) = answers.split_first() {
        let _ = wireless::Wireless::of(interface, stations);
    }
    let _ = wireless::Wireless::of(input, &[input.to_vec()]);
}
