//! Simulated time.

use std::ops::{Add, AddAssign, Sub};

/// A moment or a span of simulated time in picoseconds; a byte at 400 Gbit/s takes 20. The largest value is 213
/// days.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(pub u64);

impl Time {
    /// The beginning of the simulation, or an empty span.
    pub const ZERO: Self = Self(0);
    /// A moment that never comes.
    pub const NEVER: Self = Self(u64::MAX);

    /// Returns a time of so many nanoseconds.
    pub const fn from_ns(nanoseconds: u64) -> Self {
        Self(nanoseconds * 1000)
    }

    /// Returns a time of so many microseconds.
    pub const fn from_us(microseconds: u64) -> Self {
        Self::from_ns(microseconds * 1000)
    }

    /// Returns a time of so many milliseconds.
    pub const fn from_ms(milliseconds: u64) -> Self {
        Self::from_us(milliseconds * 1000)
    }

    /// Returns the whole nanoseconds of this time.
    pub const fn as_ns(self) -> u64 {
        self.0 / 1000
    }

    /// Returns the value of a TCP timestamp of this moment: whole milliseconds (TCP_TS_HZ).
    pub const fn as_timestamp(self) -> u64 {
        self.0 / Self::from_ms(1).0
    }

    /// Returns the time that `bytes` take at `rate_bps` bits per second, rounded up.
    pub fn of_bytes(bytes: u64, rate_bps: u64) -> Self {
        let bits = u128::from(bytes) * 8_000_000_000_000;
        Self(bits.div_ceil(u128::from(rate_bps)) as u64)
    }

    /// Returns the span from `earlier` to this moment; zero if `earlier` is later.
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
