//! Rounds of a round trip each, and the round-trip times seen in them: what the controls by delay compute
//! with.

use crate::{Ack, Phase};

/// Samples that a round needs before it decides anything: with fewer, all may be of delayed acknowledgments.
const SAMPLES_LEAST: u32 = 3;

/// The present round of a sender that goes by delay only while nothing is out of order.
#[derive(Debug)]
pub struct Rounds {
    /// The round ends when something above is acknowledged.
    end_bytes: u64,
    /// Round-trip times of this round.
    samples: u32,
    sum_ns: u64,
    least_ns: u64,
    /// The shortest round-trip time ever.
    pub base_ns: u64,
    phase: Phase,
}

impl Rounds {
    /// At the beginning of a connection.
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

    /// Takes in an acknowledgment. Gives whether the sender has just come back to [`Phase::Open`], with which
    /// a new round has begun.
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

    /// Begins a round; its samples are those to come.
    pub fn start(&mut self, ack: &Ack) {
        *self = Self { end_bytes: ack.next_bytes, base_ns: self.base_ns, phase: self.phase, ..Self::new() };
    }

    /// The average round-trip time of the round, if it has samples enough.
    pub fn average_ns(&self) -> Option<u64> {
        (self.samples >= SAMPLES_LEAST).then(|| self.sum_ns / u64::from(self.samples))
    }

    /// The least round-trip time of the round, if it has samples enough.
    pub fn least_ns(&self) -> Option<u64> {
        (self.samples >= SAMPLES_LEAST).then_some(self.least_ns)
    }

    /// Returns true if the round has a sample.
    pub fn has_sample(&self) -> bool {
        self.samples > 0
    }
}
