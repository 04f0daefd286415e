//! Tests of the controls that react to delay, rate or marks: the queue at a bottleneck, and the share of its rate
//! that they use.

use nettrial_scenario::{Distribution, Record};
use serde_json::{Value, json};

use crate::network::{Network, settled_bps};

/// The payload of full segments over their bytes on the wire.
const PAYLOAD: f64 = 1448.0 / 1538.0;

/// Runs flows with one control over a bottleneck.
fn over(control: &str, flows: usize, bottleneck: &Value, seconds: u32) -> Record {
    let mut network = Network::default();
    for number in 0..flows {
        let (sender, receiver) = (format!("sender{number}"), format!("receiver{number}"));
        network.host(&sender, control);
        network.host(&receiver, control);
        network.link([&sender, "near"], &json!({"rate": "1 Gbit/s", "queue": "1000 packets"}));
        network.link(["far", &receiver], &json!({"rate": "1 Gbit/s", "queue": "1000 packets"}));
        network.transfer(&sender, &receiver, "tcp", seconds);
    }
    network.link(["near", "far"], bottleneck);
    network.run("500 ms")
}

/// Returns the share of a bottleneck's rate that its flows use together in the steady state.
fn used(record: &Record, rate_bps: f64) -> f64 {
    record.flows.iter().map(|flow| settled_bps(flow, 3.0)).sum::<f64>() / rate_bps / PAYLOAD
}

/// Returns the number of packets that wait at the bottleneck.
fn queue(record: &Record) -> Distribution {
    record
        .interfaces
        .iter()
        .find(|record| record.node == "near" && record.queue_pkts.is_some_and(|queue| queue.maximum > 0.0))
        .unwrap()
        .queue_pkts
        .unwrap()
}

/// BBR uses a path's rate except for its pacing margin and PROBE_RTT, with a queue of less than half the
/// bandwidth-delay product, where CUBIC fills the queue. It also does so with 1% loss, where Reno reaches MSS /
/// RTT sqrt(3/2) / sqrt(p), 18% of the rate.
#[test]
fn bbr_has_the_rate_whatever_is_lost() {
    let settings = |loss: f64| {
        json!({"rate": "20 Mbit/s", "queue": "500 packets", "delay": "20 ms",
            "impairment": {"loss": loss, "seed": 1}})
    };
    let record = over("bbr", 1, &settings(0.0), 9);
    assert!(used(&record, 20e6) > 0.95, "{}", used(&record, 20e6));
    assert!(queue(&record).p50 < 33.0, "{:?}", queue(&record));
    let lossy = used(&over("bbr", 1, &settings(0.01), 9), 20e6);
    assert!(lossy > 0.9, "{lossy}");
}

/// DCTCP keeps a link busy with a queue near the threshold: K = 20 is more than a seventh of the bandwidth-delay
/// product, the minimum according to Alizadeh et al., "Data Center TCP", 2010, section 3.3. The queue is never
/// much longer, because each flow reacts within a round trip.
#[test]
fn dctcp_keeps_to_the_threshold() {
    let marking = json!({"rate": "100 Mbit/s", "queue": "500 packets", "delay": "5 ms",
        "discipline": {"discipline": "mark", "threshold": "20 packets"}});
    let record = over("dctcp", 2, &marking, 6);
    assert!(used(&record, 100e6) > 0.97, "{}", used(&record, 100e6));
    let queue = queue(&record);
    assert!((5.0..=21.0).contains(&queue.p50) && queue.p99 < 30.0, "{queue:?}");
    assert_eq!(record.flows.iter().map(|flow| flow.retransmissions_pkts.unwrap()).sum::<u64>(), 0);
    assert!(record.flows.iter().all(|flow| flow.marks_pkts.unwrap() > 0));
}

/// Two flows of Vegas keep 2 to 4 packets each in the queue, not all of which are sampled there, and keep the link
/// busy.
#[test]
fn vegas_keeps_its_packets_queued() {
    let roomy = json!({"rate": "20 Mbit/s", "queue": "500 packets", "delay": "10 ms"});
    let record = over("vegas", 2, &roomy, 20);
    assert!(used(&record, 20e6) > 0.97, "{}", used(&record, 20e6));
    let queue = queue(&record);
    assert!((1.0..=9.0).contains(&queue.p50), "{queue:?}");
}
