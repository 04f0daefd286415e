//! Tests of trials over TCP and MPTCP.

use super::scenarios::{dumbbell, flow, pair, run, run_flow, two_paths, with};
use nettrial_scenario::{NodeKind, Scenario, Size};
use serde_json::{Value, json};

/// Returns the settings of a link on which a segment of 1448 bytes takes 12.304 us.
fn link() -> Value {
    json!({"rate": "1 Gbit/s", "delay": "50 us", "queue": "200 packets"})
}

fn transfer(size: Option<&str>, duration: Option<&str>) -> Value {
    json!({"kind": "transfer", "size": size, "duration": duration})
}

/// Returns the round-trip time in microseconds of a frame with `there` bytes above Ethernet and an answer of
/// `back` bytes.
fn round_trip_us(there: u32, back: u32) -> f64 {
    f64::from(there + 38 + back + 38) * 0.008 + 100.0
}

fn near(found: f64, expected: f64, tolerance: f64) {
    assert!((found / expected - 1.0).abs() <= tolerance, "{found} is not {expected}");
}

#[test]
fn a_transfer_for_some_time_fills_the_link() {
    for scenario in [pair(&link()), dumbbell(1, &link(), &link())] {
        let traffic = transfer(None, Some("100 ms"));
        let record = run_flow(&with(scenario, [flow("a0", "b0", "tcp", traffic)]));
        near(record.goodput_bps.unwrap(), 1e9 * 1448.0 / 1538.0, 0.03);
        assert_eq!((record.mss_bytes, record.connections), (1448, 1));
        assert_eq!(record.congestion_control, "reno");
        assert!(record.completion_us.is_none() && record.active_ns >= 100_000_000 - 200_000);
        // There is a sample every 10 ms, and together they cover all acknowledged bytes but those of the end.
        assert!((9..=11).contains(&record.intervals.len()));
        let sampled: u64 = record.intervals.iter().map(|interval| interval.bytes).sum();
        assert!(sampled <= record.bytes && record.bytes - sampled < 2_600_000);
        assert!(record.srtt_us.minimum > 100.0 && record.min_rtt_us.is_some_and(|rtt| rtt >= 100));
        let ip_bytes = record.ip_bytes.unwrap();
        near(ip_bytes as f64, record.bytes as f64 * 1500.0 / 1448.0, 0.01);
    }
}

/// The connection has no round-trip time while it opens, which takes as long as one: no sample may say 0.
#[test]
fn a_round_trip_time_that_is_not_there_yet_is_absent() {
    let path = json!({"rate": "1 Gbit/s", "delay": "50 ms", "queue": "200 packets"});
    let traffic = transfer(None, Some("1 s"));
    let record = run_flow(&with(pair(&path), [flow("a0", "b0", "tcp", traffic)]));
    let (opening, open): (Vec<_>, Vec<_>) =
        record.intervals.iter().partition(|interval| interval.srtt_us.is_none());
    assert!(!opening.is_empty() && opening.iter().all(|interval| interval.min_rtt_us.is_none()));
    assert!(opening.iter().all(|interval| interval.delivery_rate_bps.is_none()));
    assert!(open.iter().all(|interval| interval.srtt_us >= Some(100_000)));
    assert_eq!(record.srtt_us.count, open.len() as u64);
    assert!(
        record.srtt_us.minimum >= 100_000.0 && record.min_rtt_us >= Some(100_000),
        "{:?}",
        record.srtt_us
    );
}

#[test]
fn a_transfer_of_a_size_takes_what_slow_start_takes() {
    let record = run_flow(&with(pair(&link()), [flow("a0", "b0", "tcp", transfer(Some("13016 B"), None))]));
    // SYN and SYN-ACK have 60 bytes each.
    assert_eq!(record.connect_us.mean, round_trip_us(60, 60));
    assert_eq!((record.bytes, record.completion_us.unwrap().count), (13_016, 1));
    // The time of the initial window of 10 segments, one after the other, of which the first has the connection's opening
    // of 17 bytes and the others 16 bytes and the transfer, and a confirmation of 8 bytes; in addition the acknowledgments
    // of the handshake and of the last data, and FIN.
    let expected = (107.0 + 8.0 * 1538.0) * 0.008 + round_trip_us(1500, 60) + 3.0 * 90.0 * 0.008;
    near(record.active_ns as f64 / 1e3, expected, 1e-6);
    near(record.completion_us.unwrap().mean, expected + round_trip_us(60, 60), 1e-6);
    assert_eq!(record.retransmissions_pkts, Some(0));
}

