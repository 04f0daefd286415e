//! The fields of OpenFlow messages that are counted (ONF TS-001, OpenFlow 1.0.0; ONF TS-023, OpenFlow 1.3.4).

/// A message between a switch and a controller, with the fields that are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Message {
    /// The switch has identified itself, so its connection is established (OFPT_FEATURES_REPLY).
    Connected { datapath: u64, version: u8 },
    /// The switch sent a packet to the controller (OFPT_PACKET_IN).
    PacketIn { of_topology: bool },
    /// The controller told the switch to send a packet (OFPT_PACKET_OUT).
    PacketOut { of_topology: bool },
    /// The controller changed a rule or a group (OFPT_FLOW_MOD, OFPT_GROUP_MOD).
    Change,
    /// Any other message.
    Other,
}

/// The protocol versions that switches offer.
pub const VERSIONS: [(u8, &str); 2] = [(1, "1.0"), (4, "1.3")];

/// The bytes of the header: version, type, length of the whole message, identifier.
const HEADER: usize = 8;
// enum ofp_type, which is the same in both versions except for the last.
const FEATURES_REPLY: u8 = 6;
const PACKET_IN: u8 = 10;
const PACKET_OUT: u8 = 13;
const FLOW_MOD: u8 = 14;
/// In OpenFlow 1.0, this type is OFPT_PORT_MOD.
const GROUP_MOD: u8 = 15;
/// The EtherTypes of the frames by which controllers find links: LLDP, and its broadcast form (BDDP) that ONOS and
/// Floodlight send in addition.
const OF_TOPOLOGY: [u16; 2] = [0x88cc, 0x8942];

/// The messages of one direction of a connection, whose bytes arrive in pieces.
#[derive(Default)]
pub struct Messages {
    held: Vec<u8>,
    /// True after bytes that were not OpenFlow; nothing is counted from then on.
    is_lost: bool,
}

impl Messages {
    /// Processes further bytes, and calls `handle` with every message that is now complete.
    pub fn take(&mut self, bytes: &[u8], mut handle: impl FnMut(Message)) {
        if self.is_lost {
            return;
        }
        self.held.extend_from_slice(bytes);
        let mut done = 0;
        while let Some(length) = short(&self.held, done + 2).map(usize::from) {
            if length < HEADER {
                self.is_lost = true;
                self.held = Vec::new();
                return;
            }
            let Some(message) = self.held.get(done..done + length) else { break };
            handle(read(message));
            done += length;
        }
        self.held.drain(..done);
    }
}

/// Reads a complete message. A message that is too short for its type is [`Message::Other`].
fn read(message: &[u8]) -> Message {
    let (version, kind) = (message[0], message[1]);
    let is_first = version == 1;
    match kind {
        FEATURES_REPLY => match message.get(8..16).and_then(|bytes| bytes.first_chunk().copied()) {
            Some(bytes) => Message::Connected { datapath: u64::from_be_bytes(bytes), version },
            None => Message::Other,
        },
        PACKET_IN => {
            // 1.0: buffer, total length, port, reason, padding. 1.3: buffer, total length, reason, table, cookie;
            // then a match, whose length excludes the padding to eight bytes; then two bytes of padding.
            let start = if is_first {
                Some(18)
            } else {
                short(message, 26).map(|length| 24 + usize::from(length).next_multiple_of(8) + 2)
            };
            Message::PacketIn { of_topology: is_of_topology(message, start) }
        }
        PACKET_OUT => {
            // 1.0: buffer, port, length of actions, actions. 1.3: buffer, port of four bytes, length, padding, actions.
            let (length, actions) = if is_first { (14, 16) } else { (16, 24) };
            let start = short(message, length).map(|length| actions + usize::from(length));
            Message::PacketOut { of_topology: is_of_topology(message, start) }
        }
        FLOW_MOD => Message::Change,
        GROUP_MOD if !is_first => Message::Change,
        _ => Message::Other,
    }
}

/// Returns true if the Ethernet frame that begins at `start` has an EtherType of link discovery.
fn is_of_topology(message: &[u8], start: Option<usize>) -> bool {
    let kind = start.and_then(|start| short(message, start + 12));
    kind.is_some_and(|kind| OF_TOPOLOGY.contains(&kind))
}

