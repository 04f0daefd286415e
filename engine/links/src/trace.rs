//! A link's rate that changes over time.
//!
//! A frame that is in transmission while the rate changes is sent at each rate for its time. A frame of which some
//! part is left while the rate is 0 waits, as does one that is at the head of the queue: it is in transmission, and
//! not in the queue.

use nettrial_scenario::RateTrace;

/// The amount of a bit, in bit/s times picoseconds.
const BIT: u128 = 1_000_000_000_000;
/// A nanosecond in picoseconds.
const NS: u64 = 1000;

/// The rate of a link over time. Times are in picoseconds. Amounts of data are counted in bit/s times picoseconds, so that
/// they are exact.
#[derive(Debug)]
pub struct Trace {
    steps: Vec<Step>,
    /// The length of one repetition, and the amount sent in it.
    period: Option<(u64, u128)>,
    highest_bps: u64,
}

#[derive(Debug)]
struct Step {
    from_ps: u64,
    rate_bps: u64,
    /// The amount sent before it in the same repetition.
    before: u128,
}

impl Trace {
    /// Creates the rate that follows `trace`, which a check has accepted.
    pub fn new(trace: &RateTrace) -> Self {
        let mut before = 0;
        let mut steps = Vec::with_capacity(trace.from_ns.len());
        let mut end_ps = 0;
        for (from_ns, until_ns, rate) in trace.steps() {
            let from_ps = from_ns * NS;
            steps.push(Step { from_ps, rate_bps: rate.0, before });
            if until_ns < u64::MAX {
                end_ps = until_ns * NS;
                before += u128::from(end_ps - from_ps) * u128::from(rate.0);
            }
        }
        let period = trace.repeats_after_ns.map(|_| (end_ps, before));
        Self { steps, period, highest_bps: trace.highest().0 }
    }

    /// Returns the highest rate in bits per second.
    pub fn highest_bps(&self) -> u64 {
        self.highest_bps
    }

    /// Returns the time at which the last bit of that many bytes leaves whose transmission begins at that time.
    pub fn end_ps(&self, begins_ps: u64, bytes: u32) -> u64 {
        self.reached_ps(self.sent_before(begins_ps) + u128::from(bytes) * 8 * BIT)
    }

    /// Returns the time at which the transmission of that many bytes begins at the earliest whose last bit leaves at
    /// that time.
    pub fn beginning_ps(&self, ends_ps: u64, bytes: u32) -> u64 {
        self.reached_ps(self.sent_before(ends_ps).saturating_sub(u128::from(bytes) * 8 * BIT))
    }

    /// Returns the amount that the link can send before that time.
    fn sent_before(&self, at_ps: u64) -> u128 {
        let (repetitions, at_ps) = match self.period {
            Some((length_ps, amount)) => (u128::from(at_ps / length_ps) * amount, at_ps % length_ps),
            None => (0, at_ps),
        };
        let step = &self.steps[self.steps.partition_point(|step| step.from_ps <= at_ps) - 1];
        repetitions + step.before + u128::from(at_ps - step.from_ps) * u128::from(step.rate_bps)
    }

    /// Returns the first time at which the link can have sent that amount.
    fn reached_ps(&self, amount: u128) -> u64 {
        let (start, amount) = match self.period {
            // The end of a repetition, rather than the beginning of the next one, which may begin with a rate of 0.
            Some((length_ps, whole)) if amount > 0 => {
                let repetitions = (amount - 1) / whole;
                (repetitions.saturating_mul(length_ps.into()), amount - repetitions * whole)
            }
            _ => (0, amount),
        };
        // The last step before which less was sent: it has a rate above 0, because something is sent in it.
        let after = self.steps.partition_point(|step| step.before < amount);
        let step = &self.steps[after.saturating_sub(1)];
        let left = amount.saturating_sub(step.before);
        let time = if left == 0 { 0 } else { left.div_ceil(u128::from(step.rate_bps.max(1))) };
        let at_ps = start.saturating_add(step.from_ps.into()).saturating_add(time);
        u64::try_from(at_ps).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: u64 = 1_000_000;
    const MS_PS: u64 = 1_000_000_000;

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
        assert_eq!(faster.end_ps(0, 1000), 8 * MS_PS);
        assert_eq!(faster.end_ps(8 * MS_PS, 1000), 13 * MS_PS);
        assert_eq!(faster.end_ps(20 * MS_PS, 1000), 24 * MS_PS);
        assert_eq!(faster.beginning_ps(13 * MS_PS, 1000), 8 * MS_PS);
    }

    #[test]
    fn nothing_is_sent_at_a_rate_of_0() {
        let pausing = trace(&[0, 10, 30], &[1_000_000, 0, 1_000_000], None);
        assert_eq!(pausing.end_ps(2 * MS_PS, 1000), 10 * MS_PS);
        assert_eq!(pausing.end_ps(4 * MS_PS, 1000), 32 * MS_PS);
        assert_eq!(pausing.end_ps(15 * MS_PS, 1000), 38 * MS_PS);
    }

    #[test]
    fn a_trace_begins_again() {
        let repeating = trace(&[0, 10], &[0, 1_000_000], Some(20));
        assert_eq!(repeating.end_ps(0, 1000), 18 * MS_PS);
        assert_eq!(repeating.end_ps(12 * MS_PS, 1000), 20 * MS_PS);
        assert_eq!(repeating.end_ps(18 * MS_PS, 1000), 36 * MS_PS);
        assert_eq!(repeating.end_ps(2000 * MS_PS, 1000), 2018 * MS_PS);
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
            let begins = begins_ms * MS_PS;
            let ends = bytes.iter().fold(begins, |at, &bytes| trace.end_ps(at, bytes));
            let at_once = trace.end_ps(begins, bytes.iter().sum());
            // Each frame's end is rounded up to a picosecond, which may be the first of a pause.
            prop_assert!(ends >= at_once);
            prop_assert!(trace.sent_before(ends) - trace.sent_before(at_once) <= 5_001_000 * bytes.len() as u128);
            for &bytes in &bytes {
                let ends = trace.end_ps(begins, bytes);
                prop_assert!(ends > begins);
                prop_assert!(trace.sent_before(ends) - trace.sent_before(begins) >= u128::from(bytes) * 8 * BIT);
            }
        }
    }
}
