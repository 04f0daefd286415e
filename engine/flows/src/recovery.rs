//! The time that flows take to recover from a link or node that fails.

use nettrial_scenario::{Absence, FlowRecord, Interval, OutageRecord, Scenario, Traffic, Transport, Warning};

/// Samples before an event from which a flow's goodput before it is known.
const SAMPLES: usize = 3;
/// The share of its goodput before an event at which a flow has recovered, where the scenario has none.
const HALF: f64 = 0.5;
/// The name of the metric.
const METRIC: &str = "time_to_recover";

/// Sets how long each of `flows` took to recover from the events that happened; if that is unknown, says why and
/// warns of it.
///
/// A flow has recovered from an event once its goodput, sample by sample, is the measurement's `recovered_share` of
/// what it was before: of its mean over the later half of the time since the flow began, or since the event before.
/// The time to recover is how long it was below that, until the next event or the flow's end.
pub fn measure(
    scenario: &Scenario,
    events: &[OutageRecord],
    flows: &mut [FlowRecord],
) -> (Vec<Absence>, Vec<Warning>) {
    let (mut absent, mut warnings) = (Vec::new(), Vec::new());
    if scenario.events.is_empty() {
        return (absent, warnings);
    }
    for (flow, record) in scenario.workload.iter().zip(flows) {
        let is_stream = matches!(flow.transport, Transport::Tcp | Transport::Mptcp)
            && matches!(flow.traffic, Traffic::Transfer(_));
        let told = if is_stream {
            let share = scenario.measurement.recovered_share.unwrap_or(HALF);
            longest(&spans(&record.intervals, scenario.measurement.interval.0), events, share)
        } else {
            Err("only transfers over TCP and MPTCP tell over time what was delivered".to_owned())
        };
        match told {
            Ok(time_ns) => record.recovery_ns = Some(time_ns),
            Err(reason) => {
                if is_stream {
                    let object = format!("flow {}", flow.name);
                    let consequence = "its time to recover is not known";
                    warnings.push(Warning::new("recovery_untold", &object, reason.clone(), consequence));
                }
                absent.push(Absence { metric: METRIC.into(), object: flow.name.clone(), reason });
            }
        }
    }
    (absent, warnings)
}

/// A sample as the time it began, the time it ended, and the bytes delivered between them.
type Span = (u64, u64, u64);

/// Samples as spans of at least about `interval_ns`: where a sampler is late, its next sample follows at once and
/// says nothing by itself.
fn spans(samples: &[Interval], interval_ns: u64) -> Vec<Span> {
    let (mut spans, mut begins, mut bytes) = (Vec::new(), 0, 0);
    for sample in samples {
        bytes += sample.bytes;
        if sample.at_ns >= begins + interval_ns / 4 * 3 {
            spans.push((begins, sample.at_ns, bytes));
            (begins, bytes) = (sample.at_ns, 0);
        }
    }
    spans
}

/// The longest time that a flow with these samples took to recover from `events`; or why that is unknown.
fn longest(samples: &[Span], events: &[OutageRecord], share: f64) -> Result<u64, String> {
    if events.is_empty() {
        return Err("the traffic had ended before the first event".to_owned());
    }
    let mut times: Vec<u64> =
        events.iter().flat_map(|event| [Some(event.at_ns), event.returned_ns]).flatten().collect();
    times.sort_unstable();
    let mut longest = 0;
    for event in events {
        let before = times.iter().copied().filter(|time| *time < event.at_ns).max().unwrap_or(0);
        let next = events.iter().map(|other| other.at_ns).filter(|time| *time > event.at_ns).min();
        longest = longest.max(after(samples, before, event.at_ns, next.unwrap_or(u64::MAX), share)?);
    }
    Ok(longest)
}

