//! Tests of trials over UDP.

use super::scenarios::{dumbbell, flow, pair, run, run_flow, with};
use serde_json::json;

/// The settings of a link on which 1250 bytes on the wire take 10 us.
const LINK: fn() -> serde_json::Value =
    || json!({"rate": "1 Gbit/s", "delay": "50 us", "queue": "100 packets"});

#[test]
fn at_half_the_load_every_packet_takes_what_theory_says() {
    // 1184 bytes of payload are 1250 bytes on the wire; 473.6 Mbit/s of payload use half of the rate.
    let traffic = json!({"kind": "packets", "size": {"distribution": "constant", "value": "1184 B"},
        "rate": "473.6 Mbit/s", "duration": "20 ms"});
    let record = run_flow(&with(pair(&LINK()), [flow("a0", "b0", "udp", traffic.clone())]));
    let owd = record.owd_us.unwrap();
    assert_eq!((owd.count, owd.minimum, owd.p50, owd.maximum, owd.deviation), (1000, 60.0, 60.0, 60.0, 0.0));
    assert_eq!((record.bytes, record.packets.unwrap().lost_pkts), (1_184_000, 0));
    // From the first departure to the last arrival there are 999 gaps of 20 us and the delay.
    assert_eq!(record.active_ns, 999 * 20_000 + 60_000);
    assert_eq!((record.jitter_rfc3550_us, record.delay_variation_us.unwrap().maximum), (Some(0.0), 0.0));
    assert_eq!((record.ip_bytes, record.wire_bytes), (Some(1_212_000), Some(1_250_000)));
    let pacing = record.pacing.unwrap();
    assert_eq!((pacing.asked_bps, pacing.sent_bps, pacing.lateness_us.maximum), (473.6e6, 473.6e6, 0.0));
    assert_eq!(record.intervals[0].at_ns, 10_000_000);
    // The flow starts within the first millisecond, so it ends within a millisecond after the second interval.
    let sampled = record.intervals.iter().map(|interval| interval.bytes).sum::<u64>();
    assert!((950 * 1184..=1000 * 1184).contains(&sampled), "{sampled}");

    let record = run_flow(&with(dumbbell(1, &LINK(), &LINK()), [flow("a0", "b0", "udp", traffic)]));
    assert_eq!(record.owd_us.unwrap().maximum, 180.0);
}

#[test]
fn more_than_a_bottleneck_takes_is_lost_in_its_queue_and_warned_of() {
    let traffic = json!({"kind": "packets", "size": {"distribution": "constant", "value": "1184 B"},
        "rate": "947.2 Mbit/s", "duration": "50 ms"});
    let half = json!({"rate": "500 Mbit/s", "delay": "50 us", "queue": "100 packets"});
    let mut scenario = with(dumbbell(1, &LINK(), &half), [flow("a0", "b0", "udp", traffic)]);
    scenario.measurement.queue_drops = nettrial_scenario::QueueDrops::Unexpected;
    scenario.measurement.queue_interval = Some(nettrial_scenario::Duration(1_000_000));
    let record = run(&scenario);
    let packets = record.flows[0].packets.unwrap();
    // 5000 packets arrive in 50 ms and 2500 depart; 100 wait at the end.
    assert_eq!((packets.sent_pkts, packets.received_pkts, packets.lost_pkts), (5000, 2600, 2400));
    let near = &record.interfaces[0];
    assert_eq!((near.node.as_str(), near.drops_pkts, near.frames_pkts), ("left", 2400, 2600));
    assert_eq!(near.queue_pkts.unwrap().maximum, 100.0);
    assert_eq!(near.queue_bytes.unwrap().maximum, 125_000.0);
    assert_eq!(record.warnings[0].code, "queue_drops");
    let goodput = record.flows[0].goodput_bps.unwrap();
    assert!((goodput / 473.6e6 - 1.0).abs() < 0.03, "{goodput}");
}

