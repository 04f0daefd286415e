//! What a link does to frames beside carrying them: losses, copies, jitter and reordering.
//!
//! As on the lab's delay lines: after the queue, each frame by itself, drawn by the impairment's seed, the link's
//! direction and the frame's number, so that frame `k` has the same fate in every run. Jitter keeps the order; a
//! frame held back does not, and delays no other.

use crate::Time;
use crate::random::Random;
use nettrial_scenario::Impairment;

/// What is drawn for a frame, in this order; each has a place of its own.
const DRAWS: u64 = 6;

/// What becomes of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It never arrives.
    Lost,
    /// It arrives then.
    Arrives(Time),
    /// It arrives then, twice.
    ArrivesTwice(Time),
}

/// The fates of all frames of one direction of one link.
#[derive(Debug)]
pub struct Fates {
    impairment: Impairment,
    random: Random,
    /// Frames so far.
    number: u64,
    /// Whether the link is in its bad state (`LossBursts`).
    is_bad: bool,
    /// When the last frame that was not held back arrives.
    latest: Time,
}

impl Fates {
    /// Those of the frames of link direction `direction`; `None` if the link only carries them.
    pub fn new(impairment: Impairment, direction: u64) -> Option<Self> {
        let random = Random::new(impairment.seed, direction);
        let fates = Self { impairment, random, number: 0, is_bad: false, latest: Time::ZERO };
        (!impairment.is_none()).then_some(fates)
    }

    /// The next frame's, which would arrive `at` that time.
    pub fn next(&mut self, at: Time) -> Fate {
        let first = self.number * DRAWS;
        self.number += 1;
        let draw = |which: u64| self.random.at(first + which);
        let Impairment { loss, duplication, reordering, reordering_delay, jitter, bursts, .. } =
            self.impairment;
        let mut is_lost = loss > 0.0 && draw(0) < loss;
        if let Some(bursts) = bursts {
            let change = if self.is_bad { bursts.leave } else { bursts.enter };
            self.is_bad ^= draw(4) < change;
            if self.is_bad {
                is_lost = draw(5) < bursts.loss;
            }
        }
        if is_lost {
            return Fate::Lost;
        }
        let mut arrives = at;
        if jitter.0 > 0 {
            arrives += Time((draw(3) * (jitter.0 * 1000) as f64) as u64);
        }
        if reordering > 0.0 && draw(2) < reordering {
            arrives += Time::from_ns(reordering_delay.0);
        } else {
            arrives = arrives.max(self.latest);
            self.latest = arrives;
        }
        if duplication > 0.0 && draw(1) < duplication {
            Fate::ArrivesTwice(arrives)
        } else {
            Fate::Arrives(arrives)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nettrial_scenario::{Duration, LossBursts};

    const FRAMES: u64 = 200_000;

    /// The fates of frames a microsecond apart.
    fn fates(impairment: Impairment, direction: u64) -> Vec<Fate> {
        let mut fates = Fates::new(impairment, direction).unwrap();
        (0..FRAMES).map(|number| fates.next(Time::from_us(number))).collect()
    }

    /// Within 3.9 standard deviations of independent draws.
    fn is_share(count: usize, of: usize, probability: f64) {
        let mean = of as f64 * probability;
        let deviation = (mean * (1.0 - probability)).sqrt();
        assert!((count as f64 - mean).abs() < 3.9 * deviation, "{count} of {of}, p = {probability}");
    }

    #[test]
    fn losses_and_copies_are_as_many_as_asked_for() {
        let impairment = Impairment { loss: 0.02, duplication: 0.1, seed: 7, ..Impairment::default() };
        let all = fates(impairment, 3);
        let lost = all.iter().filter(|fate| **fate == Fate::Lost).count();
        is_share(lost, all.len(), 0.02);
        let twice = all.iter().filter(|fate| matches!(fate, Fate::ArrivesTwice(_))).count();
        is_share(twice, all.len() - lost, 0.1);
        assert_eq!(all, fates(impairment, 3));
        let both = all.iter().zip(fates(impairment, 2)).filter(|&(a, b)| *a == Fate::Lost && b == Fate::Lost);
        is_share(both.count(), lost, 0.02);
    }

    /// A chain with these probabilities is bad for enter / (enter + leave) of the frames, and a burst of it
    /// has 1 / leave of them on average (Gilbert 1960), 1 / leave its deviation nearly.
    #[test]
    fn bursts_have_their_share_and_their_length() {
        let bursts = LossBursts { enter: 0.01, leave: 0.2, loss: 1.0 };
        let all = fates(Impairment { bursts: Some(bursts), seed: 3, ..Impairment::default() }, 0);
        let lost: Vec<bool> = all.iter().map(|fate| *fate == Fate::Lost).collect();
        let count = lost.iter().filter(|lost| **lost).count() as f64;
        let begun = lost.windows(2).filter(|pair| !pair[0] && pair[1]).count() as f64;
        let share = 0.01 / 0.21;
        assert!((count / FRAMES as f64 / share - 1.0).abs() < 0.05, "{count}");
        // Of some 1900 bursts: 3.9 deviations of their mean are 8%.
        assert!((count / begun / 5.0 - 1.0).abs() < 0.08, "{count} in {begun}");
    }

    #[test]
    fn losses_of_the_good_state_and_of_the_bad_one_are_each_its_own() {
        let bursts = LossBursts { enter: 0.1, leave: 0.1, loss: 0.3 };
        let all = fates(Impairment { loss: 0.1, bursts: Some(bursts), ..Impairment::default() }, 0);
        let lost = all.iter().filter(|fate| **fate == Fate::Lost).count() as f64;
        assert!((lost / FRAMES as f64 - 0.2).abs() < 0.01, "{lost}");
    }

    #[test]
    fn jitter_keeps_the_order_and_is_drawn_evenly() {
        let impairment = Impairment { jitter: Duration(100), ..Impairment::default() };
        let delays: Vec<u64> = fates(impairment, 0)
            .iter()
            .zip(0..)
            .map(|(fate, number)| match fate {
                Fate::Arrives(at) => at.since(Time::from_us(number)).0,
                _ => panic!("{fate:?}"),
            })
            .collect();
        assert!(delays.iter().all(|delay| *delay < 100_000));
        is_share(delays.iter().filter(|delay| **delay < 25_000).count(), delays.len(), 0.25);
        let wide = Impairment { jitter: Duration(50_000), ..Impairment::default() };
        let arrivals: Vec<Fate> = fates(wide, 0);
        let late = |pair: &[Fate]| matches!(pair, [Fate::Arrives(a), Fate::Arrives(b)] if a <= b);
        assert!(arrivals.windows(2).all(late));
    }

    #[test]
    fn a_frame_held_back_delays_no_other() {
        let impairment =
            Impairment { reordering: 0.25, reordering_delay: Duration(2500), ..Impairment::default() };
        let all = fates(impairment, 0);
        let (mut held, mut on_time) = (0, 0);
        for (number, fate) in all.iter().enumerate() {
            let at = Time::from_us(number as u64);
            match *fate {
                Fate::Arrives(found) if found == at => on_time += 1,
                Fate::Arrives(found) if found == at + Time::from_ns(2500) => held += 1,
                other => panic!("{other:?}"),
            }
        }
        is_share(held, held + on_time, 0.25);
    }
}
