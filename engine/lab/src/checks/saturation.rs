//! Checks that saturated links carried their rate.

use super::Findings;
use crate::queue::Reading;
use crate::queue_length::Sampled;
use nettrial_scenario::{Rate, TimerLateness};
use std::time::Instant;

/// A link is saturated if packets waited in at least this share of the samples.
const SATURATED_SHARE: f64 = 0.9;
/// With fewer samples nothing is said.
const SAMPLES: usize = 20;
/// A saturated link may carry this much less than its rate.
const SHORT_SHARE: f64 = 0.005;

impl Findings {
    /// Warns of a saturated link that carried less than its rate, with what may have kept it from that:
    /// how late timers are on this machine, and the share of the processor's time that the hypervisor took.
    pub fn saturated(&mut self, interface: &Sampled, lateness: &TimerLateness, steal_percent: f64) {
        let Some(carried) = carried_if_saturated(&interface.samples, interface.shaped.rate) else { return };
        if carried >= 1.0 - SHORT_SHARE {
            return;
        }
        let us = |ns: u64| ns as f64 / 1e3;
        self.warn(
            "wire_short",
            &format!("{} of {}", interface.shaped.interface, interface.node),
            format!(
                "packets waited, and the link carried {:.1}% of its rate; timers on this machine are {:.0} us late in \
                 the median, {:.0} us at p99 and {:.0} us at p99.9, and the hypervisor took {steal_percent:.1}% of the \
                 processor's time",
                carried * 100.0,
                us(lateness.median_ns),
                us(lateness.p99_ns),
                us(lateness.p99_9_ns),
            ),
            "goodput is lower and queues are longer than on a link of that rate: run on a machine whose processors \
             nobody else uses, or lower the rate",
        );
    }
}

/// The share of what `rate` allows that was carried while packets waited, if they waited nearly all the time between
/// the first and the last sample that saw one. Of the time in which they waited only what the samples show with
/// confidence is counted (two standard errors of a binomial share), so that a link that was idle now and then is
/// not taken for one that fell short.
fn carried_if_saturated(samples: &[(Instant, Reading)], rate: Rate) -> Option<f64> {
    let waits = |(_, reading): &(Instant, Reading)| reading.length.packets > 0;
    let first = samples.iter().position(waits)?;
    let last = samples.iter().rposition(waits)?;
    let samples = &samples[first..=last];
    let count = samples.len() as f64;
    let share = samples.iter().filter(|sample| waits(sample)).count() as f64 / count;
    if samples.len() < SAMPLES || share < SATURATED_SHARE {
        return None;
    }
    let ((begin, before), (end, after)) = (samples.first()?, samples.last()?);
    let waited = share - 2.0 * (share * (1.0 - share) / count).sqrt();
    let bytes = after.counters.wire_bytes.saturating_sub(before.counters.wire_bytes) as f64;
    Some(bytes * 8.0 / (waited * rate.0 as f64 * (*end - *begin).as_secs_f64()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bucket::Bucket;
    use crate::network::Shaped;
    use crate::queue::{Counters, Length};
    use std::time::Duration;

    const LATE: TimerLateness = TimerLateness { median_ns: 116_000, p99_ns: 1_300_000, p99_9_ns: 3_900_000 };
    const RATE: Rate = Rate(1_000_000_000);

    /// Samples of a link that carries `percent` of its rate, each 20 ms, with as many packets waiting as `queue`
    /// says.
    fn sampled(percent: f64, queue: impl Iterator<Item = u32>) -> Sampled {
        let begin = Instant::now();
        let sample = |(number, packets): (u32, u32)| {
            let wire_bytes = (f64::from(number) * 0.02 * RATE.0 as f64 / 8.0 * percent / 100.0) as u64;
            let counters = Counters { wire_bytes, ..Counters::default() };
            let reading = Reading { index: 100, length: Length { packets, bytes: packets * 1538 }, counters };
            (begin + Duration::from_millis(20) * number, reading)
        };
        let bucket = Bucket::new(RATE, 1538, false, &LATE);
        let shaped = Shaped { interface: "eth0".into(), index: 100, rate: RATE, bucket };
        Sampled { node: "a".into(), shaped, samples: (0..).zip(queue).map(sample).collect() }
    }

    fn warnings(interface: &Sampled) -> Vec<String> {
        let mut findings = Findings::default();
        findings.saturated(interface, &LATE, 4.26);
        findings.warnings.iter().map(|warning| format!("{}: {}", warning.code, warning.message)).collect()
    }

    #[test]
    fn a_saturated_link_that_carried_less_than_its_rate_is_warned_of_with_the_likely_causes() {
        let found = warnings(&sampled(99.4, [5].repeat(75).into_iter()));
        let text = "wire_short: packets waited, and the link carried 99.4% of its rate; timers on this machine are 116 \
                    us late in the median, 1300 us at p99 and 3900 us at p99.9, and the hypervisor took 4.3% of the \
                    processor's time";
        assert_eq!(found, [text]);
        assert_eq!(warnings(&sampled(99.6, [5].repeat(75).into_iter())), [""; 0]);
    }

    #[test]
    fn time_before_and_after_the_traffic_does_not_count() {
        let idle = || [0].repeat(50).into_iter();
        let found = warnings(&sampled(99.8, idle().chain([5].repeat(75)).chain(idle())));
        assert_eq!(found, [""; 0]);
    }

    #[test]
    fn a_link_that_was_idle_now_and_then_is_not_taken_for_one_that_fell_short() {
        for idle_of_20 in [1, 2, 3, 10] {
            let queue = (0..100).map(|number| u32::from(number % 20 >= idle_of_20));
            let carried = 100.0 - f64::from(idle_of_20) * 5.0;
            assert_eq!(warnings(&sampled(carried, queue)), [""; 0], "{idle_of_20}");
        }
    }

    #[test]
    fn few_samples_say_nothing() {
        assert_eq!(warnings(&sampled(50.0, [5].repeat(19).into_iter())), [""; 0]);
        assert_eq!(warnings(&sampled(50.0, std::iter::empty())), [""; 0]);
    }
}