/// The time that a flow took to recover from an event at `at`, where nothing else happened from `before` until then
/// and no other event before `next`.
fn after(spans: &[Span], before: u64, at: u64, next: u64, share: f64) -> Result<u64, String> {
    let rate = |(begins, ends, bytes): &Span| *bytes as f64 * 1e9 / (ends - begins).max(1) as f64;
    let event = || format!("the event at {:.3} s", at as f64 / 1e9);
    let first = spans.iter().find(|span| span.2 > 0).map_or(u64::MAX, |span| span.0).max(before);
    let later_half = |span: &&Span| span.0 >= first + at.saturating_sub(first) / 2 && span.1 <= at;
    let steady: Vec<&Span> = spans.iter().filter(later_half).collect();
    if first >= at || steady.len() < SAMPLES {
        let count = steady.len();
        return Err(format!(
            "{count} samples before {} are too few to know its goodput before it: it takes {SAMPLES}",
            event()
        ));
    }
    let bytes: u64 = steady.iter().map(|span| span.2).sum();
    let time_ns = steady[steady.len() - 1].1 - steady[0].0;
    let enough = share * bytes as f64 * 1e9 / time_ns.max(1) as f64;
    // One sample among many says nothing about a busy machine's flow.
    if steady.iter().filter(|span| rate(span) < enough).count() * 10 > steady.len() {
        return Err(format!("its goodput fell as low before {}, too", event()));
    }
    let following: Vec<&Span> = spans.iter().filter(|span| span.1 > at && span.0 < next).collect();
    let Some(last) = following.last() else {
        return Err(format!("the flow had ended before {}", event()));
    };
    if rate(last) < enough {
        let until = (last.1 - at) as f64 / 1e9;
        return Err(format!("{until:.3} s after {}, when its samples end, it had not recovered", event()));
    }
    let below = following.iter().filter(|span| rate(span) < enough);
    Ok(below.map(|span| span.1 - span.0.max(at)).sum())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Samples of 100 ms with these bytes each.
    fn samples(bytes: &[u64]) -> Vec<Span> {
        let sample = |(number, &bytes): (usize, &u64)| Interval {
            at_ns: (number as u64 + 1) * 100_000_000,
            bytes,
            ..Interval::default()
        };
        let samples: Vec<Interval> = bytes.iter().enumerate().map(sample).collect();
        spans(&samples, 100_000_000)
    }

    fn event(at_ms: u64, returned_ms: Option<u64>) -> OutageRecord {
        let returned_ns = returned_ms.map(|time| time * 1_000_000);
        OutageRecord { fails: vec!["a".into()], at_ns: at_ms * 1_000_000, returned_ns }
    }

    #[test]
    fn the_time_to_recover_is_how_long_goodput_was_below_the_share() {
        let dip = samples(&[10, 100, 100, 100, 100, 100, 100, 100, 0, 0, 20, 60, 100, 100]);
        assert_eq!(longest(&dip, &[event(800, Some(1100))], 0.5), Ok(300_000_000));
        assert_eq!(longest(&dip, &[event(800, None)], 0.9), Ok(400_000_000));
        // From within a sample, what is left of it counts.
        assert_eq!(longest(&dip, &[event(850, None)], 0.5), Ok(250_000_000));
        let steady = samples(&[100; 14]);
        assert_eq!(longest(&steady, &[event(800, None)], 0.5), Ok(0));
    }

    #[test]
    fn of_several_events_the_longest_time_counts() {
        let twice = samples(&[100, 100, 100, 100, 100, 100, 0, 100, 100, 100, 100, 100, 100, 0, 0, 100]);
        assert_eq!(longest(&twice, &[event(600, None), event(1300, None)], 0.5), Ok(200_000_000));
    }

    #[test]
    fn what_cant_be_told_says_why() {
        let why = |bytes: &[u64], events: &[OutageRecord]| longest(&samples(bytes), events, 0.5).unwrap_err();
        let gone = [100, 100, 100, 100, 100, 100, 0, 0, 0];
        assert!(why(&gone, &[event(600, None)]).contains("0.300 s after the event at 0.600 s"));
        assert!(why(&gone, &[event(200, None)]).contains("too few"));
        let unsteady = [100, 100, 100, 100, 0, 100, 0, 100, 100, 100];
        assert!(why(&unsteady, &[event(800, None)]).contains("as low before"));
        assert!(why(&[100; 9], &[event(900, None)]).contains("had ended"));
        assert!(why(&gone, &[]).contains("before the first event"));
        assert!(why(&[], &[event(200, None)]).contains("too few"));
    }

    proptest! {
        #[test]
        fn a_time_to_recover_is_no_longer_than_the_time_since_the_event(
            bytes in proptest::collection::vec(0_u64..1000, 0..40),
            at_ms in 0_u64..4000, share in 0.01..1.0_f64,
        ) {
            if let Ok(time_ns) = longest(&samples(&bytes), &[event(at_ms, None)], share) {
                prop_assert!(time_ns <= (bytes.len() as u64 * 100).saturating_sub(at_ms) * 1_000_000);
            }
        }
    }
}
