//! Small scenarios, and endpoints that send packets and record their arrivals.

use nettrial_routing::{FiveTuple, Paths};
use nettrial_scenario::Scenario;
use nettrial_sim::{
    Codepoint, Endpoint, Endpoints, Flags, Io, Network, Notice, Packet, PathId, SackBlocks, Time, World,
};
use serde_json::{Value, json};

/// Returns a chain of nodes `n0`, `n1`, … with hosts at its ends and routers between them. The settings of each
/// link are given. Link `i` has the network 10.0.i.0/24, its left end the address .1, its right end .2.
pub fn chain(links: &[Value], mtu: u32) -> Scenario {
    let buffer = json!({"minimum": "4 KiB", "initial": "16 KiB", "maximum": "4 MiB"});
    let stack = json!({"name": "s", "congestion_control": "reno", "receive_buffer": buffer,
        "send_buffer": buffer, "window_scaling": true, "sack": true, "timestamps": true});
    let node = |number: usize| match number {
        _ if number == 0 || number == links.len() => {
            json!({"name": format!("n{number}"), "kind": "host", "stack": stack})
        }
        _ => json!({"name": format!("n{number}"), "kind": "router"}),
    };
    let link = |(number, settings): (usize, &Value)| {
        let interface = |node: usize, last: u8| {
            json!({"node": format!("n{node}"), "interface": format!("l{number}"), "mtu": format!("{mtu} B"),
                "addresses": [format!("10.0.{number}.{last}/24")]})
        };
        let mut link = settings.clone();
        link["ends"] = json!([interface(number, 1), interface(number + 1, 2)]);
        link
    };
    Scenario::try_from(json!({
        "format": 1,
        "nodes": (0..=links.len()).map(node).collect::<Vec<_>>(),
        "links": links.iter().enumerate().map(link).collect::<Vec<_>>(),
        "routing": {"policy": "shortest_path"},
        "workload": [],
        "measurement": {"interval": "100 ms", "queue_drops": "allowed"},
    }))
    .unwrap()
}

/// Returns the path along a chain of `links` links from left to right.
pub fn along(network: &mut Network, scenario: &Scenario) -> PathId {
    let last = scenario.links.len() - 1;
    let flow = FiveTuple {
        source: "10.0.0.1".parse().unwrap(),
        destination: format!("10.0.{last}.2").parse().unwrap(),
        protocol: 17,
        source_port: 1,
        destination_port: 2,
    };
    network.path(&Paths::new(scenario), &flow, 0).unwrap()
}

/// Returns a datagram.
pub fn datagram(path: PathId, number: u64, ip_bytes: u32) -> Packet {
    Packet {
        path,
        segment_bytes: 0,
        ecn: Codepoint::NotCapable,
        flags: Flags::NONE,
        ip_bytes,
        payload_bytes: ip_bytes - 28,
        to: Endpoint { connection: 0, side: 1, subflow: 0 },
        sequence: number,
        ack: 0,
        window_bytes: 0,
        timestamp: Time::ZERO,
        echo: Time::NEVER,
        sack: SackBlocks::default(),
        data_sequence: 0,
        data_ack: u64::MAX,
    }
}

/// The endpoints of a test, which send packets at given times and record those that arrive.
#[derive(Debug, Default)]
pub struct Schedule {
    /// The departure time of each packet.
    pub departures: Vec<(Time, Packet)>,
    /// The time at which each packet left its host, in the order of sending.
    pub left: Vec<Option<Time>>,
    /// The sequence numbers and times of arrivals, and whether the packets were marked.
    pub arrivals: Vec<(u64, Time, bool)>,
}

impl Schedule {
    /// Requests a wake-up for the next departure.
    pub fn wait(&self, io: &mut impl Io) {
        if let Some((at, _)) = self.departures.get(self.left.len()) {
            io.wake(Endpoint { connection: 0, side: 0, subflow: 0 }, *at);
        }
    }
}

impl Endpoints for Schedule {
    fn on_packet(&mut self, packet: &Packet, io: &mut impl Io) {
        self.arrivals.push((packet.sequence, io.now(), packet.ecn == Codepoint::Experienced));
    }

    fn on_timer(&mut self, _: Endpoint, io: &mut impl Io) {
        let (_, packet) = self.departures[self.left.len()];
        self.left.push(io.send(&packet));
        self.wait(io);
    }

    fn on_notice(&mut self, _: Notice, _: &mut impl Io) {}
}

/// Sends the given packets along a chain, and runs until nothing happens any more.
pub fn send_along(scenario: &Scenario, departures: &[(Time, u32)]) -> World<Schedule> {
    send_with(scenario, departures, Codepoint::NotCapable)
}

/// Does the same with packets that can be marked.
pub fn send_marked(scenario: &Scenario, departures: &[(Time, u32)]) -> World<Schedule> {
    send_with(scenario, departures, Codepoint::Capable)
}

fn send_with(scenario: &Scenario, departures: &[(Time, u32)], ecn: Codepoint) -> World<Schedule> {
    let mut network = Network::new(scenario);
    let path = along(&mut network, scenario);
    let packet = |(number, &(at, ip_bytes)): (usize, &(Time, u32))| {
        (at, Packet { timestamp: at, ecn, ..datagram(path, number as u64, ip_bytes) })
    };
    let departures = departures.iter().enumerate().map(packet).collect();
    let mut world = World::new(network, Schedule { departures, ..Schedule::default() });
    world.act(|schedule, engine| schedule.wait(engine));
    world.run(Time::NEVER);
    world
}
