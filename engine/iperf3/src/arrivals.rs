//! Counts a stream's datagrams by their numbers and times.

use crate::datagram::Header;
use std::time::Duration;

/// The count of numbers below the highest that are remembered one by one.
const REMEMBERED: u64 = 1 << 16;

/// Counts arrivals. A number above all earlier ones counts the numbers that it skips as lost. A lower number was
/// only late and is subtracted from the losses. A number that arrived before is a duplicate and changes neither
/// count (iperf3's own receiver subtracts it from the losses, so that a duplicate hides a loss).
pub struct Arrivals {
    /// The highest number.
    pub highest: u64,
    /// Numbers below the highest that have not arrived.
    pub lost: u64,
    /// Datagrams that arrived after a higher number.
    pub late: u64,
    /// Datagrams that arrived more than once.
    pub duplicates: u64,
    /// The jitter of RFC 1889 section 6.3.1 (RFC 3550 section 6.4.1), seconds.
    pub jitter: f64,
    came: Vec<u64>,
    transit: Option<f64>,
}

impl Default for Arrivals {
    fn default() -> Self {
        let came = vec![0; usize::try_from(REMEMBERED / 64).expect("a small number")];
        Self { highest: 0, lost: 0, late: 0, duplicates: 0, jitter: 0.0, came, transit: None }
    }
}

impl Arrivals {
    /// Counts a datagram that arrived `now` by this side's clock.
    pub fn count(&mut self, header: Header, now: Duration) {
        let transit = now.as_secs_f64() - header.sent.as_secs_f64();
        if let Some(before) = self.transit.replace(transit) {
            self.jitter += ((transit - before).abs() - self.jitter) / 16.0;
        }
        let number = header.number;
        if number > self.highest {
            let skipped = number - self.highest - 1;
            self.forget(self.highest + 1, skipped);
            self.lost = self.lost.saturating_add(skipped);
            self.highest = number;
            self.mark(number);
        } else if number == 0 || self.highest - number >= REMEMBERED {
            self.late += 1; // whether it was counted as lost is no longer known
        } else if self.has(number) {
            self.duplicates += 1;
        } else {
            self.mark(number);
            self.late += 1;
            self.lost -= 1;
        }
    }

    /// Starts a new measurement, whose jitter starts at 0.
    pub fn begin(&mut self) {
        self.jitter = 0.0;
    }

    fn forget(&mut self, first: u64, count: u64) {
        if count >= REMEMBERED {
            self.came.fill(0);
            return;
        }
        for number in first..first + count {
            let (word, bit) = place(number);
            self.came[word] &= !bit;
        }
    }

    fn mark(&mut self, number: u64) {
        let (word, bit) = place(number);
        self.came[word] |= bit;
    }

    fn has(&self, number: u64) -> bool {
        let (word, bit) = place(number);
        self.came[word] & bit != 0
    }
}

fn place(number: u64) -> (usize, u64) {
    let slot = number % REMEMBERED;
    (usize::try_from(slot / 64).expect("a small number"), 1 << (slot % 64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    fn counted(numbers: &[u64]) -> Arrivals {
        let mut arrivals = Arrivals::default();
        for &number in numbers {
            arrivals.count(Header { sent: Duration::ZERO, number }, Duration::ZERO);
        }
        arrivals
    }

    #[test]
    fn a_duplicate_hides_no_loss() {
        let arrivals = counted(&[1, 2, 4, 4, 4, 6]);
        assert_eq!((arrivals.lost, arrivals.late, arrivals.duplicates), (2, 0, 2));
    }

    #[test]
    fn a_late_one_is_not_lost() {
        let arrivals = counted(&[1, 3, 2, 4, 2]);
        assert_eq!((arrivals.lost, arrivals.late, arrivals.duplicates), (0, 1, 1));
    }

    #[test]
    fn jitter_is_rfc_1889s() {
        let mut arrivals = Arrivals::default();
        for (number, transit) in [(1, 1000), (2, 1016), (3, 1000)] {
            let header = Header { sent: Duration::from_micros(number * 50), number };
            arrivals.count(header, header.sent + Duration::from_micros(transit));
        }
        assert!((arrivals.jitter - 1.9375e-6).abs() < 1e-12, "{}", arrivals.jitter);
    }

    proptest! {
        #[test]
        fn losses_are_the_numbers_that_never_came(numbers in prop::collection::vec(1u64..500, 1..600)) {
            let arrivals = counted(&numbers);
            let distinct: HashSet<_> = numbers.iter().collect();
            let highest = *numbers.iter().max().unwrap();
            prop_assert_eq!(arrivals.lost, highest - distinct.len() as u64);
            prop_assert_eq!(arrivals.duplicates, (numbers.len() - distinct.len()) as u64);
        }

        #[test]
        fn any_numbers_are_counted(numbers in prop::collection::vec(any::<u64>(), 0..50)) {
            counted(&numbers);
        }
    }
}
