//! Draws from the random quantities of a scenario.
//!
//! The generator is ChaCha8, whose output is the same everywhere. Each quantity of a flow reads a stream of its
//! own from one seed, so that another distribution of sizes does not change the gaps. Values outside a truncation
//! are drawn again.

use crate::error::{Error, Refusal, Result};
use nettrial_scenario::{Duration, Size, Truncation, Variate};
use rand::distr::weighted::WeightedIndex;
use rand::distr::{Distribution, Uniform};
use rand::rngs::ChaCha8Rng;
use rand::{Rng, SeedableRng};
use rand_distr::{Cauchy, Exp, Gamma, Normal, Pareto, Weibull};
use std::fmt::Display;

/// The number of trial draws that decide whether a truncation keeps enough values.
const TRIALS: u32 = 100_000;
/// The truncation must keep at least one in this many draws.
const RAREST: u32 = 100;

/// The quantity of a flow that is drawn. Each quantity has an independent sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sequence {
    /// Sizes of packets.
    Size = 0,
    /// Gaps between departures.
    Gap = 1,
    /// Times of sending.
    On = 2,
    /// Times of silence.
    Off = 3,
}

/// A quantity in its base unit: bytes or nanoseconds.
pub trait Quantity: Copy + Display {
    /// The number of base units.
    fn base(self) -> u64;
}

impl Quantity for Size {
    fn base(self) -> u64 {
        self.0
    }
}

impl Quantity for Duration {
    fn base(self) -> u64 {
        self.0
    }
}

/// An endless sequence of values, in whole base units.
pub struct Draws {
    law: Law,
    minimum: f64,
    maximum: f64,
    random: ChaCha8Rng,
}

/// The distribution of the values.
enum Law {
    Constant(u64),
    Uniform(Uniform<u64>),
    Exponential(Exp<f64>),
    Normal(Normal<f64>),
    Pareto(Pareto<f64>),
    Cauchy(Cauchy<f64>),
    Gamma(Gamma<f64>),
    Weibull(Weibull<f64>),
    Mix { values: Vec<u64>, choice: WeightedIndex<f64> },
    Listed { values: Vec<u64>, next: usize },
}

impl Draws {
    /// Creates the sequence of values of `variate` that follows from `seed`.
    ///
    /// # Errors
    /// Fails if the distribution does not allow its parameters, or its truncation keeps hardly any values.
    pub fn new<T: Quantity>(variate: &Variate<T>, seed: u64, sequence: Sequence) -> Result<Self> {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        random.set_stream(sequence as u64);
        let (law, truncation) = law(variate).map_err(Error::Parameters)?;
        let bound = |bound: Option<T>, without| bound.map_or(without, |value| value.base() as f64);
        let minimum = bound(truncation.minimum, f64::NEG_INFINITY);
        let maximum = bound(truncation.maximum, f64::INFINITY);
        let draws = Self { law, minimum, maximum, random };
        if !truncation.is_none() {
            let end = |bound: Option<T>| bound.map_or("no bound".to_owned(), |bound| bound.to_string());
            let (from, to) = (end(truncation.minimum), end(truncation.maximum));
            draws.keeps_enough().map_err(|kept| Error::Truncation { from, to, kept, draws: TRIALS })?;
        }
        Ok(draws)
    }

    /// Returns the next value.
    pub fn draw(&mut self) -> u64 {
        match &mut self.law {
            Law::Constant(value) => *value,
            Law::Uniform(law) => law.sample(&mut self.random),
            Law::Mix { values, choice } => values[choice.sample(&mut self.random)],
            Law::Listed { values, next } => {
                let value = values[*next];
                *next = (*next + 1) % values.len();
                value
            }
            continuous => loop {
                let value = continuous.sample(&mut self.random);
                if (self.minimum..=self.maximum).contains(&value) {
                    // The conversion from a float saturates, so that values below zero become zero.
                    break value.round() as u64;
                }
            },
        }
    }

