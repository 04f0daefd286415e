//! The requests of a sweep, and their results.

use nettrial_scenario::{Answer, MESSAGE_HEADER_BYTES, SizeRecord, Sweep};
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;
use std::collections::BTreeMap;

/// The reply to one request.
#[derive(Debug, Clone, Copy)]
pub struct Reply {
    /// The time from the first sending of the request to reading its answer.
    pub rtt_ns: u64,
    /// The number of retransmissions of the request.
    pub resent: u64,
}

/// Returns the sizes in the order of measurement, each as often as it is repeated.
pub fn order(sweep: &Sweep) -> Vec<u64> {
    let step = usize::try_from(sweep.step.0).unwrap_or(usize::MAX);
    let sizes = (sweep.first.0..=sweep.last.0).step_by(step);
    let mut order: Vec<u64> = sizes.flat_map(|size| (0..sweep.repeats).map(move |_| size)).collect();
    order.shuffle(&mut ChaCha8Rng::seed_from_u64(sweep.seed));
    order
}

/// Returns the bytes of the answer to a request of `request` bytes.
pub fn answer_bytes(sweep: &Sweep, request: u64) -> u64 {
    if sweep.answer == Answer::Echo { request } else { MESSAGE_HEADER_BYTES }
}

/// One measurement of a size. Its round-trip time is that of the requests of the full size that were sent once.
/// Others do not count, because an answer to a retransmitted request can't be assigned to one of its transmissions
/// (Karn's rule, RFC 6298 section 3), and because the last request may be shorter. If no request is left, it is
/// the round-trip time of all.
pub struct Measurement {
    size: u64,
    left: u64,
    resent: u64,
    clean: Times,
    all: Times,
}

impl Measurement {
    /// Starts a measurement of `size` in `sweep`.
    pub fn new(sweep: &Sweep, size: u64) -> Self {
        let (clean, all) = (Times::default(), Times::default());
        Self { size, left: sweep.bytes.0, resent: 0, clean, all }
    }

    /// Returns the bytes of the request to send now; `None` after the last.
    pub fn next(&self) -> Option<u64> {
        (self.left > 0).then(|| self.left.min(self.size).max(MESSAGE_HEADER_BYTES))
    }

    /// Notes that the current request was answered.
    pub fn answered(&mut self, reply: Reply) {
        let Some(bytes) = self.next() else { return };
        self.left = self.left.saturating_sub(bytes);
        self.resent += reply.resent;
        self.all.add(reply.rtt_ns);
        if reply.resent == 0 && bytes == self.size {
            self.clean.add(reply.rtt_ns);
        }
    }
}

/// The results of all sizes.
#[derive(Default)]
pub struct Sizes(BTreeMap<u64, SizeRecord>);

impl Sizes {
    /// Adds a measurement whose requests are all answered and that took `total_ns`.
    pub fn add(&mut self, measurement: &Measurement, total_ns: u64) {
        let record = self.0.entry(measurement.size).or_insert_with(|| SizeRecord {
            size_bytes: measurement.size,
            rtt_us: Vec::new(),
            rtt_minimum_us: Vec::new(),
            total_us: Vec::new(),
            resent_pkts: 0,
        });
        let times = if measurement.clean.count > 0 { &measurement.clean } else { &measurement.all };
        record.resent_pkts += measurement.resent;
        record.total_us.push(total_ns as f64 / 1e3);
        record.rtt_us.push(times.sum_ns as f64 / times.count as f64 / 1e3);
        record.rtt_minimum_us.push(times.smallest_ns as f64 / 1e3);
    }

    /// Returns the record of each size, by size.
    pub fn finish(self) -> Vec<SizeRecord> {
        self.0.into_values().collect()
    }
}

/// The number, the sum and the minimum of round-trip times.
struct Times {
    count: u64,
    sum_ns: u64,
    smallest_ns: u64,
}

impl Default for Times {
    fn default() -> Self {
        Self { count: 0, sum_ns: 0, smallest_ns: u64::MAX }
    }
}

impl Times {
    fn add(&mut self, time_ns: u64) {
        self.count += 1;
        self.sum_ns += time_ns;
        self.smallest_ns = self.smallest_ns.min(time_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nettrial_scenario::Size;

    #[test]
    fn the_order_is_random_and_the_seed_s() {
        let one = Sweep {
            first: Size(1000),
            last: Size(65_500),
            step: Size(10),
            repeats: 5,
            bytes: Size(1_000_000),
            answer: Answer::Acknowledgment,
            seed: 1,
        };
        assert_eq!(order(&one).len(), 6451 * 5);
        assert_eq!(order(&one), order(&one));
        assert_ne!(order(&one), order(&Sweep { seed: 2, ..one.clone() }));
        let mut sorted = order(&one);
        sorted.sort_unstable();
        assert_ne!(sorted, order(&one));
        sorted.dedup();
        assert_eq!(sorted, (1000..=65_500).step_by(10).collect::<Vec<u64>>());
    }
}
