//! Known-answer tests of the line itself: numbered frames enter at one end, and are counted and timed at the
//! other.

use super::{Carried, DelayLine, Settings, monotonic_ns, wall_offset_ns};
use crate::clock::Clock;
use crate::messages::{up, veth};
use crate::packet_socket::{Intake, OFFLOAD_HEADER_BYTES, Outlet, Ring};
use crate::settings;
use crate::testing::inside;
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{LinkAttribute, LinkMessage};
use nettrial_netlink::Netlink;
use nettrial_scenario::{Duration, Impairment, Interface, Link, Medium, Size};
use std::collections::HashMap;
use std::time::{Duration as Span, Instant};

const DESTINATION: [u8; 6] = [2, 0, 0, 0, 0, 9];
/// IEEE Std 802's first EtherType for local experiments.
const LOCAL_EXPERIMENT: [u8; 2] = [0x88, 0xb5];
const ENDS: [i32; 4] = [101, 102, 103, 104];

fn interface(index: i32) -> LinkMessage {
    let mut message = LinkMessage::default();
    message.header.index = index.unsigned_abs();
    message.attributes = vec![LinkAttribute::IfName(format!("end{index}")), LinkAttribute::Mtu(65_535)];
    message
}

/// A test bench: frames enter at the first interface, pass a line between the two in the middle, and leave at the
/// last.
struct Bench {
    link: Link,
    line: DelayLine,
    outlet: Outlet,
    ring: Ring,
}

/// A frame that left the line: its number, and the time that it took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Arrival {
    number: usize,
    took_ns: u64,
}

impl Bench {
    fn new(delay: Duration, impairment: Impairment) -> Self {
        settings::write("net.ipv6.conf.default.disable_ipv6", "1").unwrap();
        let mut netlink = Netlink::open().unwrap();
        for pair in [[ENDS[0], ENDS[1]], [ENDS[2], ENDS[3]]] {
            netlink.create(RouteNetlinkMessage::NewLink(veth(pair.map(interface))), "a pair").unwrap();
        }
        for index in ENDS {
            netlink.change(RouteNetlinkMessage::SetLink(up(index)), "starting").unwrap();
        }
        netlink.flush().unwrap();
        let interface = |name: &str| Interface {
            node: name.into(),
            name: "eth0".into(),
            mtu: Size(1500),
            addresses: Vec::new(),
        };
        let link = Link {
            medium: Medium::default(),
            interfaces: vec![interface("a"), interface("b")],
            wlan: None,
            rate: None,
            rate_trace: None,
            delay,
            delay_trace: None,
            queue: None,
            discipline: Default::default(),
            impairment,
            reverse: None,
            tunnel: None,
        };
        // The ring has room for all frames that a test sends, so missing ones were lost by the line.
        let ring = Ring::open(ENDS[3], Intake::Arriving, 1514, 60_000).unwrap();
        let line = DelayLine::start(Settings {
            link: &link,
            first: 0,
            indexes: [ENDS[1], ENDS[2]],
            largest_frame: 1514,
            longest_waits_ns: [0; 2],
            processor: 0,
            clock: Clock::Real,
            separates_udp: true,
        })
        .unwrap();
        Self { link, line, outlet: Outlet::open(ENDS[0]).unwrap(), ring }
    }

    /// Sends `count` frames at intervals of `gap`, and returns the frames that left the line, in their order.
    fn pass(&mut self, count: usize, gap: Span) -> Vec<Arrival> {
        let offset = wall_offset_ns();
        let mut sent = Vec::with_capacity(count);
        let begin = Instant::now();
        for number in 0..count {
            let mut frame = vec![0; OFFLOAD_HEADER_BYTES];
            frame.extend(DESTINATION.iter().chain(&DESTINATION).chain(&LOCAL_EXPERIMENT));
            frame.extend(number.to_ne_bytes());
            frame.resize(OFFLOAD_HEADER_BYTES + 100, 0);
            while begin.elapsed() < gap * u32::try_from(number).unwrap() {
                std::thread::yield_now();
            }
            sent.push(monotonic_ns());
            assert_eq!(self.outlet.send(std::iter::once(frame.as_slice())), 0);
        }
        let mut arrivals = Vec::new();
        let mut quiet_since = Instant::now();
        while quiet_since.elapsed() < QUIET {
            let Some(slot) = self.ring.peek() else {
                std::thread::sleep(Span::from_millis(1));
                continue;
            };
            quiet_since = Instant::now();
            let at = OFFLOAD_HEADER_BYTES + 14;
            let number = usize::from_ne_bytes(slot.bytes[at..at + 8].try_into().unwrap());
            assert_eq!(slot.length, 100);
            arrivals.push(Arrival { number, took_ns: slot.arrived_unix_ns - offset - sent[number] });
            self.ring.release();
        }
        arrivals
    }
}

fn numbers(arrivals: &[Arrival]) -> Vec<usize> {
    arrivals.iter().map(|arrival| arrival.number).collect()
}

/// Returns true if `count` of `trials` is within 3.29 standard deviations (99.9%) of the probability. The fates
/// are drawn from a seed, so a count that fits once always fits.
fn fits(count: usize, trials: usize, probability: f64) -> bool {
    let mean = trials as f64 * probability;
    (count as f64 - mean).abs() <= 3.29 * (mean * (1.0 - probability)).sqrt()
}

/// The time without a frame after which no more frames are expected.
const QUIET: Span = Span::from_millis(300);
const FRAMES: usize = 20_000;
const GAP: Span = Span::from_micros(15);

