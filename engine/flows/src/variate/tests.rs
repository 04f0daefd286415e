//! Draws against the theory of their laws.

use super::*;
use nettrial_scenario::Share;
use statrs::distribution as theory;
use statrs::distribution::ContinuousCDF;

const DRAWS: usize = 100_000;
/// The Kolmogorov-Smirnov distance that a right sample exceeds once in a hundred: 1.628/√n
/// (Massey, "The Kolmogorov-Smirnov test for goodness of fit", JASA 46 (1951), table 1).
const FARTHEST: f64 = 1.628 / 316.227_766;
/// Long enough that whole nanoseconds are fine beside the distance.
const UNIT: Duration = Duration(1_000_000_000);

fn draws(variate: &Variate<Duration>, count: usize) -> Vec<u64> {
    let mut draws = Draws::new(variate, 7, Sequence::Gap).unwrap();
    (0..count).map(|_| draws.draw()).collect()
}

/// The largest distance between the sample's distribution and `cdf`, of values in units.
fn distance(variate: &Variate<Duration>, cdf: impl Fn(f64) -> f64) -> f64 {
    let mut values = draws(variate, DRAWS);
    values.sort_unstable();
    let count = values.len() as f64;
    let off = |(index, value): (usize, &u64)| {
        let expected = cdf(*value as f64 / UNIT.0 as f64);
        (expected - index as f64 / count).abs().max((expected - (index + 1) as f64 / count).abs())
    };
    values.iter().enumerate().map(off).fold(0.0, f64::max)
}

/// The laws by what makes them from a truncation, each with its theory; in units.
type Make = fn(Truncation<Duration>) -> Variate<Duration>;

fn fits(name: &str, make: Make, law: &impl ContinuousCDF<f64, f64>, bounds: (f64, f64), open: bool) {
    let at = |value: f64| Some(Duration((value * UNIT.0 as f64) as u64));
    let (low, high) = (law.cdf(bounds.0), law.cdf(bounds.1));
    let truncation = Truncation { minimum: at(bounds.0), maximum: at(bounds.1) };
    let cut = distance(&make(truncation), |value| (law.cdf(value) - low) / (high - low));
    assert!(cut < FARTHEST, "{name}, truncated: {cut}");
    if open {
        let whole = distance(&make(Truncation::default()), |value| law.cdf(value));
        assert!(whole < FARTHEST, "{name}: {whole}");
        let lower = Truncation { minimum: at(bounds.0), maximum: None };
        let above = distance(&make(lower), |value| (law.cdf(value) - low) / (1.0 - low));
        assert!(above < FARTHEST, "{name}, truncated below: {above}");
    }
}

#[test]
fn every_continuous_law_is_that_of_its_theory() {
    let exponential = |truncation| Variate::Exponential { mean: UNIT, truncation };
    fits("exponential", exponential, &theory::Exp::new(1.0).unwrap(), (0.2, 1.5), true);
    let normal = |truncation| Variate::Normal { mean: UNIT, deviation: Duration(UNIT.0 / 2), truncation };
    fits("normal", normal, &theory::Normal::new(1.0, 0.5).unwrap(), (0.0, 1.8), false);
    let pareto = |truncation| Variate::Pareto { scale: UNIT, shape: 1.5, truncation };
    fits("pareto", pareto, &theory::Pareto::new(1.0, 1.5).unwrap(), (1.2, 9.0), true);
    let cauchy = |truncation| Variate::Cauchy { location: UNIT, scale: UNIT, truncation };
    fits("cauchy", cauchy, &theory::Cauchy::new(1.0, 1.0).unwrap(), (0.0, 4.0), false);
    // The theory's second parameter is a rate: the reciprocal of the scale.
    let gamma = |truncation| Variate::Gamma { shape: 2.5, scale: UNIT, truncation };
    fits("gamma", gamma, &theory::Gamma::new(2.5, 1.0).unwrap(), (0.5, 4.0), true);
    let gamma = |truncation| Variate::Gamma { shape: 0.5, scale: UNIT, truncation };
    fits("gamma below 1", gamma, &theory::Gamma::new(0.5, 1.0).unwrap(), (0.1, 2.0), true);
    let weibull = |truncation| Variate::Weibull { shape: 0.7, scale: UNIT, truncation };
    fits("weibull", weibull, &theory::Weibull::new(0.7, 1.0).unwrap(), (0.1, 3.0), true);
}