#[test]
fn a_small_socket_buffer_bounds_what_waits_in_the_interface() {
    let traffic = json!({"kind": "packets", "size": {"distribution": "constant", "value": "1472 B"},
        "duration": "20 ms"});
    let mut scenario = with(pair(&LINK()), [flow("a0", "b0", "udp", traffic)]);
    let delay = |scenario: &nettrial_scenario::Scenario| run_flow(scenario).owd_us.unwrap().maximum;
    let usual = delay(&scenario);
    scenario.workload[0].socket.udp_buffer = Some(nettrial_scenario::Size(8192));
    // 16384 bytes hold 7 packets of 2304 bytes and the one that fills them, after the one in transmission, which no
    // longer counts (wire_transmit in kernel/net/wire.c): 9 packets of 12.304 us each.
    let small = delay(&scenario);
    assert!(usual > 1000.0 && (small - 50.0 - 9.0 * 12.304).abs() < 0.1, "{usual} {small}");
    scenario.workload[0].socket.udp_buffer = Some(nettrial_scenario::Size(1024));
    assert_eq!(nettrial_sim::check(&scenario).unwrap_err()[0].setting, "udp_buffer");
}

#[test]
fn without_a_pace_the_socket_buffer_holds_packets_back_and_the_link_is_full() {
    let traffic = json!({"kind": "packets", "size": {"distribution": "constant", "value": "1472 B"},
        "duration": "20 ms"});
    let record = run_flow(&with(pair(&LINK()), [flow("a0", "b0", "udp", traffic)]));
    let packets = record.packets.unwrap();
    assert_eq!((packets.lost_pkts, packets.send_errors_pkts), (0, 0));
    // 1472 of 1538 bytes on the wire are payload; 93 packets of 2304 bytes in memory fill 212 992 bytes,
    // after the one in transmission.
    let goodput = record.goodput_bps.unwrap();
    assert!((goodput / (1e9 * 1472.0 / 1538.0) - 1.0).abs() < 0.01, "{goodput}");
    assert_eq!(record.owd_us.unwrap().maximum, (94.0 * 1538.0 * 8.0) / 1e3 + 50.0);
}

#[test]
fn a_datagram_larger_than_the_mtu_comes_in_fragments() {
    let traffic = json!({"kind": "packets", "size": {"distribution": "constant", "value": "4000 B"},
        "gap": {"distribution": "constant", "value": "1 ms"}, "count": 10});
    let record = run_flow(&with(pair(&LINK()), [flow("a0", "b0", "udp", traffic)]));
    // The fragments of 4008 bytes have 1480, 1480 and 1048 bytes, each with a header of 20 bytes, and 38 bytes on
    // the wire.
    assert_eq!((record.ip_bytes, record.wire_bytes), (Some(40_680), Some(41_820)));
    assert_eq!((record.bytes, record.owd_us.unwrap().maximum), (40_000, 4182.0 * 0.008 + 50.0));
}

/// The last fragment over IPv4 may fill an MTU that is not a multiple of 8, as in tests/lab/test_links.py.
#[test]
fn the_last_fragment_fills_the_mtu() {
    let traffic = json!({"kind": "packets", "size": {"distribution": "constant", "value": "35900 B"},
        "gap": {"distribution": "constant", "value": "1 ms"}, "count": 10});
    let mut scenario = with(pair(&LINK()), [flow("a0", "b0", "udp", traffic)]);
    scenario.links[0]
        .interfaces
        .iter_mut()
        .for_each(|interface| interface.mtu = nettrial_scenario::Size(9000));
    scenario.measurement.packet_sizes = true;
    let record = run(&scenario);
    let sizes = record.interfaces[0].packet_sizes.as_ref().unwrap().iter();
    let counted: Vec<_> = sizes.map(|size| (size.size_bytes, size.packets)).collect();
    assert_eq!(counted, [(8996, 30), (9000, 10)]);
    assert_eq!(record.flows[0].ip_bytes, Some(10 * (3 * 8996 + 9000)));
}

