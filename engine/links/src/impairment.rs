//! Decides the fate of each frame on an impaired link: loss, duplication, reordering and jitter.
//!
//! The simulator and the lab's delay lines draw fates from this crate and carry them out themselves: the crate has
//! no clock and handles no frames. A fate depends only on the impairment's seed, the stream and the frame's
//! number, so that frame `k` of a stream has the same fate in every run.
//!
//! Losses are independent, or come in bursts that a Markov chain of two states describes: in the good state frames
//! are lost with the impairment's probability `loss`, in the bad state with the probability of the bursts
//! (Gilbert, "Capacity of a Burst-Noise Channel", Bell System Technical Journal 39, 1960; Elliott, "Estimates of
//! Error Rates for Codes on Burst-Noise Channels", ibid. 42, 1963). The chain begins in the good state and may
//! change before each frame.

#[cfg(test)]
mod tests;

use nettrial_scenario::Impairment;
use nettrial_scenario::random::Random;

/// The count of random numbers that are drawn for each frame: loss, duplication, reordering, jitter, the change of
/// state and the loss in the bad state. Each has its own position in the sequence, whether it is used or not.
const DRAWS: u64 = 6;

/// The fate of a frame. If the frame is lost, no other field is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Fate {
    /// True if the frame never arrives.
    pub is_lost: bool,
    /// True if the frame arrives twice.
    pub is_duplicated: bool,
    /// True if the frame is delayed by the impairment's `reordering_delay`, so that frames behind it overtake it.
    pub is_held_back: bool,
    /// The time that is added to the link's delay, in picoseconds. It does not change the order of frames.
    pub jitter_ps: u64,
}

/// The fates of the frames of a stream, in their order.
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
    /// Creates the fates of the frames of `stream`, such as one direction of a link. Two streams of the same seed
    /// have independent fates.
    pub fn new(impairment: Impairment, stream: u64) -> Self {
        Self { impairment, random: Random::new(impairment.seed, stream), number: 0, is_bad: false }
    }

    /// Returns the fate of the next frame.
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
