//! Round-trip times and the retransmission timeout (RFC 6298, with the changes of Linux's tcp_rtt_estimator: the
//! deviation is that of the worst sample of a round trip, and its lower bound is the smallest timeout).

use crate::{Time, Wheel};

/// The smallest timeout, unless the stack has another one (TCP_RTO_MIN).
pub const MINIMUM_RTO: Time = Time::from_ms(200);
/// The longest timeout (TCP_RTO_MAX).
const MAXIMUM_RTO: Time = Time::from_ms(120_000);
/// The timeout before the first sample (TCP_TIMEOUT_INIT).
pub const INITIAL_RTO: Time = Time::from_ms(1000);
/// The time for which the smallest round-trip time stays valid (net.ipv4.tcp_min_rtt_wlen).
const MINIMUM_HOLDS: Time = Time::from_ms(300_000);

/// The estimates of round-trip times of one sender.
#[derive(Debug)]
pub struct Rtt {
    /// The smoothed round-trip time; zero before the first sample.
    pub smoothed: Time,
    /// The smallest round-trip time of the last five minutes; [`Time::NEVER`] before the first sample.
    pub minimum: Time,
    minimum_at: Time,
    deviation: Time,
    largest_deviation: Time,
    variation: Time,
    round_ends: u64,
    /// The lower bound of the variation, and so of the timeout.
    pub floor: Time,
    timeout: Time,
    backoff: u32,
}

impl Rtt {
    /// Returns the state before the first sample.
    pub fn new(floor: Time) -> Self {
        Self {
            smoothed: Time::ZERO,
            minimum: Time::NEVER,
            minimum_at: Time::ZERO,
            deviation: Time::ZERO,
            largest_deviation: Time::ZERO,
            variation: Time::ZERO,
            round_ends: 0,
            floor,
            timeout: INITIAL_RTO,
            backoff: 0,
        }
    }

    /// Processes a sample, and ends the exponential backoff. `una` and `next` separate round trips from each
    /// other.
    pub fn sample(&mut self, rtt: Time, una: u64, next: u64) {
        if self.smoothed == Time::ZERO {
            self.smoothed = rtt.max(Time(1));
            self.deviation = Time(rtt.0 / 2);
            self.variation = Time(rtt.0 * 2).max(self.floor);
            self.largest_deviation = self.variation;
            self.round_ends = next;
        } else {
            self.smooth(rtt, una, next);
        }
        self.backoff = 0;
        self.timeout = Wheel::LINUX.whole(self.smoothed + self.variation).min(MAXIMUM_RTO);
    }

    /// Updates the smoothed round-trip time and its variation from a later sample.
    fn smooth(&mut self, rtt: Time, una: u64, next: u64) {
        let error = rtt.0.abs_diff(self.smoothed.0);
        let is_less = rtt < self.smoothed;
        self.smoothed = Time(self.smoothed.0 - self.smoothed.0 / 8 + rtt.0 / 8).max(Time(1));
        // A drop of the round-trip time must not raise the deviation, so such a sample has an eighth of the weight
        // (Linux).
        let weight = if is_less && error > self.deviation.0 { 32 } else { 4 };
        self.deviation = Time(self.deviation.0 - self.deviation.0 / weight + error / weight);
        let deviation = Time(4 * self.deviation.0);
        if deviation > self.largest_deviation {
            self.largest_deviation = deviation;
            self.variation = self.variation.max(deviation);
        }
        if una > self.round_ends {
            if self.largest_deviation < self.variation {
                self.variation = Time(self.variation.0 - (self.variation - self.largest_deviation).0 / 4);
            }
            self.round_ends = next;
            self.largest_deviation = self.floor;
        }
    }

    /// Updates the smallest round-trip time from a sample.
    pub fn sample_minimum(&mut self, rtt: Time, now: Time) {
        if rtt <= self.minimum || now.since(self.minimum_at) > MINIMUM_HOLDS {
            self.minimum = rtt;
            self.minimum_at = now;
        }
    }

    /// Returns the timeout, with its exponential backoff.
    pub fn timeout(&self) -> Time {
        self.timeout_after(self.backoff)
    }

    /// Returns the timeout after that many without an answer. Probes of a window have a backoff of their own.
    pub fn timeout_after(&self, tries: u32) -> Time {
        let factor = 1_u64.checked_shl(tries).unwrap_or(u64::MAX);
        Time(self.timeout.0.saturating_mul(factor)).min(MAXIMUM_RTO)
    }

    /// Doubles the timeout until the next sample.
    pub fn back_off(&mut self) {
        self.backoff = (self.backoff + 1).min(40);
    }
}

/// Returns the time in which that many retransmissions time out with exponential backoff, if the first timeout is
/// Linux's smallest one, whatever that of the stack is (retransmits_timed_out, tcp_model_timeout).
pub fn time_of(retries: u32) -> Time {
    (0..=retries).fold(Time::ZERO, |sum, n| sum + Time(MINIMUM_RTO.0 << n.min(20)).min(MAXIMUM_RTO))
}
