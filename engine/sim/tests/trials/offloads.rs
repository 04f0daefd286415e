//! Tests of bursts and coalesced segments in whole trials.

use super::scenarios::{dumbbell, flow, pair, run, run_flow, two_paths, with};
use nettrial_scenario::{Duration, HostCost, Record, Scenario};
use serde_json::{Value, json};

fn link() -> Value {
    json!({"rate": "1 Gbit/s", "delay": "50 us", "queue": "200 packets"})
}

fn transfer(scenario: Scenario, duration: &str) -> Scenario {
    with(scenario, [flow("a0", "b0", "tcp", json!({"kind": "transfer", "duration": duration}))])
}

/// Returns the scenario with TSO at the hosts called `a…`, and GRO at the others.
fn offloaded(mut scenario: Scenario, tso: bool, gro: bool) -> Scenario {
    for node in &mut scenario.nodes {
        node.offloads.tso = tso && node.name.starts_with('a');
        node.offloads.gro = gro && node.name.starts_with('b');
    }
    scenario
}

/// Returns the scenario with receive windows that hardly grow: while they do, each segment is acknowledged (tcp_grow_window),
/// which costs CPU time, too.
fn with_fixed_windows(mut scenario: Scenario) -> Scenario {
    for stack in scenario.nodes.iter_mut().filter_map(|node| node.stack.as_mut()) {
        (stack.receive_buffer.initial.0, stack.receive_buffer.maximum.0) = (1 << 20, 1 << 20);
    }
    scenario
}

fn costly(mut scenario: Scenario, host: &str, cost: &Value) -> Scenario {
    let cost: HostCost = serde_json::from_value(cost.clone()).unwrap();
    scenario.nodes.iter_mut().filter(|node| node.name == host).for_each(|node| node.cost = Some(cost));
    scenario
}

/// Returns the numbers of frames and bytes that entered the network at a node's interface.
fn sent_by(record: &Record, node: &str) -> (u64, u64) {
    let sender = record.interfaces.iter().find(|sender| sender.node == node).unwrap();
    (sender.frames_pkts, sender.wire_bytes)
}

fn near(found: f64, expected: f64, tolerance: f64) {
    assert!((found / expected - 1.0).abs() <= tolerance, "{found} is not {expected}");
}

/// Returns the goodput and the 90th percentile of the queue of a flow from a host whose link is ten times as fast
/// as the bottleneck, so that a burst arrives before its first segment has left.
fn through_a_bottleneck(queue: &str, loss: f64, tso: bool) -> (f64, f64) {
    let edge = json!({"rate": "10 Gbit/s", "queue": "1000 packets"});
    let middle = json!({"rate": "1 Gbit/s", "delay": "2 ms", "queue": queue,
        "impairment": {"loss": loss, "seed": 2}});
    let mut scenario = transfer(dumbbell(1, &edge, &middle), "1 s");
    scenario.measurement.queue_interval = Some(Duration(100_000));
    let record = run(&offloaded(scenario, tso, false));
    let near = record
        .interfaces
        .iter()
        .find(|near| (near.node.as_str(), near.interface.as_str()) == ("left", "eth0"));
    (record.flows[0].goodput_bps.unwrap(), near.unwrap().queue_pkts.unwrap().p90)
}

#[test]
fn bursts_leave_the_goodput_of_a_full_link_as_it_was() {
    let [single, bursts] = [false, true].map(|tso| through_a_bottleneck("500 packets", 0.0, tso));
    near(bursts.0, single.0, 0.02);
}

/// Losses limit the window to about 120 segments, where 330 would fill the link, so the queue consists of bursts.
#[test]
fn a_queue_has_room_for_bursts_to_fill() {
    let [single, bursts] = [false, true].map(|tso| through_a_bottleneck("1000 packets", 1e-4, tso));
    // After a recovery, all that the send buffer has room for again leaves at once.
    assert!(single.1 <= 20.0, "{single:?}");
    // A burst lasts a millisecond at the rate, or is a third of the window, some 40 segments, a tenth of which
    // leaves while it arrives.
    assert!((25.0..60.0).contains(&bursts.1), "{bursts:?}");
    // A sender that waits until a third of its window is open uses less of it.
    assert!((0.67..1.0).contains(&(bursts.0 / single.0)), "{bursts:?} {single:?}");
}

#[test]
fn what_is_joined_is_acknowledged_once() {
    let cost = json!({"coalescing": "100 us"});
    let figures = |gro: bool| {
        let scenario = costly(transfer(pair(&link()), "200 ms"), "b0", &cost);
        let record = run(&offloaded(scenario, true, gro));
        assert!(record.warnings.is_empty(), "{:?}", record.warnings);
        (
            sent_by(&record, "b0").0 as f64,
            sent_by(&record, "a0").0 as f64,
            record.flows[0].goodput_bps.unwrap(),
        )
    };
    let (acks, segments, goodput) = figures(false);
    // While the window grows, each segment is acknowledged.
    near(acks, segments / 2.0, 0.03);
    let (fewer, coalesced, same) = figures(true);
    // 8 segments take 100 us.
    assert!(fewer < coalesced / 6.0, "{fewer} for {coalesced}");
    near(same, goodput, 0.03);
}

