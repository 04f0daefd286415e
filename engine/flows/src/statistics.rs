//! Summaries of many values in constant memory, and jitter.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram as HdrHistogram;
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};
use nettrial_scenario::{Distribution, Histogram};
use std::borrow::Cow;

/// The significant decimal digits of a percentile.
const PERCENTILE_DIGITS: u8 = 3;

/// The most values that are kept as they are, because a histogram takes 16 kB and most flows of a large trial have
/// only a few values.
const FEW: usize = 64;

/// Gathers durations. Mean and deviation are exact (Welford's update); percentiles come from an HDR
/// histogram with [`PERCENTILE_DIGITS`] significant digits.
#[derive(Default)]
pub struct Durations {
    values: Values,
    minimum_ns: u64,
    maximum_ns: u64,
    mean_ns: f64,
    squares: f64,
}

/// All values, nanoseconds.
enum Values {
    Few(Vec<u64>),
    Many(Box<HdrHistogram<u64>>),
}

impl Default for Values {
    fn default() -> Self {
        Self::Few(Vec::new())
    }
}

impl Values {
    fn count(&self) -> u64 {
        match self {
            Self::Few(values) => values.len() as u64,
            Self::Many(histogram) => histogram.len(),
        }
    }

    fn record(&mut self, value_ns: u64, count: u64) {
        match self {
            Self::Few(values) if values.len() < FEW && count == 1 => values.push(value_ns),
            _ => self
                .grow()
                .record_n(value_ns, count)
                .expect("a histogram made by `new` grows with its values"),
        }
    }

    /// Keeps the values as a histogram from now on, and returns it.
    fn grow(&mut self) -> &mut HdrHistogram<u64> {
        if let Self::Few(_) = self {
            *self = Self::Many(Box::new(self.histogram().into_owned()));
        }
        let Self::Many(histogram) = self else { unreachable!("it was made one") };
        histogram
    }

    fn histogram(&self) -> Cow<'_, HdrHistogram<u64>> {
        match self {
            Self::Many(histogram) => Cow::Borrowed(histogram),
            Self::Few(values) => {
                let mut histogram = HdrHistogram::new(PERCENTILE_DIGITS)
                    .expect("the number of digits is in the library's range");
                for value in values {
                    histogram.record(*value).expect("a histogram made by `new` grows with its values");
                }
                Cow::Owned(histogram)
            }
        }
    }
}

impl Durations {
    /// Adds a duration in nanoseconds.
    pub fn record(&mut self, value_ns: u64) {
        self.values.record(value_ns, 1);
        self.minimum_ns = if self.values.count() == 1 { value_ns } else { self.minimum_ns.min(value_ns) };
        self.maximum_ns = self.maximum_ns.max(value_ns);
        let value = value_ns as f64;
        let difference = value - self.mean_ns;
        self.mean_ns += difference / self.values.count() as f64;
        self.squares += difference * (value - self.mean_ns);
    }

    /// Adds a duration that occurred `count` times, for percentiles only.
    fn record_many(&mut self, value_ns: u64, count: u64) {
        self.values.record(value_ns, count);
    }

    /// Returns the summary, in microseconds.
    pub fn distribution_us(&self) -> Distribution {
        let count = self.values.count();
        if count == 0 {
            return Distribution::default();
        }
        let histogram = self.values.histogram();
        let (minimum, maximum) = (self.minimum_ns as f64, self.maximum_ns as f64);
        let percentile =
            |quantile| (histogram.value_at_quantile(quantile) as f64).clamp(minimum, maximum) / 1e3;
        let variance = if count > 1 { self.squares / (count - 1) as f64 } else { 0.0 };
        Distribution {
            mean: self.mean_ns / 1e3,
            deviation: variance.sqrt() / 1e3,
            minimum: minimum / 1e3,
            maximum: maximum / 1e3,
            ..percentiles(count, percentile)
        }
    }

    /// Returns all values, nanoseconds, in the record's encoding; `None` if there are none.
    pub fn histogram(&self) -> Option<Histogram> {
        if self.values.count() == 0 {
            return None;
        }
        let mut encoded = Vec::new();
        V2DeflateSerializer::new()
            .serialize(&*self.values.histogram(), &mut encoded)
            .expect("a histogram that fits in memory can be written to it");
        Some(Histogram(STANDARD.encode(encoded)))
    }
}

/// Gathers transit times with an arbitrary zero, for their excess over the smallest (RFC 5481 section 4.2, packet
/// delay variation).
///
/// The smallest value is known only at the end, so values are kept by their distance from the first one,
/// separately above and below it. A percentile is accurate to three digits, or to a thousandth of the excess of
/// the first value if that is more.
#[derive(Default)]
pub struct Variation {
    first_ns: Option<i64>,
    above: Durations,
    below: Durations,
    sum_ns: f64,
    squares: f64,
}

