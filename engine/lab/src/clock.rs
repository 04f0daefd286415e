//! The clock by which trials run.

use crate::bucket;
use crate::delay_line::EARLY_NS;

/// The clock by which trials run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// The machine's own clock. Computing takes time, and timers are late.
    Real,
    /// The virtual clock of a kernel of its own. Computing takes no time, and when all processes wait, the clock
    /// jumps to the next timer. Nothing may watch it: each look takes 256 ns (kernel/patches/0006-clock.patch).
    Virtual,
}

impl Clock {
    /// Returns the name of the backend whose trials run by this clock.
    pub fn backend(self) -> &'static str {
        match self {
            Self::Real => "lab",
            Self::Virtual => "virtual",
        }
    }

    /// Describes the shapers of all links, for the fingerprint of a session.
    pub fn shaper(self) -> String {
        match self {
            Self::Real => bucket::description(),
            Self::Virtual => "exact wires".to_owned(),
        }
    }

    /// Returns the time, in nanoseconds, before a frame is due at which a sleep ends, because timers are late.
    pub fn early_ns(self) -> u64 {
        match self {
            Self::Real => EARLY_NS,
            Self::Virtual => 0,
        }
    }

    /// Returns `measure()` where computing takes time, and nothing where it takes none.
    pub fn measured<T: Default, E>(self, measure: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        match self {
            Self::Real => measure(),
            Self::Virtual => Ok(T::default()),
        }
    }
}
