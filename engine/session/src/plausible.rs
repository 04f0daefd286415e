//! Checks of records that agents on other machines and in guests make. An agent may be any program there, and what it
//! states is a figure only if it can be right.

use nettrial_scenario::{Distribution, FlowRecord};

/// The largest difference of two clocks' rates, as a fraction. The kernel's adjtimex allows 1/2000, and the clock of an
/// emulated guest may differ by more.
const CLOCK_RATES: u64 = 100;
/// The largest difference of two clocks beside that of their rates, nanoseconds.
const CLOCK_STEP_NS: u64 = 10_000_000;
/// The rate above which no flow is: 10 Tbit/s.
const MOST_BPS: f64 = 1e13;
const MOST_BYTES_PER_NS: u64 = 1250;

/// Returns the reason why `record`, of the flow called `name` that took `took_ns` here, cannot be right; `None` if it
/// may be.
pub fn impossible(name: &str, record: &FlowRecord, took_ns: u64) -> Option<String> {
    if record.name != name {
        return Some(format!("it is of the flow {:?}", record.name));
    }
    let longest_ns = took_ns.saturating_add(took_ns / CLOCK_RATES).saturating_add(CLOCK_STEP_NS);
    let ends = record.span.map(|span| [span.ended_ns, span.active_ns]).into_iter().flatten();
    if let Some(ended_ns) = ends.chain(record.ended_ns).max().filter(|ended_ns| *ended_ns > longest_ns) {
        return Some(format!("it ended after {ended_ns} ns, and took {took_ns} ns here"));
    }
    let most_bytes = longest_ns.saturating_mul(MOST_BYTES_PER_NS);
    let intervals = record.intervals.iter().map(|interval| interval.bytes);
    let counted = [record.ip_bytes, record.wire_bytes, record.span.map(|span| span.bytes)];
    let counted = counted.into_iter().flatten().chain([record.bytes]).chain(intervals);
    if let Some(bytes) = counted.max().filter(|bytes| *bytes > most_bytes) {
        return Some(format!("{bytes} bytes in {took_ns} ns"));
    }
    let goodput_bps = record.goodput_bps.filter(|goodput| !(0.0..=MOST_BPS).contains(goodput));
    if let Some(goodput_bps) = goodput_bps {
        return Some(format!("a goodput of {goodput_bps:e} bit/s"));
    }
    let longest_us = longest_ns as f64 / 1e3;
    let optional = [&record.completion_us, &record.rtt_us, &record.delay_variation_us];
    let times = [&record.connect_us, &record.srtt_us].into_iter().chain(optional.into_iter().flatten());
    let jitter = [record.jitter_rfc3550_us, record.delay_difference_mean_us].into_iter().flatten();
    let mut times = times.filter(|times| times.count > 0).flat_map(values).chain(jitter);
    if let Some(time_us) = times.find(|time_us| !(0.0..=longest_us).contains(time_us)) {
        return Some(format!("a time of {time_us:e} µs, in a flow that took {took_ns} ns"));
    }
    let counts = record.packets.filter(|counts| counts.lost_pkts > counts.sent_pkts);
    counts.map(|counts| format!("{} of {} packets were lost", counts.lost_pkts, counts.sent_pkts))
}

fn values(times: &Distribution) -> [f64; 6] {
    [times.mean, times.minimum, times.p50, times.p90, times.p99, times.maximum]
}

#[cfg(test)]
mod tests {
    use super::*;
    use nettrial_scenario::{Interval, PacketCounts, Span};

    #[test]
    fn a_record_that_cannot_be_right_is_refused() {
        let flow = serde_json::from_str(
            r#"{"name": "measured", "from": "client", "to": "server", "transport": "tcp", "ip": 4,
                "traffic": {"kind": "transfer", "duration": "1 s"}}"#,
        );
        let right = || FlowRecord::blank(flow.as_ref().unwrap());
        let second = 1_000_000_000;
        let span = |ended_ns, bytes| Some(Span { began_ns: 0, ended_ns, active_ns: ended_ns, bytes });
        let times = |maximum| Distribution { count: 1, maximum, ..Distribution::default() };
        let lost = |lost_pkts| Some(PacketCounts { sent_pkts: 5, lost_pkts, ..PacketCounts::default() });
        let interval = |bytes| vec![Interval { bytes, ..Interval::default() }];
        for (record, reason) in [
            (FlowRecord { span: span(second, 1), packets: lost(5), ..right() }, None),
            (FlowRecord { span: span(second + second / 100, 1), ..right() }, None),
            (FlowRecord { name: "other".into(), ..right() }, Some("it is of the flow \"other\"")),
            (FlowRecord { span: span(u64::MAX, 1), ..right() }, Some("ended after 18446744073709551615 ns")),
            (FlowRecord { ended_ns: Some(2 * second), ..right() }, Some("ended after 2000000000 ns")),
            (FlowRecord { bytes: u64::MAX, ..right() }, Some("18446744073709551615 bytes in 1000000000 ns")),
            (FlowRecord { span: span(1, u64::MAX), ..right() }, Some("18446744073709551615 bytes")),
            (FlowRecord { wire_bytes: Some(1 << 60), ..right() }, Some("1152921504606846976 bytes")),
            (FlowRecord { intervals: interval(1 << 60), ..right() }, Some("1152921504606846976 bytes")),
            (FlowRecord { goodput_bps: Some(-1.0), ..right() }, Some("a goodput of -1e0 bit/s")),
            (FlowRecord { goodput_bps: Some(1e14), ..right() }, Some("a goodput of 1e14 bit/s")),
            (FlowRecord { srtt_us: times(1e9), ..right() }, Some("a time of 1e9 µs")),
            (FlowRecord { rtt_us: Some(times(-1.0)), ..right() }, Some("a time of -1e0 µs")),
            (FlowRecord { jitter_rfc3550_us: Some(1e300), ..right() }, Some("a time of 1e300 µs")),
            (FlowRecord { packets: lost(6), ..right() }, Some("6 of 5 packets were lost")),
        ] {
            let found = impossible("measured", &record, second);
            assert_eq!(found.is_some(), reason.is_some(), "{found:?}");
            assert!(reason.is_none_or(|reason| found.as_ref().unwrap().contains(reason)), "{found:?}");
        }
    }
}