impl Variation {
    /// Adds a transit time in nanoseconds.
    pub fn record(&mut self, transit_ns: i64) {
        let first = *self.first_ns.get_or_insert(transit_ns);
        let distance = transit_ns.wrapping_sub(first);
        let side = if distance < 0 { &mut self.below } else { &mut self.above };
        side.record(distance.unsigned_abs());
        self.sum_ns += distance as f64;
        self.squares += distance as f64 * distance as f64;
    }

    /// Returns the smallest transit time, nanoseconds.
    pub fn smallest_ns(&self) -> Option<i64> {
        Some(self.first_ns?.wrapping_sub_unsigned(self.below.maximum_ns))
    }

    /// Returns the summary of the excess over the smallest, microseconds; `None` without values.
    pub fn distribution_us(&self) -> Option<Distribution> {
        self.first_ns?;
        let depth = self.below.maximum_ns;
        let mut excess = Durations::default();
        for value in self.below.values.histogram().iter_recorded() {
            excess.record_many(depth.saturating_sub(value.value_iterated_to()), value.count_at_value());
        }
        for value in self.above.values.histogram().iter_recorded() {
            excess.record_many(value.value_iterated_to().saturating_add(depth), value.count_at_value());
        }
        let count = excess.values.count() as f64;
        excess.minimum_ns = 0;
        excess.maximum_ns = self.above.maximum_ns.saturating_add(depth);
        excess.mean_ns = self.sum_ns / count + depth as f64;
        excess.squares = (self.squares - self.sum_ns * self.sum_ns / count).max(0.0);
        Some(excess.distribution_us())
    }
}

/// Jitter of a series of transit times, by two definitions.
#[derive(Default)]
pub struct Jitter {
    previous_ns: Option<i64>,
    smoothed_ns: f64,
    absolute_sum_ns: f64,
    differences: u64,
}

impl Jitter {
    /// Adds the transit time of the next packet, which is its arrival by the receiver's clock less its departure
    /// by the sender's. A constant offset between the clocks cancels.
    pub fn record(&mut self, transit_ns: i64) {
        if let Some(previous) = self.previous_ns.replace(transit_ns) {
            let difference = transit_ns.wrapping_sub(previous).unsigned_abs() as f64;
            self.smoothed_ns += (difference - self.smoothed_ns) / 16.0;
            self.absolute_sum_ns += difference;
            self.differences += 1;
        }
    }

    /// Returns the jitter of RFC 3550 appendix A.8, the last value of the smoothed series, microseconds; `None`
    /// before the second packet.
    pub fn rfc3550_us(&self) -> Option<f64> {
        (self.differences > 0).then_some(self.smoothed_ns / 1e3)
    }

    /// Returns the mean of |D|, microseconds; `None` before the second packet.
    pub fn difference_mean_us(&self) -> Option<f64> {
        (self.differences > 0).then(|| self.absolute_sum_ns / self.differences as f64 / 1e3)
    }
}

/// Returns the summary of some values. A percentile is the smallest value that this share of the values do not
/// exceed.
pub fn distribution(mut values: Vec<u32>) -> Distribution {
    values.sort_unstable();
    let (Some(first), Some(last)) = (values.first(), values.last()) else { return Distribution::default() };
    let count = values.len();
    let mean = values.iter().map(|value| f64::from(*value)).sum::<f64>() / count as f64;
    let squares: f64 = values.iter().map(|value| (f64::from(*value) - mean).powi(2)).sum();
    let percentile = |share: f64| f64::from(values[((count as f64 * share).ceil() as usize).max(1) - 1]);
    Distribution {
        mean,
        deviation: if count > 1 { (squares / (count - 1) as f64).sqrt() } else { 0.0 },
        minimum: f64::from(*first),
        maximum: f64::from(*last),
        ..percentiles(count as u64, percentile)
    }
}

