//! The quantities that the controls that couple a connection's subflows compute with: in floating point, and with
//! nothing kept from one acknowledgment to the next but the fraction of a segment that a window is larger than its
//! whole ones.
//!
//! The same equations as engine/bpf's programs, which have them in fixed point
//! (engine/bpf/programs/coupling.h); where a detail is open, this follows them: a subflow counts from its
//! first round-trip sample, idle or not, and with its window as it is, in recovery too.

use crate::reno::{self, left_after_slow_start};
use crate::{Ack, Subflow, Window};

/// A subflow as the equations see it.
#[derive(Debug, Clone, Copy)]
pub struct Path {
    /// Its window w, segments.
    pub window: f64,
    /// Its smoothed round-trip time, seconds.
    pub rtt: f64,
    /// OLIA's l, bytes.
    pub interval: f64,
}

impl Path {
    /// x = w / rtt, segments a second.
    pub fn rate(&self) -> f64 {
        self.window / self.rtt
    }
}

/// The subflows of a connection and which of them is asking, whose window is `window` whatever is listed.
#[derive(Clone, Copy)]
pub struct Coupling<'a> {
    window: &'a Window,
    subflows: &'a [Subflow],
    own: usize,
}

impl<'a> Coupling<'a> {
    /// Returns the coupling of the subflow `own`, or `None` where it is alone, or has no round-trip time yet: every
    /// control then is the one for a single path.
    pub fn of(window: &'a Window, subflows: &'a [Subflow], own: usize) -> Option<Self> {
        let coupling = Self { window, subflows, own };
        let own_counts = subflows.get(own).is_some_and(|subflow| subflow.srtt_ns > 0);
        (own_counts && coupling.paths().count() > 1).then_some(coupling)
    }

    /// The subflow that asks.
    pub fn own(&self) -> Path {
        self.path(self.own)
    }

    /// Every subflow that counts, in order, the asking one among them.
    pub fn paths(&self) -> impl Iterator<Item = Path> + use<'_> {
        let counts = |&place: &usize| self.subflows[place].srtt_ns > 0;
        (0..self.subflows.len()).filter(counts).map(|place| self.path(place))
    }

    /// Σ w / rtt, segments a second.
    pub fn total_rate(&self) -> f64 {
        self.paths().map(|path| path.rate()).sum()
    }

    /// The largest of what `of` gives for each subflow.
    pub fn largest(&self, of: impl Fn(Path) -> f64) -> f64 {
        self.paths().map(of).fold(0.0, f64::max)
    }

    fn path(&self, place: usize) -> Path {
        let subflow = &self.subflows[place];
        let window = if place == self.own { self.window } else { &subflow.window };
        Path {
            window: f64::from(window.cwnd_pkts.max(1)),
            rtt: subflow.srtt_ns as f64 / 1e9,
            interval: subflow.shared.interval_bytes as f64,
        }
    }
}

/// The part of a window beyond its whole segments: from 0 to below 1.
#[derive(Debug, Clone, Copy, Default)]
pub struct Fraction(f64);

impl Fraction {
    /// Adds `increase` segments, which may be negative, for each acknowledged one; no more of them count than
    /// the window holds, and a segment is always left of it.
    pub fn grow(&mut self, window: &mut Window, increase: f64, acked_pkts: u32) {
        let acked = acked_pkts.min(window.cwnd_pkts);
        let sum = self.0 + increase * f64::from(acked);
        let whole = sum.floor();
        let cwnd = f64::from(window.cwnd_pkts) + whole;
        *self = Self(if cwnd < 1.0 { 0.0 } else { sum - whole });
        window.cwnd_pkts = cwnd.max(1.0) as u32;
    }
}

/// Grows a window after an acknowledgment: in slow start and without another subflow as Reno does, else by `increase`
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