#[test]
fn transfers_of_a_size_follow_each_other_for_some_time() {
    let traffic = transfer(Some("100 kB"), Some("20 ms"));
    let record = run_flow(&with(pair(&link()), [flow("a0", "b0", "tcp", traffic)]));
    let completion = record.completion_us.unwrap();
    assert_eq!((u64::from(record.connections), record.bytes), (completion.count, completion.count * 100_000));
    assert!(record.connections > 5, "{}", record.connections);
    // The transfers follow each other, and the last one begins within the duration.
    let total = completion.mean * completion.count as f64;
    assert!((20_000.0..20_000.0 + completion.maximum).contains(&total), "{total}");
    assert_eq!(record.connect_us.minimum, round_trip_us(60, 60));
}

#[test]
fn a_request_takes_the_paths_round_trip() {
    let traffic = json!({"kind": "request_response", "request": "64 B", "response": "1000 B", "count": 50,
        "interval": "1 ms"});
    let record = run_flow(&with(pair(&link()), [flow("a0", "b0", "tcp", traffic.clone())]));
    let rtt = record.rtt_us.unwrap();
    let expected = round_trip_us(64 + 52, 1000 + 52);
    assert_eq!((rtt.count, rtt.minimum), (50, expected));
    // Hosts acknowledge immediately at first, which takes 90 bytes before a message in each direction.
    assert!(rtt.maximum <= expected + 2.0 * 90.0 * 0.008 && rtt.mean < expected + 0.5, "{rtt:?}");
    assert_eq!((record.connections, record.bytes), (1, 3200));
    near(record.transactions_per_second.unwrap(), 50.0 / (0.049 + expected / 1e6), 1e-4);

    let mut several = traffic.clone();
    (several["interval"], several["in_flight"]) = (json!(null), json!(5));
    let record = run_flow(&with(pair(&link()), [flow("a0", "b0", "tcp", several)]));
    assert_eq!(record.rtt_us.unwrap().count, 50);
    assert!(record.transactions_per_second.unwrap() > 3.0e6 / expected);

    let mut each = traffic;
    each["connecting"] = json!("each_request");
    let record = run_flow(&with(pair(&link()), [flow("a0", "b0", "tcp", each)]));
    assert_eq!((record.connections, record.rtt_us.unwrap().count), (50, 50));
    near(record.rtt_us.unwrap().mean, expected + round_trip_us(60, 60), 0.01);
    assert_eq!(record.connect_us.count, 50);
}

#[test]
fn large_messages_come_whole_through_buffers_that_do_not_hold_them() {
    let traffic = json!({"kind": "request_response", "request": "1 MB", "response": "800 kB", "count": 3});
    let mut scenario = with(pair(&link()), [flow("a0", "b0", "tcp", traffic)]);
    for node in &mut scenario.nodes {
        let stack = node.stack.as_mut().unwrap();
        stack.send_buffer.maximum.0 = 128 << 10;
        stack.receive_buffer.maximum.0 = 256 << 10;
    }
    let record = run_flow(&scenario);
    assert_eq!((record.rtt_us.unwrap().count, record.bytes), (3, 3_000_000));
}

#[test]
fn messages_over_tcp_arrive_all_and_in_order() {
    let traffic = json!({"kind": "packets", "size": {"distribution": "uniform", "minimum": "24 B", "maximum": "5000 B"},
        "gap": {"distribution": "exponential", "mean": "30 us"}, "count": 1000, "seed": 4});
    let record = run_flow(&with(pair(&link()), [flow("a0", "b0", "tcp", traffic)]));
    let owd = record.owd_us.unwrap();
    assert_eq!((owd.count, record.packets, record.connections), (1000, None, 1));
    assert!(owd.minimum >= 50.0 && record.pacing.is_some());
    near(record.bytes as f64, 1000.0 * 2512.0, 0.1);
}

