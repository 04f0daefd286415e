//! A link's rate that changes over time.
//!
//! A frame that is in transmission while the rate changes is sent at each rate for its time. A frame of which some
//! part is left while the rate is 0 waits, as does one that is at the head of the queue: it is in transmission, and
//! not in the queue.

use crate::Time;
use nettrial_scenario::RateTrace;

/// The amount of a bit, in bit/s times picoseconds.
const BIT: u128 = 1_000_000_000_000;

/// The rate of a link over time. Amounts of data are counted in bit/s times picoseconds, so that they are exact.
#[derive(Debug)]
pub struct Trace {
    steps: Vec<Step>,
    /// The length of one repetition, and the amount sent in it.
    period: Option<(Time, u128)>,
    highest_bps: u64,
}

#[derive(Debug)]
struct Step {
    from: Time,
    rate_bps: u64,
    /// The amount sent before it in the same repetition.
    before: u128,
}

impl Trace {
    /// Creates the rate that follows `trace`, which a check has accepted.
    pub fn new(trace: &RateTrace) -> Self {
        let mut before = 0;
        let mut steps = Vec::with_capacity(trace.from_ns.len());
        let mut end = Time::ZERO;
        for (from_ns, until_ns, rate) in trace.steps() {
            let from = Time::from_ns(from_ns);
            steps.push(Step { from, rate_bps: rate.0, before });
            if until_ns < u64::MAX {
                end = Time::from_ns(until_ns);
                before += u128::from((end - from).0) * u128::from(rate.0);
            }
        }
        let period = trace.repeats_after_ns.map(|_| (end, before));
        Self { steps, period, highest_bps: trace.highest().0 }
    }

    /// Returns the highest rate in bits per second.
    pub fn highest_bps(&self) -> u64 {
        self.highest_bps
    }

    /// Returns the time at which the last bit of that many bytes leaves whose transmission begins at `begins`.
    pub fn end(&self, begins: Time, bytes: u32) -> Time {
        self.reached(self.sent_before(begins) + u128::from(bytes) * 8 * BIT)
    }

    /// Returns the time at which the transmission of that many bytes begins at the earliest whose last bit leaves at
    /// `ends`.
    pub fn beginning(&self, ends: Time, bytes: u32) -> Time {
        self.reached(self.sent_before(ends).saturating_sub(u128::from(bytes) * 8 * BIT))
    }

    /// Returns the amount that the link can send before `at`.
    fn sent_before(&self, at: Time) -> u128 {
        let (repetitions, at) = match self.period {
            Some((length, amount)) => (u128::from(at.0 / length.0) * amount, Time(at.0 % length.0)),
            None => (0, at),
        };
        let step = &self.steps[self.steps.partition_point(|step| step.from <= at) - 1];
        repetitions + step.before + u128::from((at - step.from).0) * u128::from(step.rate_bps)
    }

    /// Returns the first time at which the link can have sent that amount, in whole picoseconds.
    fn reached(&self, amount: u128) -> Time {
        let (start, amount) = match self.period {
            // The end of a repetition, rather than the beginning of the next one, which may begin with a rate of 0.
            Some((length, whole)) if amount > 0 => {
                let repetitions = (amount - 1) / whole;
                (repetitions.saturating_mul(length.0.into()), amount - repetitions * whole)
            }
            _ => (0, amount),
        };
        // The last step before which less was sent: it has a rate above 0, because something is sent in it.
        let after = self.steps.partition_point(|step| step.before < amount);
        let step = &self.steps[after.saturating_sub(1)];
        let left = amount.saturating_sub(step.before);
        let time = if left == 0 { 0 } else { left.div_ceil(u128::from(step.rate_bps.max(1))) };
        let at = start.saturating_add(step.from.0.into()).saturating_add(time);
        Time(u64::try_from(at).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: u64 = 1_000_000;

    fn trace(from_ms: &[u64], rates_bps: &[u64], repeats_after_ms: Option<u64>) -> Trace {
        Trace::new(&RateTrace {
            from_ns: from_ms.iter().map(|ms| ms * MS).collect(),
            rates_bps: rates_bps.to_vec(),
            repeats_after_ns: repeats_after_ms.map(|ms| ms * MS),
        })
    }

    #[test]
    fn a_frame_is_sent_at_each_rate_for_its_time() {
        // 1000 bytes are 8 ms at 1 Mbit/s: 2 ms of them are sent before the rate doubles.
        let faster = trace(&[0, 10], &[1_000_000, 2_000_000], None);
        assert_eq!(faster.end(Time::ZERO, 1000), Time::from_ms(8));
        assert_eq!(faster.end(Time::from_ms(8), 1000), Time::from_ms(13));
        assert_eq!(faster.end(Time::from_ms(20), 1000), Time::from_ms(24));
        assert_eq!(faster.beginning(Time::from_ms(13), 1000), Time::from_ms(8));
    }

    #[test]
    fn nothing_is_sent_at_a_rate_of_0() {
        let pausing = trace(&[0, 10, 30], &[1_000_000, 0, 1_000_000], None);
        assert_eq!(pausing.end(Time::from_ms(2), 1000), Time::from_ms(10));
        assert_eq!(pausing.end(Time::from_ms(4), 1000), Time::from_ms(32));
        assert_eq!(pausing.end(Time::from_ms(15), 1000), Time::from_ms(38));
    }

    #[test]
    fn a_trace_begins_again() {
        let repeating = trace(&[0, 10], &[0, 1_000_000], Some(20));
        assert_eq!(repeating.end(Time::ZERO, 1000), Time::from_ms(18));
        assert_eq!(repeating.end(Time::from_ms(12), 1000), Time::from_ms(20));
        assert_eq!(repeating.end(Time::from_ms(18), 1000), Time::from_ms(36));
        assert_eq!(repeating.end(Time::from_ms(2000), 1000), Time::from_ms(2018));
    }

    proptest! {
        #[test]
        fn frames_in_a_row_take_the_time_of_all_their_bytes(
            lengths_ms in prop::collection::vec(1u64..50, 1..20),
            rates_kbps in prop::collection::vec(prop_oneof![Just(0), 100u64..5000], 20),
            bytes in prop::collection::vec(1u32..2000, 1..50),
            begins_ms in 0u64..200,
        ) {
            let from_ms: Vec<u64> = lengths_ms.iter().scan(0, |at, length| {
                let from = *at;
                *at += length;
                Some(from)
            }).collect();
            let mut rates: Vec<u64> = rates_kbps[..from_ms.len()].iter().map(|rate| rate * 1000).collect();
            *rates.last_mut().unwrap() += 1000;
            let trace = trace(&from_ms, &rates, Some(lengths_ms.iter().sum()));
            let begins = Time::from_ms(begins_ms);
            let ends = bytes.iter().fold(begins, |at, &bytes| trace.end(at, bytes));
            let at_once = trace.end(begins, bytes.iter().sum());
            // Each frame's end is rounded up to a picosecond, which may be the first of a pause.
            prop_assert!(ends >= at_once);
            prop_assert!(trace.sent_before(ends) - trace.sent_before(at_once) <= 5_001_000 * bytes.len() as u128);
            for &bytes in &bytes {
                let ends = trace.end(begins, bytes);
                prop_assert!(ends > begins);
                prop_assert!(trace.sent_before(ends) - trace.sent_before(begins) >= u128::from(bytes) * 8 * BIT);
            }
        }
    }
}
