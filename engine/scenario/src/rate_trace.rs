//! Rates of links that change over time.

use crate::Rate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A rate that changes in steps, as a trace of a cellular or satellite link does. Its time begins when all flows are
/// ready, with the traffic; until then, the highest rate applies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RateTrace {
    /// The times from which the rates apply, in nanoseconds; the first is 0, and each is later than the one before.
    pub from_ns: Vec<u64>,
    /// The rate from each of these times, in bits per second on the wire; 0 where nothing is sent.
    pub rates_bps: Vec<u64>,
    /// The time after which the trace begins again, in nanoseconds. If it is absent, the last rate stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeats_after_ns: Option<u64>,
}

impl RateTrace {
    /// Returns the rates with the time from which and the time until which each applies, in nanoseconds. The last one
    /// of a trace that does not repeat ends at `u64::MAX`.
    pub fn steps(&self) -> impl Iterator<Item = (u64, u64, Rate)> {
        let ends = self.from_ns.iter().skip(1).copied().chain([self.repeats_after_ns.unwrap_or(u64::MAX)]);
        let times = self.from_ns.iter().copied().zip(ends);
        times.zip(&self.rates_bps).map(|((from_ns, until_ns), &rate)| (from_ns, until_ns, Rate(rate)))
    }

    /// Returns the highest of its rates.
    pub fn highest(&self) -> Rate {
        Rate(self.rates_bps.iter().copied().max().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_end_where_the_next_begins() {
        let trace = |from_ns: &[u64], rates_bps: &[u64], repeats_after_ns| RateTrace {
            from_ns: from_ns.to_vec(),
            rates_bps: rates_bps.to_vec(),
            repeats_after_ns,
        };
        let steps: Vec<_> = trace(&[0, 5], &[10, 0], Some(7)).steps().collect();
        assert_eq!(steps, [(0, 5, Rate(10)), (5, 7, Rate(0))]);
        assert_eq!(trace(&[0], &[10], None).steps().last(), Some((0, u64::MAX, Rate(10))));
    }
}