/// Returns a summary of `count` values with their percentiles alone. Those of the tail are absent if fewer than one
/// value is beyond them on average.
fn percentiles(count: u64, percentile: impl Fn(f64) -> f64) -> Distribution {
    let tail = |share, least| (count >= least).then(|| percentile(share));
    Distribution {
        count,
        p50: percentile(0.50),
        p90: percentile(0.90),
        p99: percentile(0.99),
        p99_9: tail(0.999, 1_000),
        p99_99: tail(0.9999, 10_000),
        p99_999: tail(0.99999, 100_000),
        ..Distribution::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_is_of_the_values() {
        let found = distribution((1..=100).rev().collect());
        assert_eq!(
            (found.count, found.minimum, found.p50, found.p90, found.p99),
            (100, 1.0, 50.0, 90.0, 99.0)
        );
        assert_eq!((found.mean, found.maximum, found.p99_9), (50.5, 100.0, None));
        // Of the numbers from 1 to n: the square root of n(n + 1)/12.
        assert!((found.deviation - (100.0f64 * 101.0 / 12.0).sqrt()).abs() < 1e-9);
        assert_eq!(distribution(vec![7]).deviation, 0.0);
        assert_eq!(distribution(Vec::new()), Distribution::default());
    }

    #[test]
    fn a_known_set_has_its_known_summary() {
        let mut durations = Durations::default();
        for value in [2, 4, 4, 4, 5, 5, 7, 9] {
            durations.record(value * 1000);
        }
        let summary = durations.distribution_us();
        assert_eq!((summary.count, summary.minimum, summary.maximum), (8, 2.0, 9.0));
        assert!((summary.mean - 5.0).abs() < 1e-9);
        assert!((summary.deviation - (32.0f64 / 7.0).sqrt()).abs() < 1e-9);
        assert!((summary.p50 - 4.0).abs() < 0.01, "{}", summary.p50);
        assert_eq!(Durations::default().distribution_us(), Distribution::default());
    }

    #[test]
    fn few_values_and_many_have_one_summary() {
        for count in [1, FEW as u64, FEW as u64 + 1] {
            let mut durations = Durations::default();
            let mut histogram = HdrHistogram::<u64>::new(PERCENTILE_DIGITS).unwrap();
            for value in (1..=count).map(|number| number * 12_347) {
                durations.record(value);
                histogram.record(value).unwrap();
            }
            assert_eq!(*durations.values.histogram(), histogram);
            let summary = durations.distribution_us();
            assert_eq!((summary.count, summary.minimum), (count, 12.347));
        }
    }

    #[test]
    fn a_histogram_decodes_to_what_was_recorded() {
        let mut durations = Durations::default();
        assert_eq!(durations.histogram(), None);
        for value in [0, 1, 999, 12_345, 12_345, 5_000_000_000] {
            durations.record(value);
        }
        let text = durations.histogram().unwrap().0;
        // The beginning that every V2 histogram compressed by zlib has: its cookie, 0x1c849314.
        assert!(text.starts_with("HISTF"), "{text}");
        let bytes = STANDARD.decode(text).unwrap();
        let decoded: HdrHistogram<u64> =
            hdrhistogram::serialization::Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap();
        assert_eq!(decoded, *durations.values.histogram());
        assert_eq!((decoded.len(), decoded.count_at(12_345), decoded.sigfig()), (6, 2, PERCENTILE_DIGITS));
        assert!(decoded.equivalent(decoded.max(), 5_000_000_000));
    }

    #[test]
    fn jitter_by_both_definitions() {
        let mut jitter = Jitter::default();
        assert_eq!(jitter.rfc3550_us(), None);
        for transit in [1_000_000, 1_016_000, 1_000_000] {
            jitter.record(transit);
        }
        // |D| is 16 us twice: J = 1, then 1 + 15/16.
        assert_eq!(jitter.rfc3550_us(), Some(1.9375));
        assert_eq!(jitter.difference_mean_us(), Some(16.0));
    }

    #[test]
    fn delay_variation_is_the_excess_over_the_smallest_whatever_the_clocks() {
        assert_eq!(Variation::default().distribution_us(), None);
        for offset in [0, -1_700_000_000_000_000_000, 1_700_000_000_000_000_000] {
            let mut variation = Variation::default();
            for transit in [70_000, 50_000, 60_000, 20_000, 90_000] {
                variation.record(transit + offset);
            }
            let summary = variation.distribution_us().unwrap();
            assert_eq!((summary.count, summary.minimum, summary.maximum), (5, 0.0, 70.0));
            assert!((summary.mean - 38.0).abs() < 1e-6, "{}", summary.mean);
            assert!((summary.deviation - 670.0f64.sqrt()).abs() < 1e-6, "{}", summary.deviation);
            assert!((summary.p50 - 40.0).abs() < 0.1, "{}", summary.p50);
            assert_eq!(variation.smallest_ns(), Some(20_000 + offset));
        }
    }

    #[test]
    fn absurd_transit_times_are_summed_up_as_well() {
        let mut variation = Variation::default();
        for transit in [0, i64::MAX, i64::MIN, -1, 1] {
            variation.record(transit);
        }
        assert_eq!(variation.distribution_us().unwrap().count, 5);
    }

    #[test]
    fn jitter_does_not_see_a_clock_offset() {
        let (mut one, mut other) = (Jitter::default(), Jitter::default());
        for transit in [5_000, 9_000, 4_000, 4_500] {
            one.record(transit);
            other.record(transit - 1_700_000_000_000_000_000);
        }
        assert_eq!(one.rfc3550_us(), other.rfc3550_us());
    }
}
