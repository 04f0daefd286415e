//! Reads the table of what each program can do, which it brings: `stacks/NAME/stack.json`.

use nettrial_scenario::{IpVersion, Stack, Transport};
use serde::Deserialize;
use std::sync::LazyLock;

/// The tables of all programs.
const TABLES: [&str; 3] = [
    include_str!("../../../../stacks/gvisor/stack.json"),
    include_str!("../../../../stacks/lwip/stack.json"),
    include_str!("../../../../stacks/smoltcp/stack.json"),
];

/// The programs.
static PROGRAMS: LazyLock<Vec<Program>> = LazyLock::new(|| {
    TABLES.iter().map(|table| serde_json::from_str(table).expect("a table of the source is one")).collect()
});

/// The most bytes of a segment's TCP options (RFC 9293 section 3.1).
const MOST_OPTION_BYTES: u64 = 40;
/// Bytes of the timestamps option with its padding (RFC 7323 appendix A).
const TIMESTAMPS_BYTES: u64 = 12;
/// Bytes of a selective acknowledgment's option with its padding but without blocks, and of a block (RFC 2018 section 3).
const SACK_BYTES: u64 = 4;
const SACK_BLOCK_BYTES: u64 = 8;

/// A program, with what it can do.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// The program's name in scenarios.
    pub name: String,
    /// Its description, for documents.
    #[expect(dead_code, reason = "the reference reads it")]
    title: String,
    /// The congestion controls that it has.
    pub congestion_controls: Vec<String>,
    /// The settings of selective acknowledgments that it can have.
    pub sack: Vec<bool>,
    /// The settings of timestamps that it can have.
    pub timestamps: Vec<bool>,
    /// The transport protocols that it has.
    pub transports: Vec<Transport>,
    /// The kinds of traffic that it carries.
    pub traffic: Vec<String>,
    /// The options of flows' sockets that it has.
    pub socket_options: Vec<String>,
    /// True if its socket buffers grow, and false if they have one size.
    pub buffers_grow: bool,
    /// True if it leaves room in every segment for as many selective acknowledgments as fit beside the timestamps.
    has_option_room: bool,
    /// The IP versions over which it sends and takes fragments.
    pub fragments: Vec<IpVersion>,
    /// True if it sends smaller packets when a router says that they are too large.
    pub finds_path_mtu: bool,
    /// True if the bytes of a connection's packets are counted.
    pub counts_bytes: bool,
    /// True if it tells its connections' congestion window and round-trip time.
    pub tells_state: bool,
}

impl Program {
    /// Returns the program called `name`, if there is one.
    pub fn named(name: &str) -> Option<&'static Self> {
        PROGRAMS.iter().find(|program| program.name == name)
    }

    /// Returns the names of all programs.
    pub fn names() -> String {
        let names: Vec<&str> = PROGRAMS.iter().map(|program| program.name.as_str()).collect();
        names.join(", ")
    }

    /// Returns the bytes that its segments on a connection between hosts with these stacks have less than the MTU allows.
    pub fn spare_bytes(&self, from: &Stack, to: &Stack) -> u64 {
        if !(self.has_option_room && from.sack && to.sack) {
            return 0;
        }
        let timestamps = if from.timestamps && to.timestamps { TIMESTAMPS_BYTES } else { 0 };
        let blocks = (MOST_OPTION_BYTES - timestamps - SACK_BYTES) / SACK_BLOCK_BYTES;
        SACK_BYTES + blocks * SACK_BLOCK_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_is_of_another_program() {
        let names: std::collections::BTreeSet<&str> = PROGRAMS.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names.len(), TABLES.len());
    }

    #[test]
    fn the_room_for_options_is_what_is_left_beside_timestamps() {
        let buffer = serde_json::json!({"minimum": "1 B", "initial": "1 B", "maximum": "1 B"});
        let with = |sack: bool, timestamps: bool| -> Stack {
            serde_json::from_value(serde_json::json!({
                "name": "a", "congestion_control": "cubic", "receive_buffer": buffer, "send_buffer": buffer,
                "window_scaling": true, "sack": sack, "timestamps": timestamps,
            }))
            .unwrap()
        };
        let spare = |name, from: &Stack, to: &Stack| Program::named(name).unwrap().spare_bytes(from, to);
        assert_eq!(spare("gvisor", &with(true, true), &with(true, true)), 28);
        assert_eq!(spare("gvisor", &with(true, true), &with(true, false)), 36);
        assert_eq!(spare("gvisor", &with(true, true), &with(false, true)), 0);
        assert_eq!(spare("smoltcp", &with(true, true), &with(true, true)), 0);
    }
}