#[test]
fn random_sizes_and_gaps_follow_from_their_seed_alone() {
    let traffic = |seed: u64| {
        json!({"kind": "packets", "seed": seed, "count": 500,
            "size": {"distribution": "uniform", "minimum": "64 B", "maximum": "1400 B"},
            "gap": {"distribution": "exponential", "mean": "20 us"},
            "on_off": {"on": {"distribution": "constant", "value": "1 ms"},
                       "off": {"distribution": "constant", "value": "1 ms"}}})
    };
    let bytes = |seed| run_flow(&with(pair(&LINK()), [flow("a0", "b0", "udp", traffic(seed))])).bytes;
    assert_eq!(bytes(1), bytes(1));
    assert_ne!(bytes(1), bytes(2));
}

#[test]
fn a_request_takes_a_round_trip() {
    let traffic = json!({"kind": "request_response", "request": "58 B", "response": "1184 B", "count": 100,
        "interval": "1 ms"});
    let record = run_flow(&with(pair(&LINK()), [flow("a0", "b0", "udp", traffic.clone())]));
    let rtt = record.rtt_us.unwrap();
    // 58 bytes of payload are 124 bytes on the wire, 1184 are 1250.
    let expected = (124.0 + 1250.0) * 0.008 + 100.0;
    assert_eq!((rtt.count, rtt.minimum, rtt.maximum), (100, expected, expected));
    assert_eq!((record.packets.unwrap().received_pkts, record.bytes), (100, 5800));
    assert_eq!(record.active_ns, 99_000_000 + (expected * 1e3) as u64);

    let mut several = traffic;
    several["interval"] = json!(null);
    several["in_flight"] = json!(4);
    let record = run_flow(&with(pair(&LINK()), [flow("a0", "b0", "udp", several)]));
    let per_second = record.transactions_per_second.unwrap();
    assert!(per_second > 3.5e6 / expected && per_second <= 4e6 / expected, "{per_second}");
}

#[test]
fn a_sweep_measures_every_size() {
    let traffic = json!({"kind": "sweep", "first": "1000 B", "last": "3000 B", "step": "1000 B", "repeats": 2,
        "bytes": "6 kB", "answer": "echo", "seed": 3});
    let record = run_flow(&with(pair(&LINK()), [flow("a0", "b0", "udp", traffic)]));
    let rtts: Vec<f64> = record.sizes.iter().map(|size| size.rtt_us[1]).collect();
    // The frames have 1066 bytes on the wire; 1538 and 586 (528 and headers); 1538, 1538 and 106.
    let expected = [1066.0, 1538.0 + 586.0, 2.0 * 1538.0 + 106.0].map(|bytes| 2.0 * (bytes * 0.008 + 50.0));
    assert_eq!(rtts, expected);
    assert!(record.sizes.iter().all(|size| size.rtt_us.len() == 2 && size.resent_pkts == 0));
    assert_eq!(record.bytes, 2 * 3 * 6000);
}

/// Returns the bytes on the wire of each fragment of a message over UDP and IPv4 (RFC 791, section 3.2).
fn frames(message: u32, mtu: u32) -> Vec<u32> {
    let mut left = message + 8;
    let mut found = Vec::new();
    while left > 0 {
        let taken = if left <= mtu - 20 { left } else { (mtu - 20) / 8 * 8 };
        found.push((20 + taken + 38).max(84));
        left -= taken;
    }
    found
}

