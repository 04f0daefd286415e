//! The fate of each frame of an impaired link: losses, duplicates, reordering and jitter.
//!
//! The simulator and the lab's delay lines draw fates here, and carry them out themselves: there is no clock in here,
//! and no frame. A fate follows from the impairment's seed, a stream and the frame's number alone, so that frame `k`
//! of a stream has the same fate in every run.
//!
//! Losses are independent, or come in bursts by a chain of two states: in the good one frames are lost with the
//! impairment's `loss`, in the bad one with the bursts' own (Gilbert, "Capacity of a Burst-Noise Channel", Bell System
//! Technical Journal 39, 1960; Elliott, "Estimates of Error Rates for Codes on Burst-Noise Channels", ibid. 42, 1963).
//! The chain begins in the good state and may change before each frame.

#![forbid(unsafe_code)]

#[cfg(test)]
mod tests;

use nettrial_scenario::Impairment;
use nettrial_scenario::random::Random;

/// Numbers drawn for a frame: loss, duplication, reordering, jitter, the change of state and the loss in the bad one.
/// Each has a place of its own in the sequence, whether it is used or not.
const DRAWS: u64 = 6;

/// The fate of a frame. Where it is lost, nothing else is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Fate {
    /// It never arrives.
    pub is_lost: bool,
    /// It arrives twice.
    pub is_duplicated: bool,
    /// It arrives later by the impairment's `reordering_delay`, and frames behind it overtake it.
    pub is_held_back: bool,
    /// The time added to the link's delay, picoseconds. It does not change the order of frames.
    pub jitter_ps: u64,
}

/// The fates of a stream of frames, in their order.
#[derive(Debug)]
pub struct Fates {
    impairment: Impairment,
    random: Random,
    /// The number of the next frame, from 0.
    number: u64,
    /// True while the chain of bursts is in its bad state.
    is_bad: bool,
}

impl Fates {
    /// The fates of the frames of `stream`, such as one direction of a link; no two streams of a seed share them.
    pub fn new(impairment: Impairment, stream: u64) -> Self {
        Self { impairment, random: Random::new(impairment.seed, stream), number: 0, is_bad: false }
    }

    /// The fate of the next frame.
    #[expect(clippy::should_implement_trait, reason = "it has no end")]
    pub fn next(&mut self) -> Fate {
        let first = self.number * DRAWS;
        self.number += 1;
        let draw = |which: u64| self.random.at(first + which);
        let Impairment { loss, duplication, reordering, jitter, bursts, .. } = self.impairment;
        let mut is_lost = loss > 0.0 && draw(0) < loss;
        if let Some(bursts) = bursts {
            let change = if self.is_bad { bursts.leave } else { bursts.enter };
            self.is_bad ^= draw(4) < change;
            if self.is_bad {
                is_lost = draw(5) < bursts.loss;
            }
        }
        if is_lost {
            return Fate { is_lost, ..Fate::default() };
        }
        Fate {
            is_lost,
            is_duplicated: duplication > 0.0 && draw(1) < duplication,
            is_held_back: reordering > 0.0 && draw(2) < reordering,
            jitter_ps: if jitter.0 > 0 { (draw(3) * (jitter.0 * 1000) as f64) as u64 } else { 0 },
        }
    }
}
