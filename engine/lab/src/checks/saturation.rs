//! Checks that saturated links carried their rate.

use super::Findings;
use crate::queue_length::{Backlog, Sampled};
use nettrial_scenario::{Distribution, Rate};
use std::collections::HashMap;

/// The share of the samples in which packets must have waited for a link to count as saturated.
const SATURATED_SHARE: f64 = 0.9;
/// The number of samples below which there is no finding.
const SAMPLES: u32 = 20;
/// The share of its rate by which a saturated link may fall short.
const SHORT_SHARE: f64 = 0.005;
/// The number of standard errors by which the time in which packets waited may be shorter than the samples show.
/// One set of samples in 2000 deviates more by chance, and a run makes hundreds of them.
const STANDARD_ERRORS: f64 = 3.3;

impl Findings {
    /// Warns of a saturated link that carried less than its rate, with the possible causes: the lateness of timers
    /// during the traffic, in microseconds by CPU, and the share of the CPU's time that the hypervisor took.
    pub fn saturated(
        &mut self,
        interface: &Sampled,
        lateness: &HashMap<usize, Distribution>,
        steal_percent: f64,
    ) {
        let Some((backlog, rate)) = interface.backlog.zip(interface.shaped.rate) else { return };
        let Some(carried) = carried_if_saturated(&backlog, rate) else { return };
        if carried >= 1.0 - SHORT_SHARE {
            return;
        }
        let worst = |read: fn(&Distribution) -> f64| lateness.values().map(read).fold(0.0, f64::max);
        self.warn(
            "wire_short",
            &format!("{} of {}", interface.shaped.interface, interface.node),
            format!(
                "packets waited, and the link carried {:.1}% of its rate; timers were up to {:.0} us late in the \
                 median, {:.0} us at p90 and {:.0} us at worst, and the hypervisor took {steal_percent:.1}% of the \
                 processor's time",
                carried * 100.0,
                worst(|one| one.p50),
                worst(|one| one.p90),
                worst(|one| one.maximum),
            ),
            "goodput is lower and queues are longer than on a link of that rate: run on a machine whose CPUs \
             nobody else uses, or lower the rate",
        );
    }
}

