//! Rounds of one round trip each, and the round-trip times measured in them, from which delay-based controls
//! compute.

use crate::{Ack, Phase};

/// The number of samples that a round needs before it decides anything: with fewer, all of them may be those of
/// delayed acknowledgments.
const SAMPLES_LEAST: u32 = 3;

/// The current round of a sender that uses delay only while no data is out of order.
#[derive(Debug)]
pub struct Rounds {
    /// The sequence number above which an acknowledgment ends the round.
    end_bytes: u64,
    /// The number of round-trip times in this round.
    samples: u32,
    sum_ns: u64,
    least_ns: u64,
    /// The shortest round-trip time so far.
    pub base_ns: u64,
    phase: Phase,
}

impl Rounds {
    /// Creates the state at the beginning of a connection.
    pub fn new() -> Self {
        Self {
            end_bytes: 0,
            samples: 0,
            sum_ns: 0,
            least_ns: u64::MAX,
            base_ns: u64::MAX,
            phase: Phase::Open,
        }
    }

    /// Forgets the path, as after an idle time.
    pub fn forget(&mut self, end_bytes: u64) {
        *self = Self { end_bytes, phase: self.phase, ..Self::new() };
    }

    /// Processes an acknowledgment. Returns true if the sender has just returned to [`Phase::Open`], which begins
    /// a new round.
    pub fn take(&mut self, ack: &Ack) -> bool {
        if let Some(rtt_ns) = ack.rtt_ns {
            let rtt_ns = rtt_ns.max(1);
            self.base_ns = self.base_ns.min(rtt_ns);
            self.least_ns = self.least_ns.min(rtt_ns);
            self.sum_ns += rtt_ns;
            self.samples += 1;
        }
        let is_back = ack.phase == Phase::Open && self.phase != Phase::Open;
        self.phase = ack.phase;
        if is_back {
            self.start(ack);
        }
        is_back
    }

    /// Returns true if this acknowledgment ends the round.
    pub fn is_over(&self, ack: &Ack) -> bool {
        ack.una_bytes > self.end_bytes
    }

    /// Begins a round without samples.
    pub fn start(&mut self, ack: &Ack) {
        *self = Self { end_bytes: ack.next_bytes, base_ns: self.base_ns, phase: self.phase, ..Self::new() };
    }

    /// Returns the average round-trip time of the round, if it has enough samples.
    pub fn average_ns(&self) -> Option<u64> {
        (self.samples >= SAMPLES_LEAST).then(|| self.sum_ns / u64::from(self.samples))
    }

    /// Returns the least round-trip time of the round, if it has enough samples.
    pub fn least_ns(&self) -> Option<u64> {
        (self.samples >= SAMPLES_LEAST).then_some(self.least_ns)
    }

    /// Returns true if the round has a sample.
    pub fn has_sample(&self) -> bool {
        self.samples > 0
    }
}
