//! Known-answer tests of a channel: numbered frames enter at one station, and are counted and timed at another.

use super::{Channel, Driven, StationInterface};
use crate::delay_line::{EARLY_NS, monotonic_ns, wall_offset_ns};
use crate::messages::{up, veth};
use crate::packet_socket::{Intake, OFFLOAD_HEADER_BYTES, Outlet, Ring};
use crate::settings;
use crate::testing::inside;
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{LinkAttribute, LinkMessage};
use nettrial_netlink::Netlink;
use nettrial_scenario::{ChannelRecord, Link};
use std::time::{Duration, Instant};

/// The indexes of the own end and the inner end of the access point and of two stations.
const ENDS: [[i32; 2]; 3] = [[101, 111], [102, 112], [103, 113]];
/// IEEE Std 802's first EtherType for local experiments.
const LOCAL_EXPERIMENT: [u8; 2] = [0x88, 0xb5];
const GROUP: [u8; 6] = [0xff; 6];
/// The size of the frames, including the Ethernet header, in bytes.
const FRAME_BYTES: usize = 1514;
/// The time without a frame after which no more frames are expected.
const QUIET: Duration = Duration::from_millis(300);

fn address(station: u8) -> [u8; 6] {
    [2, 0, 0, 0, 0, station]
}

fn interface(index: i32) -> LinkMessage {
    let mut message = LinkMessage::default();
    message.header.index = index.unsigned_abs();
    message.attributes = vec![LinkAttribute::IfName(format!("end{index}")), LinkAttribute::Mtu(65_535)];
    message
}

struct Bench {
    channel: Channel,
    outlets: Vec<Outlet>,
    rings: Vec<Ring>,
}