#[test]
fn a_sweep_on_a_connection_measures_every_size() {
    let traffic = json!({"kind": "sweep", "first": "500 B", "last": "1448 B", "step": "474 B", "repeats": 2,
        "bytes": "10 kB", "answer": "acknowledgment", "seed": 3});
    let record = run_flow(&with(pair(&link()), [flow("a0", "b0", "tcp", traffic)]));
    let rtts: Vec<f64> = record.sizes.iter().map(|size| size.rtt_minimum_us[0]).collect();
    for (rtt, size) in rtts.into_iter().zip([500, 974, 1448]) {
        near(rtt, round_trip_us(size + 52, 24 + 52), 1e-9);
    }
    assert_eq!(record.connections, 1);
}

#[test]
fn equal_flows_share_their_bottleneck_fairly() {
    let middle = json!({"rate": "100 Mbit/s", "delay": "2 ms", "queue": "100 packets"});
    let flows = (0..4)
        .map(|number| flow(&format!("a{number}"), &format!("b{number}"), "tcp", transfer(None, Some("4 s"))));
    let record = run(&with(dumbbell(4, &link(), &middle), flows));
    let goodputs: Vec<f64> = record.flows.iter().map(|flow| flow.goodput_bps.unwrap()).collect();
    let (sum, squares) = goodputs.iter().fold((0.0, 0.0), |(sum, squares), x| (sum + x, squares + x * x));
    let jain = sum * sum / (4.0 * squares);
    assert!(jain > 0.95, "{jain} of {goodputs:?}");
    near(sum, 1e8 * 1448.0 / 1538.0, 0.05);
    assert!(record.flows.iter().any(|flow| flow.retransmissions_pkts > Some(0)));
}

/// Returns the goodput over a link of 10 Gbit/s with that round-trip time, with a receive window of so many bytes.
fn window_limited(rtt_us: u64, window_bytes: u64, duration: &str) -> f64 {
    let settings =
        json!({"rate": "10 Gbit/s", "delay": format!("{} us", rtt_us / 2), "queue": "20000 packets"});
    let mut scenario = with(pair(&settings), [flow("a0", "b0", "tcp", transfer(None, Some(duration)))]);
    for node in &mut scenario.nodes {
        let stack = node.stack.as_mut().unwrap();
        // A segment of 1448 bytes occupies 2344 bytes of memory: a window has 158 parts of 256 of its buffer.
        let buffer = window_bytes * 256 / 158;
        (stack.receive_buffer.initial.0, stack.receive_buffer.maximum.0) = (buffer, buffer);
    }
    let record = run_flow(&scenario);
    // The samples begin after slow start.
    let steady = &record.intervals[record.intervals.len() / 2..];
    let span_ns = steady.last().unwrap().at_ns - record.intervals[record.intervals.len() / 2 - 1].at_ns;
    steady.iter().map(|interval| interval.bytes).sum::<u64>() as f64 * 8e9 / span_ns as f64
}

#[test]
fn a_window_of_the_bandwidth_delay_product_fills_the_link_and_a_smaller_one_does_not() {
    // 10 Gbit/s over 1 ms are 1.25 MB on the wire, of which 1448 in 1538 bytes are payload.
    let full = 1e10 * 1448.0 / 1538.0;
    let payload = 1_250_000.0 * 1448.0 / 1538.0;
    near(window_limited(1000, 1_250_000, "60 ms"), full, 0.005);
    near(window_limited(1000, (payload * 0.8) as u64, "60 ms"), full * 0.8, 0.02);
    // Over 11 ms the bandwidth-delay product is 13.75 MB.
    near(window_limited(11_000, 13_750_000, "300 ms"), full, 0.005);
}

