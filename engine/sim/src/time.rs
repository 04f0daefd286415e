//! Simulated time.

use std::ops::{Add, AddAssign, Sub};

/// A moment or a span of simulated time, in integer picoseconds: a byte at 400 Gbit/s is 20. The largest is 213
/// days.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(pub u64);

impl Time {
    /// The beginning.
    pub const ZERO: Self = Self(0);
    /// Never.
    pub const NEVER: Self = Self(u64::MAX);

    /// From nanoseconds.
    pub const fn from_ns(nanoseconds: u64) -> Self {
        Self(nanoseconds * 1000)
    }

    /// From microseconds.
    pub const fn from_us(microseconds: u64) -> Self {
        Self::from_ns(microseconds * 1000)
    }

    /// From milliseconds.
    pub const fn from_ms(milliseconds: u64) -> Self {
        Self::from_us(milliseconds * 1000)
    }

    /// Whole nanoseconds.
    pub const fn as_ns(self) -> u64 {
        self.0 / 1000
    }

    /// The time `bytes` take at `rate_bps` bits per second, rounded up.
    pub fn of_bytes(bytes: u64, rate_bps: u64) -> Self {
        let bits = u128::from(bytes) * 8_000_000_000_000;
        Self(bits.div_ceil(u128::from(rate_bps)) as u64)
    }

    /// The span from `earlier` to this moment; zero if that is later.
    pub fn since(self, earlier: Self) -> Self {
        Self(self.0.saturating_sub(earlier.0))
    }
}

impl Add for Time {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Time {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Time {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}