impl Bench {
    /// Creates a channel with these settings, given as JSON.
    fn new(wlan: &str) -> Self {
        settings::write("net.ipv6.conf.default.disable_ipv6", "1").unwrap();
        let mut netlink = Netlink::open().unwrap();
        for pair in ENDS {
            netlink.create(RouteNetlinkMessage::NewLink(veth(pair.map(interface))), "a pair").unwrap();
        }
        for index in ENDS.concat() {
            netlink.change(RouteNetlinkMessage::SetLink(up(index)), "starting").unwrap();
        }
        netlink.flush().unwrap();
        let ends = ["ap", "one", "two"]
            .map(|node| format!(r#"{{"node": "{node}", "interface": "eth0", "mtu": "1500 B"}}"#));
        let link: Link = serde_json::from_str(&format!(
            r#"{{"medium": "wlan", "wlan": {wlan}, "ends": [{}]}}"#,
            ends.join(", ")
        ))
        .unwrap();
        // The ring has room for all frames that a test sends, so missing ones were lost by the channel.
        let ring = |[own, _]: [i32; 2]| Ring::open(own, Intake::Arriving, FRAME_BYTES, 8_000).unwrap();
        let interface = |(station, [_, index]): (u8, [i32; 2])| StationInterface {
            index,
            address: address(station).to_vec(),
            held: None,
        };
        let rings = ENDS.map(ring).into();
        let channel =
            Channel::start(&link, (0, 1), (0..).zip(ENDS).map(interface).collect(), false, 0, EARLY_NS)
                .unwrap();
        let outlets = ENDS.map(|[own, _]| Outlet::open(own).unwrap()).into();
        Self { channel, outlets, rings }
    }

    /// Sends a numbered frame.
    fn send(&self, from: usize, to: [u8; 6], number: u32) {
        let mut frame = vec![0; OFFLOAD_HEADER_BYTES];
        frame.extend(to.iter().chain(&address(from as u8)).chain(&LOCAL_EXPERIMENT));
        frame.extend(number.to_ne_bytes());
        frame.resize(OFFLOAD_HEADER_BYTES + FRAME_BYTES, 0);
        assert_eq!(self.outlets[from].send(std::iter::once(frame.as_slice())), 0);
    }

    /// Returns the numbers of the frames that arrive at a station, each with its arrival time of the monotonic
    /// clock.
    fn come(&mut self, station: usize) -> Vec<(u32, u64)> {
        let (offset, mut quiet_since, mut all) = (wall_offset_ns(), Instant::now(), Vec::new());
        while quiet_since.elapsed() < QUIET {
            let Some(slot) = self.rings[station].peek() else {
                std::thread::sleep(Duration::from_millis(1));
                continue;
            };
            quiet_since = Instant::now();
            let at = OFFLOAD_HEADER_BYTES + 14;
            let number = u32::from_ne_bytes(slot.bytes[at..at + 4].try_into().unwrap());
            all.push((number, slot.arrived_unix_ns - offset));
            self.rings[station].release();
        }
        all
    }

    fn numbers(&mut self, station: usize) -> Vec<u32> {
        self.come(station).into_iter().map(|(number, _)| number).collect()
    }

    fn finish(self) -> (ChannelRecord, Driven) {
        let (_, record, driven) = self.channel.finish().unwrap();
        let used = record.stations.iter().map(|station| station.airtime);
        let used: u64 = used.map(|time| time.data_ps + time.errors_ps + time.overhead_ps).sum();
        assert_eq!(record.idle_ps + record.collisions_ps + used, record.elapsed_ps);
        (record, driven)
    }
}

#[test]
fn frames_cross_the_channel_in_order_and_no_sooner_than_it_carries_them() {
    if !inside("channel::tests::frames_cross_the_channel_in_order_and_no_sooner_than_it_carries_them") {
        return;
    }
    let mut bench = Bench::new(r#"{"ampdu": 1, "mcs": 0}"#);
    bench.channel.arm().unwrap();
    let began = monotonic_ns();
    (0..200).for_each(|number| bench.send(1, address(0), number));
    let come = bench.come(0);
    assert!(come.iter().map(|(number, _)| *number).eq(0..200));
    // A PPDU of 1538 bytes at 6.5 Mbit/s takes 36 us and 474 symbols of 4 us.
    let carried_ns = |count: u64| count * (36 + 474 * 4) * 1000;
    assert!((1..).zip(&come).all(|(count, (_, at))| *at >= began + carried_ns(count)));
    let (record, driven) = bench.finish();
    assert_eq!((driven.passed_pkts, driven.lost_pkts), (200, 0));
    let station = &record.stations[1];
    assert_eq!((station.node.as_str(), station.delivered_pkts, station.exchanges), ("one", 200, 200));
}

#[test]
fn frames_between_stations_cross_the_air_twice_and_others_go_to_the_access_point() {
    if !inside(
        "channel::tests::frames_between_stations_cross_the_air_twice_and_others_go_to_the_access_point",
    ) {
        return;
    }
    let mut bench = Bench::new("{}");
    bench.channel.arm().unwrap();
    (0..50).for_each(|number| bench.send(1, address(2), number));
    (50..100).for_each(|number| bench.send(1, address(77), number));
    (100..150).for_each(|number| bench.send(0, address(1), number));
    // This address is behind the access point, but not on the channel.
    bench.send(0, address(77), 150);
    assert!(bench.numbers(2).into_iter().eq(0..50));
    assert!(bench.numbers(0).into_iter().eq(50..100));
    assert!(bench.numbers(1).into_iter().eq(100..150));
    let (record, _) = bench.finish();
    let delivered: Vec<u64> = record.stations.iter().map(|station| station.delivered_pkts).collect();
    assert_eq!(delivered, [100, 100, 0]);
}

#[test]
fn frames_to_a_group_go_to_all_others_and_take_no_airtime() {
    if !inside("channel::tests::frames_to_a_group_go_to_all_others_and_take_no_airtime") {
        return;
    }
    let mut bench = Bench::new(r#"{"beacon_interval": "0 s"}"#);
    bench.channel.arm().unwrap();
    bench.send(1, GROUP, 7);
    assert_eq!([bench.numbers(0), bench.numbers(1), bench.numbers(2)], [vec![7], vec![], vec![7]]);
    let (record, _) = bench.finish();
    assert_eq!(record.idle_ps, record.elapsed_ps);
}

#[test]
fn what_the_queue_does_not_take_is_dropped_and_counted_by_the_model() {
    if !inside("channel::tests::what_the_queue_does_not_take_is_dropped_and_counted_by_the_model") {
        return;
    }
    let mut bench = Bench::new(r#"{"mcs": 0, "queue": "20 packets", "beacon_interval": "0 s"}"#);
    bench.channel.arm().unwrap();
    (0..500).for_each(|number| bench.send(2, address(0), number));
    let come = bench.numbers(0).len() as u64;
    let (record, driven) = bench.finish();
    let station = &record.stations[2];
    assert!(station.queue_drops_pkts > 0);
    assert_eq!((station.delivered_pkts, station.delivered_pkts + station.queue_drops_pkts), (come, 500));
    assert_eq!(driven.lost_pkts, 0);
}
