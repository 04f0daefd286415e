//! A connection of the simulator that receives the acknowledgments of a recording.

use crate::recording::{Received, Recording, Sent};
use nettrial_scenario::{Buffer, IpVersion, Offloads, Scheduler, Size, SocketOptions, Stack};
use nettrial_sim::{
    Codepoint, Connection, ConnectionSettings, Endpoint, Flags, Io, Notice, Packet, PathId, SackBlocks,
    SubflowSettings, Time, Wheel,
};
use std::collections::BTreeSet;

/// The send buffer of the recorded connections, which has room for all data.
const BUFFER_BYTES: u64 = 4 << 20;

/// The world of a sender.
struct World {
    now: Time,
    wheel: Wheel,
    wakes: BTreeSet<(Time, Endpoint)>,
    sent: Vec<Sent>,
    is_connected: bool,
}

impl Io for World {
    fn now(&self) -> Time {
        self.now
    }

    fn wheel(&self) -> Wheel {
        self.wheel
    }

    fn send(&mut self, packet: &Packet) -> Option<Time> {
        if packet.payload_bytes > 0 {
            let Packet { sequence, payload_bytes, .. } = *packet;
            self.sent.push(Sent { at: self.now, sequence, bytes: payload_bytes });
        }
        // A TUN interface takes a packet from the socket at once.
        Some(self.now)
    }

    fn wake(&mut self, endpoint: Endpoint, at: Time) {
        self.wakes.insert((at, endpoint));
    }

    fn tell(&mut self, notice: Notice) {
        self.is_connected |= matches!(notice, Notice::Connected { .. });
    }
}

/// Returns the segments that the simulator sends upon the acknowledgments of a recording, with these ticks of timers.
pub fn segments(recording: &Recording, wheel: Wheel) -> Vec<Sent> {
    let mut world =
        World { now: Time::ZERO, wheel, wakes: BTreeSet::new(), sent: Vec::new(), is_connected: false };
    let stack = stack(recording);
    let mut connection = Connection::open(&settings(&stack), &mut world);
    let mut writes = recording.writes.iter().copied().peekable();
    let mut received = recording.received.iter().peekable();
    let last = recording.sent.last().map_or(Time::ZERO, |sent| sent.at);
    let end = recording.received.last().map_or(last, |received| received.at.max(last));
    loop {
        let wake = world.wakes.first().copied();
        let ack = received.peek().map_or(Time::NEVER, |received| received.at);
        let write = writes.peek().copied().unwrap_or(Time::NEVER);
        let at = wake.map_or(Time::NEVER, |(at, _)| at).min(ack).min(write);
        if at > end {
            return world.sent;
        }
        world.now = at;
        if at == write {
            writes.next();
            let taken = connection.write(0, recording.write_bytes, &mut world);
            assert_eq!(taken, recording.write_bytes, "the buffer has room for it");
        } else if at == ack {
            let is_first = !world.is_connected;
            let packet = packet(received.next().expect("it was seen"), is_first, recording);
            connection.on_packet(&packet, &mut world);
        } else if let Some(wake) = wake {
            world.wakes.remove(&wake);
            connection.on_timer(wake.1, &mut world);
        }
    }
}

fn packet(received: &Received, is_first: bool, recording: &Recording) -> Packet {
    let mut flags = Flags::ACK;
    if is_first {
        flags = flags.with(Flags::SYN);
    }
    if received.has_echo || (is_first && recording.has_ecn) {
        flags = flags.with(Flags::ECE);
    }
    let mut sack = SackBlocks::default();
    for &(start, end) in &received.blocks {
        assert!(sack.push(start, end), "an acknowledgment has at most four blocks");
    }
    Packet {
        path: PathId(1),
        segment_bytes: 0,
        ecn: Codepoint::NotCapable,
        flags,
        ip_bytes: 52,
        payload_bytes: 0,
        to: Endpoint { connection: 0, side: 0, subflow: 0 },
        sequence: u64::from(!is_first),
        ack: received.ack,
        window_bytes: received.window_bytes,
        timestamp: received.at,
        echo: received.echo.unwrap_or(Time::NEVER),
        sack,
        data_sequence: 0,
        data_ack: u64::MAX,
    }
}

fn stack(recording: &Recording) -> Stack {
    let buffer = |bytes| Buffer { minimum: Size(4096), initial: Size(bytes), maximum: Size(BUFFER_BYTES) };
    Stack {
        name: "linux".into(),
        congestion_control: recording.control.clone(),
        receive_buffer: buffer(131_072),
        send_buffer: buffer(BUFFER_BYTES),
        window_scaling: true,
        sack: recording.has_sack,
        timestamps: recording.has_timestamps,
        mtu_probing: false,
        ecn: recording.has_ecn,
        minimum_rto: None,
        small_queues: true,
        program: None,
        scheduler: Scheduler::default(),
    }
}

fn settings(stack: &Stack) -> ConnectionSettings<'_> {
    ConnectionSettings {
        number: 0,
        is_mptcp: false,
        ip: IpVersion::V4,
        stacks: [stack; 2],
        // The kernel cuts what TCP sends into packets, because the TUN interface does not.
        offloads: [Offloads { gso: true, tso: false, gro: false }; 2],
        socket: SocketOptions::default(),
        subflows: vec![SubflowSettings { paths: [PathId(0), PathId(1)], path_mtu_bytes: [1500; 2] }],
    }
}