/// Returns the time in microseconds that the slowest of 24 hosts needs. All have open connections and send 64 kB
/// each to one host at about the same time, over a queue of 64 packets.
fn incast(minimum_rto: &str) -> f64 {
    let small = json!({"rate": "1 Gbit/s", "delay": "20 us", "queue": "64 packets"});
    let flows = (0..24).map(|number| {
        // The first message opens the window without competition; the second is sent together with those of all
        // others.
        let gap = json!({"distribution": "constant", "value": format!("{} ms", 100 - 2 * number)});
        let traffic = json!({"kind": "packets", "count": 2, "gap": gap,
            "size": {"distribution": "constant", "value": "64 kB"}});
        let mut flow = flow(&format!("a{number}"), "b0", "tcp", traffic);
        flow.start.0 = 2_000_000 * number;
        flow
    });
    let mut scenario: Scenario = with(dumbbell(24, &small, &small), flows);
    for stack in scenario.nodes.iter_mut().filter_map(|node| node.stack.as_mut()) {
        stack.minimum_rto = Some(serde_json::from_value(json!(minimum_rto)).unwrap());
    }
    let record = run(&scenario);
    assert!(record.warnings.is_empty(), "{:?}", record.warnings);
    record.flows.iter().map(|flow| flow.owd_us.unwrap().maximum).fold(0.0, f64::max)
}

#[test]
fn many_senders_at_once_wait_for_timeouts_and_a_smaller_one_cures_it() {
    // Together, the messages would take 13 ms.
    let (slow, fast) = (incast("200 ms"), incast("1 ms"));
    assert!(slow > 200_000.0, "{slow}");
    assert!(fast < 40_000.0, "{fast}");
}

#[test]
fn mptcp_takes_both_paths_and_tcp_that_of_its_pair() {
    let slow = json!({"rate": "100 Mbit/s", "delay": "500 us", "queue": "60 packets"});
    let with_flow = |transport: &str, number: u32| {
        let mut flow = flow("a0", "b0", transport, transfer(None, Some("1 s")));
        flow.pair = number;
        run_flow(&with(two_paths(&slow), [flow]))
    };
    let record = with_flow("mptcp", 0);
    near(record.goodput_bps.unwrap(), 2e8 * 1448.0 / 1538.0, 0.06);
    assert_eq!(record.subflows.len(), 2);
    let bytes: Vec<u64> = record.subflows.iter().map(|subflow| subflow.bytes).collect();
    near(bytes[0] as f64, bytes[1] as f64, 0.1);
    let sampled = |of: usize| record.intervals.iter().map(|interval| interval.subflow_bytes[of]).sum::<u64>();
    assert!((0..2).all(|of| sampled(of) <= bytes[of] && sampled(of) > bytes[of] / 2));
    assert!(record.subflows[1].local.starts_with("10.0.2.1:"), "{:?}", record.subflows);

    for number in [0, 1, 2] {
        near(with_flow("tcp", number).goodput_bps.unwrap(), 1e8 * 1448.0 / 1538.0, 0.03);
    }
    let both = [0, 1].map(|number| {
        let mut flow = flow("a0", "b0", "tcp", transfer(None, Some("1 s")));
        (flow.pair, flow.name) = (number, format!("flow{number}"));
        flow
    });
    let record = run(&with(two_paths(&slow), both));
    for flow in &record.flows {
        near(flow.goodput_bps.unwrap(), 1e8 * 1448.0 / 1538.0, 0.03);
    }
}

#[test]
fn a_seed_gives_one_record_to_the_byte_and_another_seed_another() {
    let record = |seed: u64| {
        let middle = json!({"rate": "200 Mbit/s", "delay": "1 ms", "queue": "50 packets"});
        let flows = ["a0", "a1", "a2"].map(|name| flow(name, "b0", "tcp", transfer(None, Some("200 ms"))));
        let mut scenario = with(dumbbell(3, &link(), &middle), flows);
        scenario.seed = seed;
        serde_json::to_string(&run(&scenario)).unwrap()
    };
    assert_eq!(record(1), record(1));
    assert_ne!(record(1), record(2));
}

#[test]
fn a_connection_that_nothing_passes_is_warned_of() {
    let lossy =
        json!({"rate": "1 Gbit/s", "delay": "50 us", "queue": "200 packets", "impairment": {"loss": 1.0}});
    let record = run(&with(pair(&lossy), [flow("a0", "b0", "tcp", transfer(Some("1 kB"), None))]));
    assert_eq!(record.warnings.last().unwrap().code, "unfinished");
    assert_eq!((record.flows[0].bytes, record.flows[0].goodput_bps), (0, None));
}