/// Reads a number of two bytes.
fn short(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::ChaCha8Rng;
    use rand::{RngExt, SeedableRng};

    fn message(version: u8, kind: u8, body: &[u8]) -> Vec<u8> {
        let length = u16::try_from(HEADER + body.len()).unwrap().to_be_bytes();
        [&[version, kind, length[0], length[1], 0, 0, 0, 1], body].concat()
    }

    fn frame(kind: u16) -> Vec<u8> {
        [&[0xff; 12][..], &kind.to_be_bytes(), &[0; 46]].concat()
    }

    /// Returns packet-ins and packet-outs of both versions with a frame of EtherType `kind`.
    fn with(kind: u16) -> Vec<Vec<u8>> {
        let none = [0xff; 4];
        // A match of type OXM with in_port: 4 + 8 bytes, and 4 of padding.
        let port = [0, 1, 0, 12, 0x80, 0, 0, 4, 0, 0, 0, 7, 0, 0, 0, 0];
        let mut packets = [
            [&none[..], &[0, 60, 0, 7, 0, 0]].concat(),
            [&none[..], &[0, 60, 0, 0], &[0; 8], &port, &[0, 0]].concat(),
            [&none[..], &[0, 7, 0, 8], &[0, 0, 0, 8, 0, 2, 0, 0]].concat(),
            [&none[..], &[0, 0, 0, 7, 0, 16], &[0; 6], &[0; 16]].concat(),
        ];
        packets.iter_mut().for_each(|packet| packet.extend(frame(kind)));
        let [first_in, in_, first_out, out] = packets;
        vec![
            message(1, 10, &first_in),
            message(4, 10, &in_),
            message(1, 13, &first_out),
            message(4, 13, &out),
        ]
    }

    fn of(bytes: &[u8], piece: usize) -> Vec<Message> {
        let (mut messages, mut found) = (Messages::default(), Vec::new());
        bytes.chunks(piece).for_each(|bytes| messages.take(bytes, |message| found.push(message)));
        found
    }

    #[test]
    fn messages_of_both_versions_are_read_however_their_bytes_come() {
        let mut all = vec![message(4, 6, &[&7u64.to_be_bytes()[..], &[0; 16]].concat())];
        all.extend(with(0x0800));
        all.extend(with(0x88cc));
        all.extend([message(1, 14, &[0; 64]), message(4, 15, &[0; 8]), message(1, 15, &[0; 24])]);
        let mut expected = vec![Message::Connected { datapath: 7, version: 4 }];
        for of_topology in [false, true] {
            expected.extend([Message::PacketIn { of_topology }; 2]);
            expected.extend([Message::PacketOut { of_topology }; 2]);
        }
        expected.extend([Message::Change, Message::Change, Message::Other]);
        let all = all.concat();
        for piece in [1, 7, 100, all.len()] {
            assert_eq!(of(&all, piece), expected, "{piece}");
        }
    }

    #[test]
    fn random_bytes_do_no_harm_and_are_not_held() {
        let mut random = ChaCha8Rng::seed_from_u64(1);
        for _ in 0..20_000 {
            let mut bytes = vec![0; random.random_range(0..200)];
            random.fill(bytes.as_mut_slice());
            if let [version, kind, high, low, ..] = bytes.as_mut_slice() {
                // Most messages would be longer than all bytes, and most types not read.
                (*version, *kind) = ([1, 4][random.random_range(0..2)], random.random_range(0..20));
                (*high, *low) = (0, random.random_range(0..100));
            }
            let mut messages = Messages::default();
            bytes.chunks(random.random_range(1..50)).for_each(|piece| messages.take(piece, |_| ()));
            assert!(messages.held.len() <= usize::from(u16::MAX));
        }
    }

    #[test]
    fn messages_that_are_cut_short_or_no_openflow_do_no_harm() {
        for whole in with(0x88cc).iter().chain([&message(4, 6, &[0; 24])]) {
            for length in HEADER..whole.len() {
                let mut cut = whole[..length].to_vec();
                cut[2..4].copy_from_slice(&u16::try_from(length).unwrap().to_be_bytes());
                assert_eq!(of(&cut, length).len(), 1);
            }
        }
        let mut messages = Messages::default();
        messages.take(b"GET / HTTP/1.1\r\n\r\n", |_| panic!("that was no message"));
        assert!(messages.held.len() < 100);
        let mut messages = Messages::default();
        messages.take(&[4, 0, 0, 7], |_| panic!("a message is not shorter than its header"));
        messages.take(&message(4, 14, &[]), |_| panic!("the beginning of a message is not known any more"));
        assert!(messages.held.is_empty());
    }
}
