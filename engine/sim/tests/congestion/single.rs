//! Tests of single flows: Reno's square-root law and CUBIC's function.

use nettrial_scenario::Interval;
use serde_json::json;

use crate::network::{Network, settled_bps};

/// Returns the goodput of Reno over a path with random frame loss, relative to MSS / RTT sqrt(3/2) / sqrt(p).
fn reno_over_law(loss: f64, seconds: u32) -> f64 {
    let mut network = Network::default();
    network.host("sender", "reno");
    network.host("receiver", "reno");
    let settings = json!({"rate": "1 Gbit/s", "queue": "1000 packets", "delay": "20 ms",
        "impairment": {"loss": loss, "seed": 1}});
    network.link(["sender", "receiver"], &settings);
    network.transfer("sender", "receiver", "tcp", seconds);
    let record = network.run("500 ms");
    let law = f64::from(record.flows[0].mss_bytes) * 8.0 / 0.04 * (1.5 / loss).sqrt();
    settled_bps(&record.flows[0], 2.0) / law
}

/// Mathis, Semke, Mahdavi and Ott, "The Macroscopic Behavior of the TCP Congestion Avoidance Algorithm", 1997,
/// within 12%: the law assumes losses at equal distances, whereas they are random here (at 2%, some occur in
/// recovery or cause timeouts), and only some hundreds of them are observed.
#[test]
fn reno_keeps_to_the_square_root_law() {
    for (loss, seconds) in [(0.001, 120), (0.002, 90), (0.005, 60), (0.01, 60), (0.02, 60)] {
        let ratio = reno_over_law(loss, seconds);
        assert!((ratio - 1.0).abs() < 0.12, "{ratio} of the law at a loss of {loss}");
    }
}

/// Finds the reductions of the window by a fifth or more: the index of the last sample before each, and of the
/// first sample of the next sawtooth.
fn reductions(intervals: &[Interval]) -> Vec<(usize, usize)> {
    let (mut peak, mut found) = (0, Vec::new());
    for (index, interval) in intervals.iter().enumerate() {
        if interval.cwnd_pkts > intervals[peak].cwnd_pkts {
            peak = index;
        } else if interval.cwnd_pkts * 5 < intervals[peak].cwnd_pkts * 4 {
            found.push((peak, index));
            peak = index;
        }
    }
    found
}

/// Behind a queue that overflows, each sawtooth is W(t) = C (t - K)³ + W_max (RFC 9438 section 4.2) within 3%,
/// from 0.7 of the window at the overflow to the next overflow. The first overflow is that of slow start. The
/// second occurs at a smaller window, because that of the first exceeded the path's capacity: fast convergence
/// sets W_max to 0.85 of it (section 4.7). The third has a larger window, so W_max is the window itself.
#[test]
fn cubic_follows_its_function() {
    let mut network = Network::default();
    network.host("sender", "cubic");
    network.host("receiver", "cubic");
    network.link(["sender", "router"], &json!({"rate": "1 Gbit/s", "queue": "1000 packets"}));
    let middle = json!({"rate": "50 Mbit/s", "queue": "150 packets", "delay": "40 ms"});
    network.link(["router", "receiver"], &middle);
    network.transfer("sender", "receiver", "tcp", 24);
    let intervals = &network.run("50 ms").flows[0].intervals;
    let reductions = reductions(intervals);
    assert!(reductions.len() >= 4, "{reductions:?}");
    let c = 410.0 / 1024.0;
    for (number, of_window) in [(1, 1741.0 / 2048.0), (2, 1.0)] {
        let (peak, first) = reductions[number];
        let largest = f64::from(intervals[peak].cwnd_pkts);
        let k = f64::cbrt(largest * (of_window - 717.0 / 1024.0) / c);
        // The samples begin a round trip after the reduction, because it takes one round trip.
        for interval in &intervals[first + 3..=reductions[number + 1].0] {
            let t = (interval.at_ns - intervals[first].at_ns) as f64 / 1e9;
            let model = c * (t - k).powi(3) + largest * of_window;
            let cwnd = f64::from(interval.cwnd_pkts);
            assert!((cwnd / model - 1.0).abs() < 0.03, "{cwnd}, not {model}, {t} s into sawtooth {number}");
        }
    }
}