#[test]
fn a_uniform_quantity_is_even_and_reaches_its_bounds() {
    let uniform = Variate::Uniform { minimum: UNIT, maximum: Duration(3 * UNIT.0) };
    let off = distance(&uniform, |value| (value - 1.0) / 2.0);
    assert!(off < FARTHEST, "{off}");
    let few = draws(&Variate::Uniform { minimum: Duration(4), maximum: Duration(6) }, 3000);
    for value in 4..=6 {
        let count = few.iter().filter(|drawn| **drawn == value).count();
        // 1000 expected, deviation 26.
        assert!((900..1100).contains(&count), "{value}: {count}");
    }
    assert!(few.iter().all(|value| (4..=6).contains(value)));
}

#[test]
fn a_mix_has_its_shares_and_a_list_its_order() {
    let share = |value, share| Share { value: Size(value), share };
    let imix = Variate::Mix { shares: vec![share(40, 7.0), share(576, 4.0), share(1500, 1.0)] };
    let mut draws = Draws::new(&imix, 1, Sequence::Size).unwrap();
    let sizes: Vec<u64> = (0..DRAWS).map(|_| draws.draw()).collect();
    for (size, share) in [(40, 7.0), (576, 4.0), (1500, 1.0)] {
        let found = sizes.iter().filter(|drawn| **drawn == size).count() as f64 / DRAWS as f64;
        let expected: f64 = share / 12.0;
        let deviation = (expected * (1.0 - expected) / DRAWS as f64).sqrt();
        assert!((found - expected).abs() < 3.0 * deviation, "{size}: {found}");
    }
    let listed = Variate::Listed { values: vec![Size(3), Size(1), Size(2)] };
    let mut draws = Draws::new(&listed, 1, Sequence::Size).unwrap();
    assert_eq!((0..7).map(|_| draws.draw()).collect::<Vec<u64>>(), [3, 1, 2, 3, 1, 2, 3]);
    let mut constant = Draws::new(&Variate::Constant { value: Size(64) }, 1, Sequence::Size).unwrap();
    assert_eq!((constant.draw(), constant.draw()), (64, 64));
}

#[test]
fn a_seed_gives_one_sequence_and_each_quantity_its_own() {
    let law = Variate::Exponential { mean: UNIT, truncation: Truncation::default() };
    let take = |seed, sequence| {
        let mut draws = Draws::new(&law, seed, sequence).unwrap();
        (0..50).map(|_| draws.draw()).collect::<Vec<u64>>()
    };
    assert_eq!(take(1, Sequence::Gap), take(1, Sequence::Gap));
    assert_ne!(take(1, Sequence::Gap), take(2, Sequence::Gap));
    assert_ne!(take(1, Sequence::Gap), take(1, Sequence::Size));
    assert_ne!(take(1, Sequence::On), take(1, Sequence::Off));
}

#[test]
fn a_truncation_that_keeps_hardly_anything_is_refused() {
    let truncation = Truncation { minimum: Some(Duration(20 * UNIT.0)), maximum: None };
    let law = Variate::Exponential { mean: UNIT, truncation };
    let error = Draws::new(&law, 1, Sequence::Gap).err().unwrap().to_string();
    for told in ["from 20 s to no bound", "keeps 0 of 100000 draws", "1%"] {
        assert!(error.contains(told), "{error}");
    }
}

#[test]
fn the_largest_value_is_known_where_there_is_one() {
    let maximum = Some(Size(900));
    let truncation = Truncation { minimum: None, maximum };
    assert_eq!(largest(&Variate::Exponential { mean: Size(64), truncation }), Some(900));
    let truncation = Truncation::default();
    assert_eq!(largest(&Variate::Exponential { mean: Size(64), truncation }), None);
    assert_eq!(largest(&Variate::Listed { values: vec![Size(3), Size(9)] }), Some(9));
}
