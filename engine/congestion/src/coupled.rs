//! The quantities from which the coupled congestion controls compute, in floating point. Nothing is kept from one
//! acknowledgment to the next but the fraction of a segment by which a window exceeds its whole segments.
//!
//! The equations are those of engine/bpf's programs, which have them in fixed point
//! (engine/bpf/programs/coupling.h). Where the documents leave a detail open, this module follows the programs: a
//! subflow counts from its first round-trip sample on, idle or not, and with its current window, in recovery as
//! well.

use crate::reno::{self, left_after_slow_start};
use crate::{Ack, Shared, Subflow, Window};

/// A subflow as the equations see it.
#[derive(Debug, Clone, Copy)]
pub struct Path {
    /// The subflow's window w, in segments.
    pub window: f64,
    /// The subflow's smoothed round-trip time, in seconds.
    pub rtt: f64,
    /// The words that the subflow's control shares.
    pub shared: Shared,
}

impl Path {
    /// Returns x = w / rtt, in segments per second.
    pub fn rate(&self) -> f64 {
        self.window / self.rtt
    }
}

/// The subflows of a connection, and the one of them that computes, whose window is `window` instead of the listed
/// one.
#[derive(Clone, Copy)]
pub struct Coupling<'a> {
    window: &'a Window,
    subflows: &'a [Subflow],
    own: usize,
}

impl<'a> Coupling<'a> {
    /// Returns the coupling of the subflow `own`; `None` if it is the only one or has no round-trip time yet, in
    /// which case every control behaves as for a single path.
    pub fn of(window: &'a Window, subflows: &'a [Subflow], own: usize) -> Option<Self> {
        let coupling = Self { window, subflows, own };
        let own_counts = subflows.get(own).is_some_and(|subflow| subflow.srtt_ns > 0);
        (own_counts && coupling.paths().count() > 1).then_some(coupling)
    }

    /// Returns the subflow `own`.
    pub fn own(&self) -> Path {
        self.path(self.own)
    }

    /// Returns all subflows that count, in order, including `own`.
    pub fn paths(&self) -> impl Iterator<Item = Path> + use<'_> {
        let counts = |&place: &usize| self.subflows[place].srtt_ns > 0;
        (0..self.subflows.len()).filter(counts).map(|place| self.path(place))
    }

    /// Returns Σ w / rtt, in segments per second.
    pub fn total_rate(&self) -> f64 {
        self.paths().map(|path| path.rate()).sum()
    }

    /// Returns the largest value of `of` over all subflows.
    pub fn largest(&self, of: impl Fn(Path) -> f64) -> f64 {
        self.paths().map(of).fold(0.0, f64::max)
    }

    fn path(&self, place: usize) -> Path {
        let subflow = &self.subflows[place];
        let window = if place == self.own { self.window } else { &subflow.window };
        Path {
            window: f64::from(window.cwnd_pkts.max(1)),
            rtt: subflow.srtt_ns as f64 / 1e9,
            shared: subflow.shared,
        }
    }
}

/// The part of a window beyond its whole segments, from 0 to below 1.
#[derive(Debug, Clone, Copy, Default)]
pub struct Fraction(f64);

impl Fraction {
    /// Adds `increase` segments, which may be negative, for each acknowledged one. At most as many acknowledged
    /// segments count as the window holds, and the window stays at one segment or more.
    pub fn grow(&mut self, window: &mut Window, increase: f64, acked_pkts: u32) {
        let acked = acked_pkts.min(window.cwnd_pkts);
        let sum = self.0 + increase * f64::from(acked);
        let whole = sum.floor();
        let cwnd = f64::from(window.cwnd_pkts) + whole;
        *self = Self(if cwnd < 1.0 { 0.0 } else { sum - whole });
        window.cwnd_pkts = cwnd.max(1.0) as u32;
    }
}

/// Grows a window after an acknowledgment: as Reno does in slow start and for a single subflow, else by `increase`
/// for each acknowledged segment.
pub fn grow(
    fraction: &mut Fraction,
    window: &mut Window,
    ack: &Ack,
    (subflows, own): (&[Subflow], usize),
    increase: impl Fn(&Coupling<'_>) -> f64,
) {
    let before = *window;
    let Some(coupling) = Coupling::of(&before, subflows, own) else {
        return reno::grow(window, ack);
    };
    let left = left_after_slow_start(window, ack);
    if left > 0 {
        fraction.grow(window, increase(&coupling), left);
    }
}
