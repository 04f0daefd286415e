//! Keeps a sender to a rate.

use std::time::{Duration, Instant};

/// The longest delay of a sender that it may still catch up on.
const DEBT: Duration = Duration::from_millis(100);

/// The departure times of blocks at a rate.
pub struct Pace {
    interval: Duration,
    due: Instant,
}

impl Pace {
    /// Creates the pace of blocks of `bytes` at `bits_per_second`; none for a rate of 0, which means no limit.
    pub fn new(bits_per_second: u64, bytes: usize) -> Option<Self> {
        let interval = Duration::try_from_secs_f64(bytes as f64 * 8.0 / bits_per_second as f64).ok()?;
        Some(Self { interval, due: Instant::now() })
    }

    /// Returns the time until which the next block has to wait. The block counts as sent.
    pub fn next(&mut self, now: Instant) -> Instant {
        let due = now.checked_sub(DEBT).map_or(self.due, |earliest| self.due.max(earliest));
        self.due = due + self.interval;
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_leave_evenly_and_a_pause_is_no_burst() {
        let mut pace = Pace::new(8000, 10).unwrap();
        let start = pace.due;
        let after = |count: u32| start + count * Duration::from_millis(10);
        assert_eq!([pace.next(start), pace.next(start), pace.next(start)], [start, after(1), after(2)]);
        let later = start + Duration::from_secs(60);
        assert_eq!(pace.next(later), later - DEBT);
    }

    #[test]
    fn no_rate_is_no_limit() {
        assert!(Pace::new(0, 1460).is_none());
    }
}