#[test]
fn every_frame_arrives_once_in_order_and_no_sooner_than_the_delay() {
    if !inside("delay_line::tests::every_frame_arrives_once_in_order_and_no_sooner_than_the_delay") {
        return;
    }
    let mut bench = Bench::new(Duration(5_000_000), Impairment::default());
    bench.line.arm().unwrap();
    let arrivals = bench.pass(FRAMES, GAP);
    assert_eq!(numbers(&arrivals), (0..FRAMES).collect::<Vec<_>>());
    let mut took: Vec<u64> = arrivals.iter().map(|arrival| arrival.took_ns).collect();
    took.sort_unstable();
    println!("added to 5 ms, us: {:?}", [0.5, 0.9, 0.99, 0.999].map(|share| quantile(&took, share) - 5000.0));
    // No frame arrives earlier. The lateness of most frames depends on the machine, but some are on time on any
    // machine.
    assert!((5_000_000..5_100_000).contains(&took[0]), "{} ns", took[0]);
    let Carried { passed_pkts, lost_pkts, .. } = bench.line.carried().unwrap();
    assert_eq!((passed_pkts, lost_pkts), (FRAMES as u64, 0));
}

fn quantile(sorted_ns: &[u64], share: f64) -> f64 {
    sorted_ns[(sorted_ns.len() as f64 * share) as usize] as f64 / 1e3
}

#[test]
fn loss_is_as_set_and_begins_when_armed() {
    if !inside("delay_line::tests::loss_is_as_set_and_begins_when_armed") {
        return;
    }
    let mut bench = Bench::new(Duration(1_000_000), Impairment { loss: 0.02, seed: 1, ..Default::default() });
    assert_eq!(numbers(&bench.pass(2_000, GAP)), (0..2_000).collect::<Vec<_>>());
    bench.line.arm().unwrap();
    let first = numbers(&bench.pass(FRAMES, GAP));
    assert!(fits(FRAMES - first.len(), FRAMES, 0.02), "{} arrived", first.len());
    assert!(first.is_sorted());
    assert_eq!(bench.line.carried().unwrap().lost_pkts, 0);
}

#[test]
fn duplicates_are_as_set_and_follow_their_frame() {
    if !inside("delay_line::tests::duplicates_are_as_set_and_follow_their_frame") {
        return;
    }
    let impairment = Impairment { duplication: 0.05, seed: 2, ..Default::default() };
    let mut bench = Bench::new(Duration(1_000_000), impairment);
    bench.line.arm().unwrap();
    let arrivals = numbers(&bench.pass(FRAMES, GAP));
    let mut counts: HashMap<usize, usize> = HashMap::new();
    arrivals.iter().for_each(|number| *counts.entry(*number).or_default() += 1);
    assert_eq!(counts.len(), FRAMES);
    assert!(counts.values().all(|count| *count <= 2));
    assert!(fits(arrivals.len() - FRAMES, FRAMES, 0.05), "{} arrived", arrivals.len());
    assert!(arrivals.is_sorted());
}

#[test]
fn frames_held_back_are_as_many_as_set_and_are_overtaken() {
    if !inside("delay_line::tests::frames_held_back_are_as_many_as_set_and_are_overtaken") {
        return;
    }
    let impairment =
        Impairment { reordering: 0.03, reordering_delay: Duration(3_000_000), seed: 3, ..Default::default() };
    let mut bench = Bench::new(Duration(2_000_000), impairment);
    bench.line.arm().unwrap();
    let arrivals = bench.pass(FRAMES, GAP);
    assert_eq!(arrivals.len(), FRAMES);
    // A frame is reordered if one that was sent later arrived before it (RFC 4737 section 3.3).
    let (mut latest, mut reordered) = (0, Vec::new());
    for arrival in &arrivals {
        if arrival.number < latest {
            reordered.push(arrival);
        }
        latest = latest.max(arrival.number);
    }
    assert!(fits(reordered.len(), FRAMES, 0.03), "{} were reordered", reordered.len());
    assert!(reordered.iter().all(|arrival| arrival.took_ns >= 5_000_000));
}

#[test]
fn jitter_is_even_between_the_delay_and_so_much_more() {
    if !inside("delay_line::tests::jitter_is_even_between_the_delay_and_so_much_more") {
        return;
    }
    let impairment = Impairment { jitter: Duration(4_000_000), seed: 4, ..Default::default() };
    let mut bench = Bench::new(Duration(2_000_000), impairment);
    bench.line.arm().unwrap();
    // The frames are farther apart than the jitter, so that keeping the order does not change any frame's delay.
    let arrivals = bench.pass(400, Span::from_millis(5));
    assert_eq!(numbers(&arrivals), (0..400).collect::<Vec<_>>());
    let mut fates = super::LineFates::new(&bench.link, 0, true);
    let mut drawn: Vec<u64> = (0..400).map(|_| fates.next(false).jitter_ps / 1000).collect();
    let jitter_ns = |arrival: &Arrival| drawn[arrival.number];
    for part in 0..4 {
        let here = arrivals.iter().filter(|arrival| jitter_ns(arrival) / 1_000_000 == part);
        let added =
            here.map(|arrival| i128::from(arrival.took_ns) - 2_000_000 - i128::from(jitter_ns(arrival)));
        let (least, count) =
            added.fold((i128::MAX, 0), |(least, count), added| (least.min(added), count + 1));
        assert!((0..100_000).contains(&least), "jitter of {part} ms: {least} ns added");
        assert!(fits(count, 400, 0.25), "{count} with a jitter of {part} ms");
    }
    // The drawn jitter itself is uniform, by the distance of Kolmogorov and Smirnov (99.9%).
    drawn.sort_unstable();
    let distance = |(rank, value): (usize, &u64)| (*value as f64 / 4e6 - rank as f64 / 400.0).abs();
    assert!(drawn.iter().enumerate().map(distance).fold(0.0, f64::max) < 1.95 / 20.0);
}