    /// Verifies that draws are kept often enough to draw until one is kept; otherwise returns how many of
    /// [`TRIALS`] are.
    fn keeps_enough(&self) -> Result<(), u32> {
        let mut random = ChaCha8Rng::seed_from_u64(0);
        let mut kept = 0;
        for _ in 0..TRIALS {
            let value = self.law.sample(&mut random);
            kept += u32::from((self.minimum..=self.maximum).contains(&value));
            if kept >= TRIALS / RAREST {
                return Ok(());
            }
        }
        Err(kept)
    }
}

impl Law {
    /// Draws a value of a continuous distribution, before truncation.
    fn sample(&self, random: &mut impl Rng) -> f64 {
        match self {
            Self::Exponential(law) => law.sample(random),
            Self::Normal(law) => law.sample(random),
            Self::Pareto(law) => law.sample(random),
            Self::Cauchy(law) => law.sample(random),
            Self::Gamma(law) => law.sample(random),
            Self::Weibull(law) => law.sample(random),
            Self::Constant(_) | Self::Uniform(_) | Self::Mix { .. } | Self::Listed { .. } => {
                unreachable!("a law of whole values is not truncated")
            }
        }
    }
}

fn law<T: Quantity>(variate: &Variate<T>) -> Result<(Law, Truncation<T>), Refusal> {
    let whole = |law| Ok((law, Truncation::default()));
    let base = |value: T| value.base() as f64;
    match variate {
        Variate::Constant { value } => whole(Law::Constant(value.base())),
        Variate::Uniform { minimum, maximum } => {
            whole(Law::Uniform(Uniform::new_inclusive(minimum.base(), maximum.base())?))
        }
        Variate::Exponential { mean, truncation } => {
            Ok((Law::Exponential(Exp::new(1.0 / base(*mean))?), *truncation))
        }
        Variate::Normal { mean, deviation, truncation } => {
            Ok((Law::Normal(Normal::new(base(*mean), base(*deviation))?), *truncation))
        }
        Variate::Pareto { scale, shape, truncation } => {
            Ok((Law::Pareto(Pareto::new(base(*scale), *shape)?), *truncation))
        }
        Variate::Cauchy { location, scale, truncation } => {
            Ok((Law::Cauchy(Cauchy::new(base(*location), base(*scale))?), *truncation))
        }
        Variate::Gamma { shape, scale, truncation } => {
            Ok((Law::Gamma(Gamma::new(*shape, base(*scale))?), *truncation))
        }
        Variate::Weibull { shape, scale, truncation } => {
            Ok((Law::Weibull(Weibull::new(base(*scale), *shape)?), *truncation))
        }
        Variate::Mix { shares } => {
            let values = shares.iter().map(|share| share.value.base()).collect();
            let choice = WeightedIndex::new(shares.iter().map(|share| share.share))?;
            whole(Law::Mix { values, choice })
        }
        Variate::Listed { values } => {
            let values = values.iter().map(|value| value.base()).collect();
            whole(Law::Listed { values, next: 0 })
        }
    }
}

/// Returns the largest value that `variate` can take, if there is one.
pub fn largest<T: Quantity>(variate: &Variate<T>) -> Option<u64> {
    match variate {
        Variate::Constant { value } => Some(value.base()),
        Variate::Uniform { maximum, .. } => Some(maximum.base()),
        Variate::Mix { shares } => shares.iter().map(|share| share.value.base()).max(),
        Variate::Listed { values } => values.iter().map(|value| value.base()).max(),
        Variate::Exponential { truncation, .. }
        | Variate::Normal { truncation, .. }
        | Variate::Pareto { truncation, .. }
        | Variate::Cauchy { truncation, .. }
        | Variate::Gamma { truncation, .. }
        | Variate::Weibull { truncation, .. } => truncation.maximum.map(T::base),
    }
}

#[cfg(test)]
mod tests;