/// Returns the share of `rate` that was carried while packets waited, if they waited nearly all the time between
/// the first and the last sample that saw one. Only the part of that time that the samples show with confidence
/// counts, by the lower bound of a binomial share (E. B. Wilson, Journal of the American Statistical Association
/// 22, 1927), so that a link that was idle between transfers does not count as one that fell short: even if all of
/// 1000 samples saw packets wait, it may have been idle for 1.1% of the time.
fn carried_if_saturated(backlog: &Backlog, rate: Rate) -> Option<f64> {
    let samples = f64::from(backlog.samples);
    let share = f64::from(backlog.waiting) / samples;
    if backlog.samples < SAMPLES || share < SATURATED_SHARE {
        return None;
    }
    let square = STANDARD_ERRORS.powi(2) / samples;
    let deviation = (share * (1.0 - share) / samples + square / (4.0 * samples)).sqrt();
    let waited = (share + square / 2.0 - STANDARD_ERRORS * deviation) / (1.0 + square);
    let ((begin, before), (end, after)) = (backlog.begin, backlog.end);
    let bytes = after.saturating_sub(before) as f64;
    Some(bytes * 8.0 / (waited * rate.0 as f64 * (end - begin).as_secs_f64()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bucket::Bucket;
    use crate::network::Shaped;
    use crate::queue::{Counters, Length, Reading};
    use rand::rngs::ChaCha8Rng;
    use rand::{RngExt, SeedableRng};
    use std::time::{Duration, Instant};

    const RATE: Rate = Rate(1_000_000_000);

    /// Returns samples, 2 ms apart, of a link that carries `percent` of its rate, in which the numbers of `queue`
    /// packets wait.
    fn sampled(percent: f64, queue: impl Iterator<Item = u32>) -> Sampled {
        let begin = Instant::now();
        let after = |backlog, (number, packets): (u32, u32)| {
            let wire_bytes = (f64::from(number) * 0.002 * RATE.0 as f64 / 8.0 * percent / 100.0) as u64;
            let counters = Counters { wire_bytes, ..Counters::default() };
            let reading = Reading { index: 100, length: Length { packets, bytes: packets * 1538 }, counters };
            Backlog::after(backlog, begin + Duration::from_millis(2) * number, &reading)
        };
        let bucket = Bucket::new(RATE, 1538, false);
        let shaped = Shaped { interface: "eth0".into(), index: 100, rate: Some(RATE), bucket };
        let backlog = (0..).zip(queue).fold(None, after);
        Sampled { node: "a".into(), shaped, lengths: Vec::new(), backlog }
    }

    fn warnings(interface: &Sampled) -> Vec<String> {
        let mut findings = Findings::default();
        let late = |p50, maximum| Distribution { p50, p90: 1300.0, maximum, ..Default::default() };
        findings.saturated(
            interface,
            &HashMap::from([(0, late(116.0, 2000.0)), (1, late(20.0, 3900.0))]),
            4.26,
        );
        findings.warnings.iter().map(|warning| format!("{}: {}", warning.code, warning.message)).collect()
    }

    #[test]
    fn a_saturated_link_that_carried_less_than_its_rate_is_warned_of_with_the_likely_causes() {
        let found = warnings(&sampled(98.3, [5].repeat(1000).into_iter()));
        let text = "wire_short: packets waited, and the link carried 99.4% of its rate; timers were up to 116 us \
                    late in the median, 1300 us at p90 and 3900 us at worst, and the hypervisor took 4.3% of the \
                    processor's time";
        assert_eq!(found, [text]);
        assert_eq!(warnings(&sampled(98.5, [5].repeat(1000).into_iter())), [""; 0]);
    }

    #[test]
    fn more_samples_tell_of_a_smaller_lack() {
        for (samples, percent) in [(100, 89.5), (1000, 98.3), (10_000, 99.2)] {
            let carrying = |percent| warnings(&sampled(percent, [5].repeat(samples).into_iter())).len();
            assert_eq!((carrying(percent), carrying(percent + 0.5)), (1, 0), "{samples}");
        }
    }

    #[test]
    fn time_before_and_after_the_traffic_does_not_count() {
        let idle = || [0].repeat(500).into_iter();
        let found = warnings(&sampled(99.8, idle().chain([5].repeat(750)).chain(idle())));
        assert_eq!(found, [""; 0]);
    }

    /// Transfers of 40 ms with a gap of 0.5 to 4.1 ms after each, as in `make demo`. Samples fall at any time. One set
    /// in 2000 deviates by chance.
    #[test]
    fn gaps_between_transfers_are_not_taken_for_a_link_that_fell_short() {
        let mut random = ChaCha8Rng::seed_from_u64(1);
        for samples in [100, 1000] {
            let mut set = |number: u32| {
                let (period, gap) = (40.5, 0.5 + f64::from(number % 10) * 0.4);
                let waits = (0..samples).map(|_| u32::from(random.random_range(0.0..period) >= gap));
                warnings(&sampled(100.0 * (1.0 - gap / period), waits)).len()
            };
            let warned: usize = (0..4000).map(&mut set).sum();
            assert!(warned <= 4, "{samples} samples: {warned} of 4000 sets");
        }
    }

    #[test]
    fn a_link_that_fell_short_beside_gaps_is_warned_of() {
        let waits = |number| u32::from(number % 50 != 0);
        assert_eq!(warnings(&sampled(98.0 * 0.97, (1..1000).map(waits))).len(), 1);
    }

    #[test]
    fn few_samples_say_nothing() {
        assert_eq!(warnings(&sampled(50.0, [5].repeat(19).into_iter())), [""; 0]);
        assert_eq!(warnings(&sampled(50.0, std::iter::empty())), [""; 0]);
    }
}
