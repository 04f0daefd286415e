//! The arrival times of the frames of an impaired link, from the fates that [`nettrial_links`] draws for them.
//! Fates are drawn as on the lab's delay lines: after the queue, independently for each frame. Jitter keeps the
//! order of frames; a frame that is held back leaves the order, and delays no others.

use crate::Time;
use nettrial_links::Fates;
use nettrial_scenario::Impairment;

/// The outcome of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The frame never arrives.
    Lost,
    /// The frame arrives at this time.
    Arrives(Time),
    /// The frame arrives twice at this time.
    ArrivesTwice(Time),
}

/// The outcomes of all frames of one direction of one link.
#[derive(Debug)]
pub struct Outcomes {
    fates: Fates,
    reordering_delay: Time,
    /// The arrival time of the last frame that was not held back.
    latest: Time,
}

impl Outcomes {
    /// Returns the outcomes of the frames of link direction `direction`; `None` if the link has no impairment.
    pub fn new(impairment: Impairment, direction: u64) -> Option<Self> {
        let fates = Fates::new(impairment, direction);
        let reordering_delay = Time::from_ns(impairment.reordering_delay.0);
        (!impairment.is_none()).then_some(Self { fates, reordering_delay, latest: Time::ZERO })
    }

    /// Returns the outcome of the next frame, which would arrive `at` that time without impairment.
    pub fn next(&mut self, at: Time) -> Outcome {
        let fate = self.fates.next();
        if fate.is_lost {
            return Outcome::Lost;
        }
        let mut arrives = at + Time(fate.jitter_ps);
        if fate.is_held_back {
            arrives += self.reordering_delay;
        } else {
            arrives = arrives.max(self.latest);
            self.latest = arrives;
        }
        if fate.is_duplicated { Outcome::ArrivesTwice(arrives) } else { Outcome::Arrives(arrives) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nettrial_scenario::Duration;

    /// Returns the outcomes of frames that are a microsecond apart.
    fn outcomes(impairment: Impairment) -> Vec<Outcome> {
        let mut outcomes = Outcomes::new(impairment, 0).unwrap();
        (0..200_000).map(|number| outcomes.next(Time::from_us(number))).collect()
    }

    #[test]
    fn jitter_adds_less_than_was_asked_for_and_keeps_the_order() {
        let narrow = outcomes(Impairment { jitter: Duration(100), ..Impairment::default() });
        for (outcome, number) in narrow.iter().zip(0..) {
            let Outcome::Arrives(at) = outcome else { panic!("{outcome:?}") };
            assert!(at.since(Time::from_us(number)).0 < 100_000);
        }
        let wide = outcomes(Impairment { jitter: Duration(50_000), ..Impairment::default() });
        let late = |pair: &[Outcome]| matches!(pair, [Outcome::Arrives(a), Outcome::Arrives(b)] if a <= b);
        assert!(wide.windows(2).all(late));
    }

    #[test]
    fn a_frame_held_back_delays_no_other() {
        let impairment =
            Impairment { reordering: 0.25, reordering_delay: Duration(2500), ..Impairment::default() };
        let (mut held, mut on_time) = (0, 0);
        for (outcome, number) in outcomes(impairment).into_iter().zip(0..) {
            let at = Time::from_us(number);
            match outcome {
                Outcome::Arrives(found) if found == at => on_time += 1,
                Outcome::Arrives(found) if found == at + Time::from_ns(2500) => held += 1,
                other => panic!("{other:?}"),
            }
        }
        assert!(held > 45_000 && on_time > 145_000, "{held} of {}", held + on_time);
    }

    #[test]
    fn lost_frames_do_not_arrive_and_copies_arrive_with_theirs() {
        let all = outcomes(Impairment { loss: 0.5, duplication: 1.0, ..Impairment::default() });
        let whole = |(outcome, number): (&Outcome, u64)| match outcome {
            Outcome::Lost => true,
            Outcome::ArrivesTwice(at) => *at == Time::from_us(number),
            Outcome::Arrives(_) => false,
        };
        assert!(all.iter().zip(0..).all(whole));
        assert!(Outcomes::new(Impairment::default(), 0).is_none());
    }
}
