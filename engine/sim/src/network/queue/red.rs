//! Random early detection (Floyd and Jacobson 1993, "Random Early Detection Gateways for Congestion Avoidance"),
//! with the "gentle" probability above the maximum (Floyd 2000), unless drops are certain there, as in Linux.
//! The average is taken over the queue's bytes as packets find it on arrival (net/sched/sch_red.c). A link's idle
//! time counts as the full frames that it could have sent (figure 2 of the paper: avg (1 - w)^m), as the kernel
//! approximates it ([`IdleTable`]): short idle times reduce the average more than that. From twice the maximum on, all
//! packets are dropped, even ECN-capable ones (RFC 3168 section 7), which the kernel marks.

use super::Decision;
use crate::Time;
use nettrial_links::IdleTable;
use nettrial_scenario::random::Random;

/// The settings of RED, in bytes on the wire.
#[derive(Debug, Clone, Copy)]
pub struct RedSettings {
    /// The average above which packets are dropped at random.
    pub minimum_bytes: f64,
    /// The average at which packets are dropped with `probability`.
    pub maximum_bytes: f64,
    /// The probability at `maximum_bytes`.
    pub probability: f64,
    /// The weight of a new length in the average.
    pub weight: f64,
    /// True if the probability rises to 1 from the maximum to twice as much, instead of being 1 from the maximum on.
    pub gentle: bool,
    /// True if ECN-capable packets are marked instead of dropped.
    pub ecn: bool,
    /// The transmission time of a full frame.
    pub frame_time: Time,
}

/// A queue's average, and the decisions based on it.
#[derive(Debug)]
pub struct Red {
    settings: RedSettings,
    idle: IdleTable,
    average_bytes: f64,
    /// The number of packets since the last chosen one, or since the first one that the average let be chosen; `None`
    /// before that one (qcount).
    since: Option<u64>,
    /// The random number that chooses the next packet (qR).
    threshold: f64,
    random: Random,
    /// The number of random numbers drawn.
    drawn: u64,
}

impl Red {
    /// Creates a RED queue with these settings, which draws from `random`.
    pub fn new(settings: RedSettings, random: Random) -> Self {
        let frame_us = settings.frame_time.0.max(1) as f64 / 1e6;
        let idle = IdleTable::new(settings.weight, frame_us);
        Self { settings, idle, average_bytes: 0.0, since: None, threshold: 0.0, random, drawn: 0 }
    }

    /// Returns the decision about a packet that finds `queue_bytes` waiting, on a link that was idle for that
    /// time.
    pub fn decide(&mut self, queue_bytes: u64, idle: Time) -> Decision {
        let RedSettings { maximum_bytes, weight, gentle, ecn, .. } = self.settings;
        if idle > Time::ZERO {
            self.average_bytes = self.idle.after_idle(self.average_bytes, idle.0 / 1_000_000);
        } else {
            self.average_bytes += weight * (queue_bytes as f64 - self.average_bytes);
        }
        if self.average_bytes < self.settings.minimum_bytes {
            self.since = None;
            return Decision::Take;
        }
        if !gentle && self.average_bytes >= maximum_bytes {
            // The kernel marks those, too (red_use_harddrop, net/sched/sch_red.c).
            self.since = None;
            return if ecn { Decision::MarkOrDrop } else { Decision::Drop };
        }
        if self.average_bytes >= 2.0 * maximum_bytes {
            self.since = None;
            return Decision::Drop;
        }
        if !self.is_chosen() {
            return Decision::Take;
        }
        if ecn { Decision::MarkOrDrop } else { Decision::Drop }
    }

    /// Returns whether the packet is chosen at random. The probability increases with the number of packets since
    /// the last chosen one, so that gaps are uniformly distributed over 1 to 1 / p_b (section 7 of the paper,
    /// whose figure 2 counts the first packet after a drop as the second). As in the kernel (red_action), the random number
    /// is drawn when a gap begins, and the first packet after the average was below the minimum is not chosen.
    fn is_chosen(&mut self) -> bool {
        let since = self.since.map_or(0, |since| since + 1);
        let is_chosen = since > 0 && since as f64 * self.base_probability() >= self.threshold;
        if is_chosen || since == 0 {
            self.drawn += 1;
            self.threshold = self.random.at(self.drawn);
        }
        self.since = Some(if is_chosen { 0 } else { since });
        is_chosen
    }

    /// Returns p_b of the paper.
    fn base_probability(&self) -> f64 {
        let RedSettings { minimum_bytes, maximum_bytes, probability, .. } = self.settings;
        if self.average_bytes < maximum_bytes {
            probability * (self.average_bytes - minimum_bytes) / (maximum_bytes - minimum_bytes)
        } else {
            probability + (1.0 - probability) * (self.average_bytes - maximum_bytes) / maximum_bytes
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn red(weight: f64) -> Red {
        let settings = RedSettings {
            minimum_bytes: 10_000.0,
            maximum_bytes: 30_000.0,
            probability: 0.1,
            weight,
            gentle: true,
            ecn: false,
            frame_time: Time::from_us(1),
        };
        Red::new(settings, Random::new(1, 0))
    }

    /// A gap between chosen packets is longer than n with the probability 1 - n p_b (section 7 of the paper), so
    /// the mean gap is the sum of these probabilities up to 1 / p_b.
    #[test]
    fn as_many_packets_are_dropped_as_the_average_says() {
        for (queue_bytes, base) in
            [(9_999, 0.0f64), (20_000, 0.05), (25_000, 0.075), (45_000, 0.55), (60_000, 1.0)]
        {
            let mut red = red(1.0);
            let dropped: Vec<usize> =
                (0..100_000).filter(|_| red.decide(queue_bytes, Time::ZERO) == Decision::Drop).collect();
            let share = dropped.len() as f64 / 100_000.0;
            let gap = dropped.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0);
            let longest = (1.0 / base).floor();
            let mean_gap = (longest + 1.0) * (1.0 - base * longest / 2.0);
            let expected = if base == 0.0 { 0.0 } else { 1.0 / mean_gap };
            assert!((share - expected).abs() <= 0.02 * expected, "{queue_bytes}: {share}, not {expected}");
            assert!(base == 0.0 || gap as f64 <= longest + 1.0, "{queue_bytes}: a gap of {gap}");
        }
    }

    /// If the queue is `q` from now on, its average is q (1 - (1 - w)^n) after n packets, and an idle time reduces it as
    /// the table says: by the time's share of a cell of 32 us, because 31 / -ln(1 - 0.002) us are 15,484 us, and at most 512
    /// cells.
    #[test]
    fn the_average_follows_the_queue_and_idle_time() {
        let mut red = red(0.002);
        (0..500).for_each(|_| {
            red.decide(20_000, Time::ZERO);
        });
        let expected = 20_000.0 * (1.0 - 0.998f64.powi(500));
        assert!((red.average_bytes / expected - 1.0).abs() < 1e-9);
        red.decide(0, Time::from_us(8));
        assert!((red.average_bytes / (expected * 0.75) - 1.0).abs() < 1e-9);
    }
}
