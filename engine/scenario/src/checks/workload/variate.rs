//! Finds what makes a random quantity impossible: parameters outside their range, values that the traffic cannot
//! have and that no truncation excludes, and means that do not exist.

use crate::{Duration, Place, Problem, Size, Truncation, Variate};
use std::fmt::Display;

/// The values that a quantity of some traffic can have, in base units.
#[derive(Clone, Copy)]
pub struct Bounds {
    /// The smallest value.
    pub smallest: u64,
    /// The largest value.
    pub largest: u64,
    /// The base unit.
    pub unit: &'static str,
}

/// A quantity in its base unit: bytes or nanoseconds.
pub trait Base: Copy + Display {
    /// The number of base units.
    fn base(self) -> u64;
}

impl Base for Size {
    fn base(self) -> u64 {
        self.0
    }
}

impl Base for Duration {
    fn base(self) -> u64 {
        self.0
    }
}

/// Adds everything that is wrong with `variate`, the `setting` of the object at `place`.
pub fn check<T: Base>(
    setting: &str,
    variate: &Variate<T>,
    bounds: Bounds,
    place: &Place,
    problems: &mut Vec<Problem>,
) {
    let mut checker = Checker { setting, bounds, place, problems };
    match variate {
        Variate::Constant { value } => checker.value("value", *value),
        Variate::Uniform { minimum, maximum } => {
            checker.value("minimum", *minimum);
            checker.value("maximum", *maximum);
            if minimum.base() > maximum.base() {
                checker.refuse("maximum", maximum, format!("{minimum} or more"), "it is below the minimum");
            }
        }
        Variate::Exponential { mean, truncation } => {
            checker.above_zero("mean", *mean);
            checker.support(truncation, 0, "an exponential gap or size has no upper bound");
        }
        Variate::Normal { deviation, truncation, .. } => {
            checker.above_zero("deviation", *deviation);
            checker.support(truncation, i128::MIN, "a normal distribution reaches below zero");
        }
        Variate::Pareto { scale, shape, truncation } => {
            checker.above_zero("scale", *scale);
            checker.positive("shape", *shape);
            if *shape <= 1.0 && truncation.maximum.is_none() {
                checker.refuse(
                    "shape",
                    shape,
                    "above 1, or a truncation with a maximum".into(),
                    "a Pareto distribution with a shape of 1 or less has no mean",
                );
            }
            checker.support(truncation, i128::from(scale.base()), "a Pareto tail has no upper bound");
        }
        Variate::Cauchy { scale, truncation, .. } => {
            checker.above_zero("scale", *scale);
            if truncation.minimum.is_none() || truncation.maximum.is_none() {
                checker.refuse(
                    "truncation",
                    "not on both sides",
                    "a minimum and a maximum".into(),
                    "a Cauchy distribution has no mean",
                );
            }
            checker.support(truncation, i128::MIN, "a Cauchy distribution reaches below zero");
        }
        Variate::Gamma { shape, scale, truncation } | Variate::Weibull { shape, scale, truncation } => {
            checker.positive("shape", *shape);
            checker.above_zero("scale", *scale);
            checker.support(truncation, 0, "its tail has no upper bound");
        }
        Variate::Mix { shares } => {
            checker.some(shares.is_empty(), "shares");
            for (number, share) in shares.iter().enumerate() {
                checker.value(&format!("shares.{number}.value"), share.value);
                checker.positive(&format!("shares.{number}.share"), share.share);
            }
        }
        Variate::Listed { values } => {
            checker.some(values.is_empty(), "values");
            for (number, value) in values.iter().enumerate() {
                checker.value(&format!("values.{number}"), *value);
            }
        }
    }
}

/// The validation of one setting that is a random quantity.
struct Checker<'a> {
    setting: &'a str,
    bounds: Bounds,
    place: &'a Place,
    problems: &'a mut Vec<Problem>,
}

impl Checker<'_> {
    fn refuse(&mut self, parameter: &str, value: impl ToString, expected: String, hint: &str) {
        let setting = format!("{}.{parameter}", self.setting);
        self.problems.push(self.place.problem(&setting, value, expected, hint));
    }

    fn expected(&self) -> String {
        let Bounds { smallest, largest, unit } = self.bounds;
        format!("{smallest} {unit} to {largest} {unit}")
    }

    fn some(&mut self, is_empty: bool, parameter: &str) {
        if is_empty {
            self.refuse(parameter, "none", "one or more".into(), "there is nothing to choose from");
        }
    }

    fn value<T: Base>(&mut self, parameter: &str, value: T) {
        if !(self.bounds.smallest..=self.bounds.largest).contains(&value.base()) {
            self.refuse(parameter, value, self.expected(), "the traffic can have no other");
        }
    }

    fn above_zero<T: Base>(&mut self, parameter: &str, value: T) {
        if value.base() == 0 {
            self.refuse(parameter, value, "above 0".into(), "the distribution needs a width");
        }
    }

    fn positive(&mut self, parameter: &str, value: f64) {
        if !(value.is_finite() && value > 0.0) {
            self.refuse(parameter, value, "a number above 0".into(), "the distribution needs it");
        }
    }

    /// Verifies that the truncated distribution has only values within the bounds. Without truncation it starts at
    /// `lowest` and has no upper end.
    fn support<T: Base>(&mut self, truncation: &Truncation<T>, lowest: i128, why: &str) {
        let (minimum, maximum) = (truncation.minimum.map(T::base), truncation.maximum.map(T::base));
        if let (Some(minimum), Some(maximum)) = (minimum, maximum)
            && minimum >= maximum
        {
            self.refuse(
                "truncation.maximum",
                maximum,
                format!("above {minimum}"),
                "nothing would be left between the bounds",
            );
            return;
        }
        let bounds = [("truncation.minimum", truncation.minimum), ("truncation.maximum", truncation.maximum)];
        for (parameter, bound) in bounds {
            if let Some(bound) = bound {
                self.value(parameter, bound);
            }
        }
        let reaches_low = minimum.map_or(lowest, i128::from) < i128::from(self.bounds.smallest);
        // Gaps may have any length. Only sizes have a largest value beyond which nothing can be sent.
        let reaches_high = maximum.is_none() && self.bounds.unit == "B";
        if reaches_low || reaches_high {
            self.refuse("truncation", "none", format!("so that values stay from {}", self.expected()), why);
        }
        if maximum.is_some_and(|maximum| i128::from(maximum) <= lowest) {
            self.refuse(
                "truncation.maximum",
                maximum.unwrap_or(0),
                format!("above {lowest}"),
                "nothing is left",
            );
        }
    }
}
