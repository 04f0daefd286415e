//! What becomes of each frame of a link: drawn from the link's seed and the frame's number.

use nettrial_scenario::Impairment;

/// What is drawn for a frame, in this order; each has a number of its own.
const DRAWS: u64 = 4;

/// What becomes of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Fate {
    /// It never arrives.
    pub lost: bool,
    /// It arrives twice.
    pub duplicated: bool,
    /// It is held back, and later frames overtake it.
    pub held_back: bool,
    /// What is added to the link's delay.
    pub jitter_ns: u64,
}

/// The fates of all frames of one direction of one link. Frame `k` has the same in every run: they are
/// looked up, not drawn in turn. Frames with UDP and those without it are numbered apart: what agents tell each
/// other over TCP comes by its own timers, and shall not shift the fates of the datagrams.
pub struct Fates {
    impairment: Impairment,
    start: u64,
}

impl Fates {
    /// The fates of the frames of link `link` of a scenario in `direction` 0 or 1.
    pub fn new(impairment: Impairment, link: u64, direction: u64) -> Self {
        Self { impairment, start: mix(impairment.seed ^ mix(link << 1 | direction)) }
    }

    /// The fate of frame `number`, counted from 0, of those with UDP or of those without it.
    pub fn of(&self, number: u64, has_udp: bool) -> Fate {
        let number = 2 * number + u64::from(has_udp);
        let Impairment { loss, duplication, reordering, jitter, .. } = self.impairment;
        Fate {
            lost: self.draw(number, 0) < loss,
            duplicated: self.draw(number, 1) < duplication,
            held_back: self.draw(number, 2) < reordering,
            jitter_ns: (self.draw(number, 3) * jitter.0 as f64) as u64,
        }
    }

    /// A number in [0, 1), evenly distributed.
    fn draw(&self, number: u64, which: u64) -> f64 {
        const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;
        let position = number.wrapping_mul(DRAWS).wrapping_add(which).wrapping_add(1);
        let bits = mix(self.start.wrapping_add(position.wrapping_mul(GAMMA)));
        (bits >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// SplitMix64's output function: any entry of its sequence without those before (Steele, Lea, Flood,
/// "Fast splittable pseudorandom number generators", OOPSLA 2014).
fn mix(mut value: u64) -> u64 {
    value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nettrial_scenario::Duration;

    const FRAMES: u64 = 100_000;

    fn impairment(seed: u64) -> Impairment {
        Impairment {
            loss: 0.02,
            duplication: 0.1,
            reordering: 0.5,
            reordering_delay: Duration(1),
            jitter: Duration(1_000_000),
            bursts: None,
            seed,
        }
    }

    fn all(fates: &Fates) -> Vec<Fate> {
        (0..FRAMES).map(|number| fates.of(number, false)).collect()
    }

    /// Within 3.9 standard deviations: a right one fails once in 10 000.
    fn is_share(fates: &[Fate], chosen: impl Fn(&Fate) -> bool, probability: f64) {
        let count = fates.iter().filter(|fate| chosen(fate)).count() as f64;
        let (trials, mean) = (fates.len() as f64, fates.len() as f64 * probability);
        let deviation = (trials * probability * (1.0 - probability)).sqrt();
        assert!((count - mean).abs() < 3.9 * deviation, "{count} of {trials}, p = {probability}");
    }

    #[test]
    fn the_shares_are_those_asked_for_and_independent() {
        let fates = all(&Fates::new(impairment(7), 0, 0));
        is_share(&fates, |fate| fate.lost, 0.02);
        is_share(&fates, |fate| fate.duplicated, 0.1);
        is_share(&fates, |fate| fate.held_back, 0.5);
        is_share(&fates, |fate| fate.lost && fate.held_back, 0.02 * 0.5);
        is_share(&fates, |fate| fate.duplicated && fate.held_back, 0.1 * 0.5);
        is_share(&fates, |fate| fate.jitter_ns < 250_000, 0.25);
        is_share(&fates, |fate| fate.jitter_ns >= 900_000 && fate.held_back, 0.1 * 0.5);
        assert!(fates.iter().all(|fate| fate.jitter_ns < 1_000_000));
        let pairs: Vec<Fate> = fates.windows(2).filter(|pair| pair[0].lost).map(|pair| pair[1]).collect();
        is_share(&pairs, |fate| fate.lost, 0.02);
    }

    #[test]
    fn a_frame_has_the_same_fate_in_every_run_and_another_elsewhere() {
        let here = all(&Fates::new(impairment(7), 3, 1));
        assert_eq!(here, all(&Fates::new(impairment(7), 3, 1)));
        for (seed, link, direction) in [(8, 3, 1), (7, 2, 1), (7, 3, 0)] {
            let there = all(&Fates::new(impairment(seed), link, direction));
            let both: Vec<Fate> =
                here.iter().zip(&there).filter(|(a, _)| a.held_back).map(|(_, b)| *b).collect();
            is_share(&both, |fate| fate.held_back, 0.5);
        }
    }

    #[test]
    fn without_impairment_a_frame_is_carried() {
        assert!(all(&Fates::new(Impairment::default(), 0, 0)).iter().all(|fate| *fate == Fate::default()));
    }
}
