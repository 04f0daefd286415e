//! Measures how many packet-hops a second the network's core does, without TCP: each host of a fat tree keeps a
//! window of packets on its way to another, which acknowledges each.
//!
//! `cargo run --release -p nettrial-sim --example hops -- [k [window [milliseconds [idle hosts]]]]` prints a line of
//! JSON. With idle hosts, it builds those on a star beside, and tells what memory each takes.

use nettrial_routing::{FiveTuple, Paths};
use nettrial_scenario::Scenario;
use nettrial_sim::{
    Codepoint, Endpoint, Endpoints, Flags, Io, Network, Notice, Packet, PathId, SackBlocks, Time, World,
};
use serde_json::{Value, json};
use std::time::Instant;

/// A fat tree of `k` ports (Al-Fares, Loukissas and Vahdat 2008) with 10 Gbit/s links, and its number of hosts.
fn fat_tree(k: usize) -> (Scenario, usize) {
    let half = k / 2;
    let hosts = k * half * half;
    let mut links = Vec::new();
    let mut network = 0usize;
    let mut join = |a: String, b: String| {
        let interface = |node: &str, last: u8| {
            json!({"node": node, "interface": format!("l{network}"), "mtu": "1500 B",
                "addresses": [format!("10.{}.{}.{last}/24", network / 250, network % 250)]})
        };
        links
            .push(json!({"ends": [interface(&a, 1), interface(&b, 2)], "rate": "10 Gbit/s", "delay": "1 us",
            "queue": "1000 packets"}));
        network += 1;
    };
    for host in 0..hosts {
        join(format!("h{host}"), format!("edge{}", host / half));
    }
    for edge in 0..k * half {
        (0..half).for_each(|up| join(format!("edge{edge}"), format!("agg{}", edge / half * half + up)));
    }
    for agg in 0..k * half {
        (0..half).for_each(|up| join(format!("agg{agg}"), format!("core{}", agg % half * half + up)));
    }
    let node = |name: String, kind: &str| json!({"name": name, "kind": kind});
    let mut nodes: Vec<Value> = (0..hosts).map(|host| node(format!("h{host}"), "host")).collect();
    nodes
        .extend((0..k * half).flat_map(|n| ["edge", "agg"].map(|kind| node(format!("{kind}{n}"), "router"))));
    nodes.extend((0..half * half).map(|core| node(format!("core{core}"), "router")));
    (scenario(nodes, links), hosts)
}

fn scenario(nodes: Vec<Value>, links: Vec<Value>) -> Scenario {
    Scenario::try_from(json!({
        "format": 1, "nodes": nodes, "links": links, "routing": {"policy": "ecmp", "seed": 1}, "workload": [],
        "measurement": {"interval": "100 ms", "queue_drops": "allowed"},
    }))
    .expect("a scenario")
}

/// Each host's packets go to the one half the hosts on, whose acknowledgments come back.
struct Permutation {
    /// There and back, by host.
    paths: Vec<[PathId; 2]>,
    sent: u64,
}

impl Permutation {
    fn send(&mut self, host: u32, side: u8, io: &mut impl Io) {
        let ip_bytes = if side == 1 { 1500 } else { 52 };
        let packet = Packet {
            path: self.paths[host as usize][usize::from(1 - side)],
            segment_bytes: 0,
            ecn: Codepoint::NotCapable,
            flags: Flags::ACK,
            ip_bytes,
            payload_bytes: ip_bytes - 52,
            to: Endpoint { connection: host, side, subflow: 0 },
            sequence: self.sent,
            ack: 0,
            window_bytes: 0,
            timestamp: io.now(),
            echo: Time::NEVER,
            sack: SackBlocks::default(),
            data_sequence: 0,
            data_ack: u64::MAX,
        };
        self.sent += 1;
        io.send(&packet);
    }
}

impl Endpoints for Permutation {
    fn on_packet(&mut self, packet: &Packet, io: &mut impl Io) {
        self.send(packet.to.connection, 1 - packet.to.side, io);
    }

    fn on_timer(&mut self, _: Endpoint, _: &mut impl Io) {}

    fn on_notice(&mut self, _: Notice, _: &mut impl Io) {}
}

/// Bytes of memory this process has (Linux).
fn memory() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    pages.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * 4096
}

/// Time for which this thread has had a CPU (Linux): a machine that others use as well does not change it much.
fn processor_seconds() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(text.split(' ').next()?.parse::<f64>().ok()? / 1e9)
}

fn main() {
    let argument = |place: usize, or: usize| {
        std::env::args().nth(place).map_or(or, |text| text.parse().expect("a number"))
    };
    let (k, window, milliseconds, idle) = (argument(1, 8), argument(2, 20), argument(3, 20), argument(4, 0));
    let (scenario, hosts) = fat_tree(k);
    let routing = Paths::new(&scenario);
    let mut network = Network::new(&scenario);
    let address = |host: usize| scenario.links[host].interfaces[0].addresses[0].address();
    let mut path = |from: usize, to: usize| {
        let (source, destination) = (address(from), address(to));
        let flow = FiveTuple { source, destination, protocol: 6, source_port: 1, destination_port: 2 };
        network.path(&routing, &flow, 0).expect("a path")
    };
    let paths = (0..hosts).map(|host| (host, (host + hosts / 2) % hosts));
    let paths = paths.map(|(from, to)| [path(from, to), path(to, from)]).collect();
    let mut world = World::new(network, Permutation { paths, sent: 0 });
    world.act(|hosts, engine| {
        for host in 0..hosts.paths.len() {
            (0..window).for_each(|_| hosts.send(host as u32, 1, engine));
        }
    });
    let (started, used) = (Instant::now(), processor_seconds());
    world.run(Time::from_ms(milliseconds as u64));
    let elapsed = started.elapsed().as_secs_f64();
    let seconds = processor_seconds().zip(used).map_or(elapsed, |(after, before)| after - before);
    let balance = world.engine.balance();
    let mut result = json!({"hosts": hosts, "hops": balance.hops, "elapsed_seconds": elapsed, "seconds": seconds,
        "hops_per_second": balance.hops as f64 / seconds, "dropped": balance.dropped_pkts});
    if idle > 0 {
        let before = memory();
        let star = star(idle);
        let scenario_and_all = memory() - before;
        let network = Network::new(&star);
        result["bytes_per_idle_host"] = ((memory() - before - scenario_and_all) / idle as u64).into();
        drop(network);
    }
    println!("{result}");
}

/// Hosts around one switch.
fn star(hosts: usize) -> Scenario {
    let interface =
        |node: String, interface: String| json!({"node": node, "interface": interface, "mtu": "1500 B"});
    let link = |host: usize| {
        json!({"ends": [interface(format!("h{host}"), "l".into()), interface("s".into(), format!("l{host}"))],
            "rate": "10 Gbit/s", "queue": "1000 packets"})
    };
    let mut nodes: Vec<Value> =
        (0..hosts).map(|host| json!({"name": format!("h{host}"), "kind": "host"})).collect();
    nodes.push(json!({"name": "s", "kind": "switch"}));
    scenario(nodes, (0..hosts).map(link).collect())
}