/// The closed form of studies/mtu-packet-size-gigabit: fragments follow each other through the switches, so each
/// one counts once, and the largest one counts once more for each further link.
#[test]
fn a_message_takes_its_frames_and_the_largest_once_more_for_each_further_link() {
    let traffic = json!({"kind": "sweep", "first": "1000 B", "last": "65500 B", "step": "500 B", "repeats": 1,
        "bytes": "66 kB", "answer": "acknowledgment", "seed": 3});
    let link = json!({"rate": "1 Gbit/s", "queue": "1000 packets"});
    let mut slower = 0;
    let mut before: Vec<f64> = Vec::new();
    for mtu in [1500, 9000] {
        let mut scenario = with(dumbbell(1, &link, &link), [flow("a0", "b0", "udp", traffic.clone())]);
        let interfaces = scenario.links.iter_mut().flat_map(|link| &mut link.interfaces);
        interfaces.for_each(|interface| interface.mtu = nettrial_scenario::Size(mtu.into()));
        let record = run_flow(&scenario);
        let rtts: Vec<f64> = record.sizes.iter().map(|size| size.rtt_us[0]).collect();
        for (size, rtt) in record.sizes.iter().zip(&rtts) {
            let frames = frames(size.size_bytes.try_into().unwrap(), mtu);
            let wire = frames.iter().sum::<u32>() + 2 * frames.iter().max().unwrap() + 3 * 90;
            let expected = f64::from(wire) * 0.008;
            assert!(
                (rtt - expected).abs() < 1e-9,
                "{} bytes, MTU {mtu}: {rtt}, expected {expected}",
                size.size_bytes
            );
        }
        slower += rtts.iter().zip(&before).filter(|(later, earlier)| later > earlier).count();
        before = rtts;
    }
    // With the larger MTU all sizes but the two smallest are slower: one of these is a single frame with either
    // MTU, and the other is only slightly longer than a small frame.
    assert_eq!(slower, before.len() - 2);
}

#[test]
fn a_seed_gives_one_record_to_the_byte_and_another_seed_another() {
    let traffic = |seed: u64| {
        json!({"kind": "packets", "seed": seed, "duration": "20 ms",
            "size": {"distribution": "uniform", "minimum": "64 B", "maximum": "1400 B"},
            "gap": {"distribution": "exponential", "mean": "15 us"}})
    };
    let record = |seed: u64| {
        let names = [("a0", "b0"), ("a1", "b1"), ("a2", "b1")];
        let flows = names.iter().zip(1..).map(|((from, to), number)| flow(from, to, "udp", traffic(number)));
        let mut scenario = with(dumbbell(3, &LINK(), &LINK()), flows);
        scenario.seed = seed;
        serde_json::to_string(&run(&scenario)).unwrap()
    };
    assert_eq!(record(0), record(0));
    assert_eq!(record(7), record(7));
    assert_ne!(record(0), record(7));
}

#[test]
fn a_host_with_a_cost_has_processor_time_and_the_others_say_why_not() {
    let traffic = json!({"kind": "packets", "size": {"distribution": "constant", "value": "1184 B"},
        "gap": {"distribution": "constant", "value": "20 us"}, "count": 1000});
    let mut scenario = with(pair(&LINK()), [flow("a0", "b0", "udp", traffic)]);
    scenario.measurement.cpu = vec!["a0".into(), "b0".into()];
    scenario.measurement.packet_sizes = true;
    scenario.nodes[0].cost = Some(serde_json::from_value(json!({"per_packet": "5 us"})).unwrap());
    let record = run(&scenario);
    assert_eq!(record.hosts[0].cpu_busy_ns, Some(5_000_000));
    let (percent, demand) = (record.hosts[0].cpu_percent, record.hosts[0].service_demand_us_per_kb);
    assert!((percent.unwrap() - 25.0).abs() < 0.2, "{percent:?}");
    assert_eq!(demand, Some(5000.0 / 1184.0));
    assert_eq!((record.hosts[1].cpu_percent, record.absent[0].object.as_str()), (None, "b0"));
    assert_eq!(record.flows[0].owd_us.unwrap().maximum, 65.0);
    let sizes = record.interfaces[0].packet_sizes.as_ref().unwrap();
    assert_eq!((sizes.len(), sizes[0].size_bytes, sizes[0].packets), (1, 1212, 1000));
    assert!(record.warnings.is_empty());

    scenario.nodes[0].cost = Some(serde_json::from_value(json!({"per_packet": "30 us"})).unwrap());
    assert_eq!(run(&scenario).warnings[0].code, "processor_saturated");
}
