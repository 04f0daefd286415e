//! The filters with which BBR remembers the past.

/// The maximum of a value over the last rounds, kept as the best values of three parts of them: lib/win_minmax.c
/// of Linux, after Nichols. Once the maximum is too old, the value that replaces it may be slightly below the next
/// largest.
#[derive(Debug, Default, Clone, Copy)]
pub struct MaxFilter {
    best: [(u64, f64); 3],
}

impl MaxFilter {
    /// Returns the maximum.
    pub fn get(&self) -> f64 {
        self.best[0].1
    }

    /// Adds a value of round `round`, for a window of `window` rounds.
    pub fn take(&mut self, window: u64, round: u64, value: f64) {
        let sample = (round, value);
        if value >= self.best[0].1 || round - self.best[2].0 > window {
            self.best = [sample; 3];
            return;
        }
        if value >= self.best[1].1 {
            self.best = [self.best[0], sample, sample];
        } else if value >= self.best[2].1 {
            self.best[2] = sample;
        }
        self.age(window, sample);
    }

    /// Replaces values that are too old, so that the second and third best are from the later parts of the window
    /// (minmax_subwin_update).
    fn age(&mut self, window: u64, sample: (u64, f64)) {
        let [first, second, third] = self.best;
        let past = sample.0 - first.0;
        if past > window {
            self.best = [second, third, sample];
            if sample.0 - self.best[0].0 > window {
                self.best = [third, sample, sample];
            }
        } else if second.0 == first.0 && past > window / 4 {
            self.best = [first, sample, sample];
        } else if third.0 == second.0 && past > window / 2 {
            self.best[2] = sample;
        }
    }
}

/// The largest number of segments in the last five to ten rounds that were acknowledged beyond those that the
/// bandwidth explains, because acknowledgments were aggregated (bbr_update_ack_aggregation).
#[derive(Debug, Default)]
pub struct Aggregation {
    started_ns: u64,
    acked_pkts: u32,
    most_pkts: [u32; 2],
    rounds: u32,
    place: usize,
}

/// The number of rounds that each of the two maxima covers (bbr_extra_acked_win_rtts).
const ROUNDS: u32 = 5;
/// The number of segments after which counting restarts (bbr_ack_epoch_acked_reset_thresh).
const ACKED_MOST: u32 = 1 << 20;

impl Aggregation {
    /// Restarts counting.
    pub fn restart(&mut self, now_ns: u64) {
        self.started_ns = now_ns;
        self.acked_pkts = 0;
    }

    /// Adds `acked_pkts` acknowledged segments, at a bandwidth of `rate` segments per second and with a window of
    /// `cwnd_pkts`.
    pub fn take(&mut self, now_ns: u64, acked_pkts: u32, rate: f64, cwnd_pkts: u32, is_round_start: bool) {
        if acked_pkts == 0 {
            return;
        }
        if is_round_start {
            self.rounds += 1;
            if self.rounds >= ROUNDS {
                self.rounds = 0;
                self.place = 1 - self.place;
                self.most_pkts[self.place] = 0;
            }
        }
        let mut expected = (rate * now_ns.saturating_sub(self.started_ns) as f64 / 1e9) as u32;
        if self.acked_pkts <= expected || self.acked_pkts.saturating_add(acked_pkts) >= ACKED_MOST {
            self.restart(now_ns);
            expected = 0;
        }
        self.acked_pkts = self.acked_pkts.saturating_add(acked_pkts).min(ACKED_MOST - 1);
        let extra = self.acked_pkts.saturating_sub(expected).min(cwnd_pkts);
        self.most_pkts[self.place] = self.most_pkts[self.place].max(extra);
    }

    /// Returns the maximum.
    pub fn most_pkts(&self) -> u32 {
        self.most_pkts[0].max(self.most_pkts[1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_is_forgotten_after_the_window() {
        let mut filter = MaxFilter::default();
        filter.take(10, 0, 5.0);
        for round in 1..=30 {
            filter.take(10, round, 1.0 + round as f64 / 100.0);
            let expected = if round <= 10 { 5.0 } else { 1.0 };
            assert!((filter.get() - expected).abs() < 0.5, "{} in round {round}", filter.get());
        }
        filter.take(10, 31, 9.0);
        assert_eq!(filter.get(), 9.0);
    }

    #[test]
    fn aggregation_is_what_comes_beyond_the_rate() {
        let mut aggregation = Aggregation::default();
        // A thousand segments per second are acknowledged, in bursts of twenty.
        for burst in 1..100u64 {
            for _ in 0..20 {
                aggregation.take(burst * 20_000_000, 1, 1000.0, 100, false);
            }
        }
        assert!((20..=40).contains(&aggregation.most_pkts()), "{}", aggregation.most_pkts());
    }
}
