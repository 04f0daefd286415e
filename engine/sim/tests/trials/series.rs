//! Tests of the samples of interfaces over time.

use crate::scenarios::{dumbbell, flow, run, with};
use nettrial_scenario::Duration;
use serde_json::json;

#[test]
fn a_bottleneck_says_how_long_its_queue_was_and_how_busy_it_was() {
    let edge = json!({"rate": "100 Mbit/s", "queue": "100 packets"});
    let middle = json!({"rate": "10 Mbit/s", "delay": "1 ms", "queue": "20 packets"});
    let transfer = json!({"kind": "transfer", "duration": "1 s"});
    let mut scenario = with(dumbbell(1, &edge, &middle), [flow("a0", "b0", "tcp", transfer)]);
    scenario.measurement.queue_interval = Some(Duration(10_000_000));
    assert!(
        run(&scenario)
            .interfaces
            .iter()
            .all(|record| record.series.is_empty() && record.queue_pkts.is_some())
    );

    scenario.measurement.queue_series = true;
    let record = run(&scenario);
    let record =
        record.interfaces.iter().find(|record| record.node == "left" && record.drops_pkts > 0).unwrap();
    let queue = record.queue_pkts.unwrap();
    assert_eq!(record.series.len() as u64, queue.count);
    assert!(record.series.iter().zip(1..).all(|(sample, number)| sample.at_ns == number * 10_000_000));
    assert_eq!(
        record.series.iter().map(|sample| f64::from(sample.queue_pkts)).fold(0.0, f64::max),
        queue.maximum
    );
    let sent: u64 = record.series.iter().map(|sample| sample.wire_bytes).sum();
    // Packets that left after the last sample are not counted.
    assert!(
        (record.wire_bytes - 12_500..=record.wire_bytes).contains(&sent),
        "{sent} of {}",
        record.wire_bytes
    );
    // The counter grows without a pause; a frame counts from the start of its transmission, hence the tolerance of
    // one.
    let busy = &record.series[20..90];
    let mean = busy.iter().map(|sample| sample.utilisation_percent).sum::<f64>() / busy.len() as f64;
    assert!((99.5..=100.5).contains(&mean), "{mean}");
    assert!(busy.iter().all(|sample| sample.utilisation_percent <= 100.0 + 1538.0 / 125.0));
}
