//! Keeps a sender to a rate.

use std::time::{Duration, Instant};

/// The time by which a sender that was held up may fall behind and still catch up.
const DEBT: Duration = Duration::from_millis(100);

/// Departures of blocks at a rate.
pub struct Pace {
    interval: Duration,
    due: Instant,
}

impl Pace {
    /// `bits_per_second` of blocks of `bytes`; none for a rate of 0, which is no limit.
    pub fn new(bits_per_second: u64, bytes: usize) -> Option<Self> {
        let interval = Duration::try_from_secs_f64(bytes as f64 * 8.0 / bits_per_second as f64).ok()?;
        Some(Self { interval, due: Instant::now() })
    }

    /// Until when the next block has to wait; it then counts as sent.
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