/// The sender's CPU is the limit: in bursts of 45 segments, a segment costs a 45th of a packet, and its bytes.
#[test]
fn a_costly_sender_sends_more_in_bursts() {
    let fast = json!({"rate": "100 Gbit/s", "delay": "10 us", "queue": "1000 packets"});
    let cost = json!({"per_packet": "10 us", "per_kilobyte": "1 us"});
    // The time of a transfer of a size includes all acknowledgments, which wait for the CPU.
    let flows = [flow("a0", "b0", "tcp", json!({"kind": "transfer", "size": "20 MB"}))];
    let scenario = with_fixed_windows(costly(with(pair(&fast), flows), "a0", &cost));
    let record = |tso: bool| run(&offloaded(scenario.clone(), tso, false));
    let goodput = |record: &Record| record.flows[0].goodput_bps.unwrap();
    let (single, bursts) = (record(false), record(true));
    // 1500 bytes take 11.5 us, and the acknowledgment of every second segment takes 10.052 us.
    near(goodput(&single), 1448.0 * 8e6 / (11.5 + 10.052 / 2.0), 0.02);
    // A burst of 45 segments takes 10 us, 1.5 us for each segment, and as many acknowledgments as before.
    near(goodput(&bursts), 1448.0 * 8e6 / (10.0 / 45.0 + 1.5 + 10.052 / 2.0), 0.05);
    assert_eq!(bursts.warnings[0].code, "processor_saturated");
}

/// The receiver's CPU is the limit: the segments of a poll cost one packet, their bytes and one acknowledgment.
#[test]
fn a_costly_receiver_takes_more_if_it_joins() {
    let fast = json!({"rate": "100 Gbit/s", "delay": "10 us", "queue": "1000 packets"});
    let cost = json!({"per_packet": "10 us", "per_kilobyte": "1 us"});
    let scenario = with_fixed_windows(costly(transfer(pair(&fast), "100 ms"), "b0", &cost));
    let record = |gro: bool| run(&offloaded(scenario.clone(), true, gro));
    let goodput = |record: &Record| record.flows[0].goodput_bps.unwrap();
    let (single, coalesced) = (record(false), record(true));
    near(goodput(&single), 1448.0 * 8e6 / (11.5 + 10.052 / 2.0), 0.02);
    let (segments, acks) = (sent_by(&coalesced, "a0").0 as f64, sent_by(&coalesced, "b0").0 as f64);
    let each = segments / acks;
    near(goodput(&coalesced), 1448.0 * 8e6 / (1.5 + 20.052 / each), 0.05);
    assert!(goodput(&coalesced) > 4.0 * goodput(&single), "{each} segments are coalesced");
}

#[test]
fn nothing_is_joined_where_nothing_arrives_together_and_the_record_says_so() {
    let record = run(&offloaded(transfer(pair(&link()), "20 ms"), true, true));
    let [warning] = record.warnings.as_slice() else { panic!("{:?}", record.warnings) };
    assert_eq!((warning.code.as_str(), warning.object.as_str()), ("nothing_coalesced", "b0"));
    // A burst arrives at one instant on a link without a rate.
    let record = run(&offloaded(transfer(pair(&json!({"delay": "50 us"})), "2 ms"), true, true));
    assert!(record.warnings.is_empty(), "{:?}", record.warnings);
}

/// With losses, reordering and marks, over one path and over two, everything that is coalesced is cut again where
/// needed.
#[test]
fn everything_arrives_whatever_is_joined() {
    let bad = json!({"rate": "500 Mbit/s", "delay": "100 us", "queue": "50 packets",
        "impairment": {"loss": 0.01, "duplication": 0.02, "reordering": 0.05, "reordering_delay": "90 us", "seed": 3},
        "discipline": {"discipline": "mark", "threshold": "20 packets"}});
    let once = |transport: &str, seed: u64| {
        let traffic = json!({"kind": "transfer", "size": "400 kB"});
        let network = if transport == "tcp" { pair(&bad) } else { two_paths(&bad) };
        let flows = [flow("a0", "b0", transport, traffic.clone()), flow("b0", "a0", transport, traffic)];
        let mut scenario = with(network, flows);
        scenario.seed = seed;
        for node in &mut scenario.nodes {
            (node.offloads.tso, node.offloads.gro) = (true, true);
            if let Some(stack) = &mut node.stack {
                stack.ecn = seed.is_multiple_of(2);
                node.cost = Some(serde_json::from_value(json!({"coalescing": "70 us"})).unwrap());
            }
        }
        scenario
    };
    for seed in 0..6 {
        for transport in ["tcp", "mptcp"] {
            let scenario = once(transport, seed);
            let record = run(&scenario);
            assert!(record.warnings.is_empty(), "{:?}", record.warnings);
            for flow in &record.flows {
                assert_eq!((flow.bytes, flow.completion_us.unwrap().count), (400_000, 1));
            }
            let again = serde_json::to_string(&run(&scenario)).unwrap();
            assert_eq!(serde_json::to_string(&record).unwrap(), again);
        }
    }
}

#[test]
fn a_host_without_a_cost_that_joins_has_no_processor_time() {
    let mut scenario = offloaded(transfer(pair(&json!({"delay": "50 us"})), "2 ms"), true, true);
    scenario.measurement.cpu = vec!["b0".into()];
    let record = run(&scenario);
    assert_eq!((record.hosts[0].cpu_busy_ns, record.absent[0].object.as_str()), (None, "b0"));
    assert!(run_flow(&scenario).bytes > 0);
}
