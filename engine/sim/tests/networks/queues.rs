//! Tests of queues against queueing theory.

use crate::common::{chain, send_along};
use nettrial_sim::{Time, wire_bytes};
use rand::distr::{Distribution, Open01};
use rand::{SeedableRng, rngs::ChaCha8Rng};
use serde_json::{Value, json};

/// Returns an exponentially distributed number with that mean.
fn exponential(random: &mut ChaCha8Rng, mean: f64) -> f64 {
    let uniform: f64 = Open01.sample(random);
    -uniform.ln() * mean
}

/// Returns the settings of a link of 10 Mbit/s: 1 us for 1.25 bytes.
fn link(discipline: Value) -> Value {
    let mut link = json!({"rate": "10 Mbit/s", "queue": "100000 packets"});
    link["discipline"] = discipline;
    link
}

/// Returns the mean waiting time of packets before their transmission, in mean transmission times. The packets
/// arrive as a Poisson process that uses `load` of the link; `sizes` draws the bytes of their frames.
fn mean_wait(load: f64, mean_bytes: f64, sizes: impl Fn(&mut ChaCha8Rng) -> u32) -> f64 {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let byte_ps = 800_000.0;
    let mut at = 0.0;
    let departures: Vec<(Time, u32)> = (0..200_000)
        .map(|_| {
            at += exponential(&mut random, mean_bytes * byte_ps / load);
            (Time(at as u64), sizes(&mut random))
        })
        .collect();
    let world = send_along(&chain(&[link(json!({"discipline": "drop_tail"}))], 60_000), &departures);
    assert_eq!(world.endpoints.arrivals.len(), departures.len());
    let waits =
        world.endpoints.arrivals.iter().zip(&departures).map(|((_, arrival, _), (departure, size))| {
            arrival.since(*departure).0 as f64 - f64::from(wire_bytes(*size)) * byte_ps
        });
    waits.sum::<f64>() / departures.len() as f64 / (mean_bytes * byte_ps)
}

/// M/D/1: rho / (2 (1 - rho)) transmission times (Pollaczek and Khinchine). The tolerance is four times the
/// standard deviation over seeds.
#[test]
fn frames_of_one_size_wait_as_in_md1() {
    for (load, tolerance) in [(0.3, 0.02), (0.7, 0.04)] {
        let expected = load / (2.0 * (1.0 - load));
        let found = mean_wait(load, 1038.0, |_| 1000);
        assert!((found / expected - 1.0).abs() < tolerance, "load {load}: {found}, not {expected}");
    }
}

/// M/M/1: rho / (1 - rho). Frames have 38 bytes of framing and at least 84 bytes in all, so exponential sizes are
/// limited to that and to the MTU; with a mean of 5000 this changes the second moment by less than 1%.
#[test]
fn frames_of_exponential_sizes_wait_as_in_mm1() {
    for (load, tolerance) in [(0.3, 0.03), (0.7, 0.06)] {
        let expected = load / (1.0 - load);
        let size = |random: &mut ChaCha8Rng| (exponential(random, 5000.0) as u32).clamp(84, 60_000) - 38;
        let found = mean_wait(load, 5000.0, |random| size(random).max(28));
        assert!((found / expected - 1.0).abs() < tolerance, "load {load}: {found}, not {expected}");
    }
}

/// Sends full frames of 1250 bytes on the wire, 1 ms each, at `load` of the link.
fn overload(discipline: Value, load: f64, packets: u64) -> (Vec<(u64, Time, bool)>, u64) {
    let gap = 1e9 / load;
    let departures: Vec<(Time, u32)> =
        (0..packets).map(|number| (Time((number as f64 * gap) as u64), 1250 - 38)).collect();
    let mut world = send_along(&chain(&[link(discipline)], 1212), &departures);
    let counters = world.engine.network().link(0).counters(Time::NEVER);
    assert_eq!(counters.frames_pkts + counters.drops_pkts, packets);
    assert_eq!(counters.frames_pkts as usize, world.endpoints.arrivals.len());
    (world.endpoints.arrivals, counters.drops_pkts)
}

/// An unresponsive source, 5% above the rate, makes CoDel drop the excess once the queue has existed for long
/// enough. From then on the delay stays near the target, whereas that of drop-tail would grow with the queue.
#[test]
fn codel_keeps_a_standing_queue_near_its_target() {
    let codel = json!({"discipline": "codel", "target": "5 ms", "interval": "100 ms"});
    let gap = 1.0 / 1.05;
    let (arrivals, drops) = overload(codel, 1.05, 100_000);
    let late = arrivals.iter().filter(|(number, ..)| *number > 50_000);
    let delays: Vec<f64> =
        late.map(|(number, at, _)| at.0 as f64 / 1e9 - *number as f64 * gap - 1.0).collect();
    let mean = delays.iter().sum::<f64>() / delays.len() as f64;
    assert!((2.0..12.0).contains(&mean), "a mean delay of {mean} ms");
    assert!((drops as f64 / 100_000.0 / (0.05 / 1.05) - 1.0).abs() < 0.05, "{drops} drops");
}

/// An unresponsive load moves RED's average to the point where it drops the excess: 1 - 1 / load of the packets.
/// There the average follows from the probability: a share d of drops is 2 / (1 + 1 / p), see `red.rs`.
#[test]
fn red_settles_where_its_probability_drops_what_is_too_much() {
    let red = json!({"discipline": "red", "minimum": "25 kB", "maximum": "75 kB", "probability": 0.2,
        "weight": 0.002});
    let load = 1.15;
    let (arrivals, drops) = overload(red, load, 60_000);
    let share = 1.0 - 1.0 / load;
    assert!((drops as f64 / 60_000.0 / share - 1.0).abs() < 0.05, "{drops} drops");
    let probability = share / (2.0 - share);
    let expected_ms = (25_000.0 + 50_000.0 * probability / 0.2) / 1250.0;
    let late = arrivals.iter().filter(|(number, ..)| *number > 20_000);
    let delays: Vec<f64> = late.map(|(number, at, _)| at.0 as f64 / 1e9 - *number as f64 / load).collect();
    let mean = delays.iter().sum::<f64>() / delays.len() as f64;
    assert!((mean / expected_ms - 1.0).abs() < 0.1, "a mean delay of {mean} ms, not {expected_ms}");
}

#[test]
fn a_step_marks_what_finds_more_than_its_threshold() {
    let mut link = link(json!({"discipline": "mark", "threshold": "2 packets"}));
    link["queue"] = json!("100 packets");
    let scenario = chain(&[link, json!({})], 1500);
    let mut world = crate::common::send_marked(&scenario, &[(Time::ZERO, 1212); 6]);
    let marked: Vec<bool> = world.endpoints.arrivals.iter().map(|(.., marked)| *marked).collect();
    // The first packet is in transmission; the fifth is the first to find three waiting packets.
    assert_eq!(marked, [false, false, false, false, true, true]);
    assert_eq!(world.engine.network().link(0).counters(Time::ZERO).marks_pkts, 2);
    let unmarked = send_along(&scenario, &[(Time::ZERO, 1212); 6]);
    assert!(unmarked.endpoints.arrivals.iter().all(|(.., marked)| !marked));
}
