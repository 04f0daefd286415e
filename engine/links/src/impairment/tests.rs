//! Tests the shares and lengths of the fates drawn. Fates depend only on a seed, so an assertion that holds once
//! holds always.

use super::{Fate, Fates};
use nettrial_scenario::{Duration, Impairment, LossBursts};

const FRAMES: usize = 200_000;

fn fates(impairment: Impairment, stream: u64) -> Vec<Fate> {
    let mut fates = Fates::new(impairment, stream);
    std::iter::repeat_with(|| fates.next()).take(FRAMES).collect()
}

/// Asserts that `count` of `of` independent draws is within 3.9 standard deviations of its expected value.
fn is_share(count: usize, of: usize, probability: f64) {
    let mean = of as f64 * probability;
    let deviation = (mean * (1.0 - probability)).sqrt();
    assert!((count as f64 - mean).abs() < 3.9 * deviation, "{count} of {of}, p = {probability}");
}

#[test]
fn the_shares_are_those_asked_for_and_independent() {
    let all = fates(
        Impairment {
            loss: 0.02,
            duplication: 0.1,
            reordering: 0.5,
            jitter: Duration(1_000_000),
            seed: 7,
            ..Impairment::default()
        },
        0,
    );
    let lost = all.iter().filter(|fate| fate.is_lost).count();
    is_share(lost, FRAMES, 0.02);
    let pairs = all.windows(2).filter(|pair| pair[0].is_lost && pair[1].is_lost).count();
    is_share(pairs, lost, 0.02);
    let carried: Vec<&Fate> = all.iter().filter(|fate| !fate.is_lost).collect();
    let share = |chosen: fn(&Fate) -> bool, probability: f64| {
        is_share(carried.iter().filter(|fate| chosen(fate)).count(), carried.len(), probability);
    };
    share(|fate| fate.is_duplicated, 0.1);
    share(|fate| fate.is_held_back, 0.5);
    share(|fate| fate.is_duplicated && fate.is_held_back, 0.1 * 0.5);
    share(|fate| fate.jitter_ps < 250_000_000, 0.25);
    share(|fate| fate.jitter_ps >= 900_000_000 && fate.is_held_back, 0.1 * 0.5);
    assert!(all.iter().all(|fate| fate.jitter_ps < 1_000_000_000));
}

#[test]
fn a_frame_has_the_same_fate_in_every_run_and_another_in_another_stream() {
    let impairment = |seed| Impairment { reordering: 0.5, seed, ..Impairment::default() };
    let here = fates(impairment(7), 3);
    assert_eq!(here, fates(impairment(7), 3));
    for (seed, stream) in [(8, 3), (7, 2)] {
        let there = fates(impairment(seed), stream);
        let held: Vec<_> = here.iter().zip(&there).filter(|(here, _)| here.is_held_back).collect();
        is_share(held.iter().filter(|(_, there)| there.is_held_back).count(), held.len(), 0.5);
    }
}

/// A chain with these probabilities is in the bad state for enter / (enter + leave) of the frames, and a burst has
/// 1 / leave frames on average (Gilbert 1960), with a standard deviation that is nearly as large.
#[test]
fn bursts_have_their_share_and_their_length() {
    let bursts = LossBursts { enter: 0.01, leave: 0.2, loss: 1.0 };
    let all = fates(Impairment { bursts: Some(bursts), seed: 3, ..Impairment::default() }, 0);
    let count = all.iter().filter(|fate| fate.is_lost).count() as f64;
    let begun = all.windows(2).filter(|pair| !pair[0].is_lost && pair[1].is_lost).count() as f64;
    let share = 0.01 / 0.21;
    assert!((count / FRAMES as f64 / share - 1.0).abs() < 0.05, "{count}");
    // There are about 1900 bursts, so 3.9 standard deviations of their mean length are 8%.
    assert!((count / begun / 5.0 - 1.0).abs() < 0.08, "{count} in {begun}");
}

#[test]
fn losses_of_the_good_state_and_of_the_bad_one_are_each_its_own() {
    let bursts = LossBursts { enter: 0.1, leave: 0.1, loss: 0.3 };
    let all = fates(Impairment { loss: 0.1, bursts: Some(bursts), ..Impairment::default() }, 0);
    let lost = all.iter().filter(|fate| fate.is_lost).count() as f64;
    assert!((lost / FRAMES as f64 - 0.2).abs() < 0.01, "{lost}");
}

#[test]
fn without_impairment_every_frame_is_carried() {
    assert!(fates(Impairment::default(), 0).iter().all(|fate| *fate == Fate::default()));
}
