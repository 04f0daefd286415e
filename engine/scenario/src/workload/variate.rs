//! Random quantities: of sizes (in bytes) and times, each with a unit of its own in the document.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A constant or random quantity: a distribution, its parameters, and its truncation. Values outside the
/// truncation are drawn again, so that the rest of the distribution keeps its shape. Without a truncation,
/// distributions with values below zero or without a mean are errors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "{T}Variate")]
#[serde(tag = "distribution", rename_all = "snake_case", deny_unknown_fields)]
pub enum Variate<T> {
    /// A constant value.
    #[schemars(title = "Constant")]
    Constant {
        /// The value.
        value: T,
    },
    /// The uniform distribution between two bounds.
    #[schemars(title = "Uniform")]
    Uniform {
        /// The smallest.
        minimum: T,
        /// The largest.
        maximum: T,
    },
    /// The exponential distribution, such as the gaps of a Poisson process: density exp(−x/mean)/mean.
    #[schemars(title = "Exponential")]
    Exponential {
        /// The mean, before truncation.
        mean: T,
        /// The bounds at which it is cut off.
        #[serde(default, skip_serializing_if = "Truncation::is_none")]
        truncation: Truncation<T>,
    },
    /// The normal distribution. It needs a minimum of zero or more.
    #[schemars(title = "Normal")]
    Normal {
        /// The mean, before truncation.
        mean: T,
        /// The standard deviation, before truncation.
        deviation: T,
        /// The bounds at which it is cut off.
        #[serde(default, skip_serializing_if = "Truncation::is_none")]
        truncation: Truncation<T>,
    },
    /// The Pareto distribution: P(X > x) = (scale/x)^shape for x ≥ scale. Its mean exists for a shape above 1.
    #[schemars(title = "Pareto")]
    Pareto {
        /// The smallest value.
        scale: T,
        /// The tail's exponent.
        shape: f64,
        /// The bounds at which it is cut off.
        #[serde(default, skip_serializing_if = "Truncation::is_none")]
        truncation: Truncation<T>,
    },
    /// The Cauchy distribution: density ∝ 1/(1 + ((x − location)/scale)²). It has no mean unless it is truncated
    /// on both sides.
    #[schemars(title = "Cauchy")]
    Cauchy {
        /// The median, before truncation.
        location: T,
        /// Half the width at half the height.
        scale: T,
        /// The bounds at which it is cut off.
        #[serde(default, skip_serializing_if = "Truncation::is_none")]
        truncation: Truncation<T>,
    },
    /// The gamma distribution: density ∝ x^(shape − 1) exp(−x/scale).
    #[schemars(title = "Gamma")]
    Gamma {
        /// The shape.
        shape: f64,
        /// The scale; the mean is shape × scale.
        scale: T,
        /// The bounds at which it is cut off.
        #[serde(default, skip_serializing_if = "Truncation::is_none")]
        truncation: Truncation<T>,
    },
    /// The Weibull distribution: P(X > x) = exp(−(x/scale)^shape).
    #[schemars(title = "Weibull")]
    Weibull {
        /// The shape.
        shape: f64,
        /// The scale.
        scale: T,
        /// The bounds at which it is cut off.
        #[serde(default, skip_serializing_if = "Truncation::is_none")]
        truncation: Truncation<T>,
    },
    /// A mix of a few values, each with its share, such as an Internet mix (IMIX, RFC 6985).
    #[schemars(title = "Mix")]
    Mix {
        /// The values.
        shares: Vec<Share<T>>,
    },
    /// A list of values in this order, which starts again after the last.
    #[schemars(title = "Listed")]
    Listed {
        /// The values.
        values: Vec<T>,
    },
}

/// The bounds of a truncated distribution, which are part of it. Values outside are drawn again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "{T}Truncation")]
#[serde(deny_unknown_fields)]
pub struct Truncation<T> {
    /// The smallest value that is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimum: Option<T>,
    /// The largest value that is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maximum: Option<T>,
}

/// A value of a mix.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "{T}Share")]
#[serde(deny_unknown_fields)]
pub struct Share<T> {
    /// The value.
    pub value: T,
    /// The relative frequency of the value, in proportion to the others' shares.
    pub share: f64,
}

impl<T> Default for Truncation<T> {
    fn default() -> Self {
        Self { minimum: None, maximum: None }
    }
}

impl<T> Truncation<T> {
    /// Returns true if there is no bound.
    pub fn is_none(&self) -> bool {
        self.minimum.is_none() && self.maximum.is_none()
    }
}