#[test]
fn bytes_that_arrive_after_the_duration_are_outside_the_span() {
    // At 10 Mbit/s, the send buffer and the queue take longer to drain than the duration.
    let slow = json!({"rate": "10 Mbit/s", "delay": "1 ms", "queue": "300 packets"});
    let traffic = transfer(None, Some("300 ms"));
    let record = run_flow(&with(pair(&slow), [flow("a0", "b0", "tcp", traffic)]));
    let span = record.span.unwrap();
    // A start varies by up to a millisecond.
    assert!((300_000_000..301_000_000).contains(&span.ended_ns));
    assert_eq!(span.active_ns, span.ended_ns - span.began_ns);
    assert!(record.ended_ns.unwrap() > 310_000_000 && span.bytes < record.bytes);
    assert_eq!(record.ended_ns.unwrap() - span.began_ns, record.active_ns);
    // A segment of 1448 bytes takes 1538 bytes of the wire, and the first one arrives after the delay.
    let most = 1e7 / 8.0 * (span.active_ns - 1_000_000) as f64 / 1e9 * 1448.0 / 1538.0;
    assert!(span.bytes as f64 <= most && span.bytes as f64 > 0.97 * most, "{} of {most}", span.bytes);
    assert_eq!(record.goodput_bps, span.goodput_bps());
}

#[test]
fn transfers_one_after_the_other_count_until_the_duration_ends() {
    let slow = json!({"rate": "10 Mbit/s", "delay": "1 ms", "queue": "300 packets"});
    let traffic = transfer(Some("100 kB"), Some("300 ms"));
    let record = run_flow(&with(pair(&slow), [flow("a0", "b0", "tcp", traffic)]));
    let span = record.span.unwrap();
    assert_eq!((record.connections, record.bytes), (4, 400_000));
    assert!((300_000_000..301_000_000).contains(&span.ended_ns));
    assert!(span.bytes > 300_000 && span.bytes < 400_000);
    // The time between two transfers is not a part of any.
    assert!(span.active_ns < span.ended_ns - span.began_ns);
    // Without a duration, the span includes everything.
    let traffic = transfer(Some("100 kB"), None);
    let record = run_flow(&with(pair(&slow), [flow("a0", "b0", "tcp", traffic)]));
    let span = record.span.unwrap();
    assert_eq!((span.bytes, span.active_ns), (record.bytes, record.active_ns));
    assert_eq!(Some(span.ended_ns), record.ended_ns);
}

#[test]
fn nothing_arrives_in_a_duration_in_which_no_connection_opens() {
    let far = json!({"rate": "10 Mbit/s", "delay": "50 ms", "queue": "300 packets"});
    let record = run_flow(&with(pair(&far), [flow("a0", "b0", "tcp", transfer(None, Some("80 ms")))]));
    let span = record.span.unwrap();
    assert_eq!((span.ended_ns - span.began_ns, span.active_ns, span.bytes), (80_000_000, 80_000_000, 0));
    assert_eq!(record.goodput_bps, Some(0.0));
}

/// Routers that report nothing drop what is too large for their link.
#[test]
fn only_a_sender_that_probes_crosses_a_black_hole() {
    let mut scenario = dumbbell(1, &link(), &link());
    for interface in scenario.links[1..].iter_mut().flat_map(|edge| &mut edge.interfaces) {
        interface.mtu = Size(9000);
    }
    for node in &mut scenario.nodes {
        node.filters_icmp = node.kind == NodeKind::Router;
    }
    let mut scenario = with(scenario, [flow("a0", "b0", "tcp", transfer(Some("1 MB"), None))]);
    assert_eq!(run(&scenario).flows[0].bytes, 0);
    for stack in scenario.nodes.iter_mut().filter_map(|node| node.stack.as_mut()) {
        stack.mtu_probing = true;
    }
    let record = run_flow(&scenario);
    assert_eq!(record.bytes, 1_000_000);
    assert!((1024..=1448).contains(&record.mss_bytes), "{}", record.mss_bytes);
}
