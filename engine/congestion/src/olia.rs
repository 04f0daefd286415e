//! OLIA, the opportunistic linked increases algorithm: Khalili, Gast, Popovic and Le Boudec, "MPTCP is not
//! Pareto-optimal", CoNEXT 2012, and draft-khalili-mptcp-congestion-control-05.
//!
//! Per acknowledged segment in congestion avoidance a window changes by (w_r / rtt_r²) / (Σ_p w_p / rtt_p)² +
//! alpha_r / w_r. M are the subflows with the largest window, B those with the largest l / rtt², l the bytes
//! acknowledged since the last loss or between the last two, whichever is more; alpha is 1 / (n |B \ M|) in B
//! \ M, -1 / (n |M|) in M where B \ M is not empty, else 0. A loss halves the window, as Reno; alone it is
//! Reno.
//!
//! Three of them: this one in floating point; engine/bpf's in fixed point, which rounds the first term by at
//! most 2⁻¹⁵ of itself and compares l / rtt² exactly where this one rounds both to doubles;
//! [`crate::olia_kernel`], which has the out-of-tree kernel's rounding. Differs from the draft, as
//! engine/bpf's: a loss is where a threshold is asked for, a mark too; one taken back still counts; a window
//! shrinks to one segment at least. Where it stops being valid: before a subflow's first losses its l says
//! little of its path.

use crate::coupled::{self, Coupling, Fraction};
use crate::{Ack, Control, Shared, Subflow, Window, reno};

/// OLIA in floating point.
#[derive(Debug, Default)]
pub struct Olia {
    fraction: Fraction,
    run: Run,
}

/// The bytes that got through between losses.
#[derive(Debug, Default)]
pub struct Run {
    una: u64,
    at_loss: u64,
    between: u64,
}

impl Run {
    /// All below `una_bytes` is acknowledged.
    pub fn reached(&mut self, una_bytes: u64) {
        self.una = una_bytes;
    }

    /// A loss; the same one again, such as a timeout in recovery, ends no run.
    pub fn lost(&mut self) {
        if self.una != self.at_loss {
            self.between = self.una - self.at_loss;
            self.at_loss = self.una;
        }
    }

    /// OLIA's l.
    pub fn longest(&self) -> u64 {
        self.between.max(self.una - self.at_loss)
    }
}

/// alpha of the subflow that asks.
pub fn alpha(coupling: &Coupling<'_>) -> f64 {
    let own = coupling.own();
    let widest = coupling.largest(|path| path.window);
    let quality = |interval: f64, rtt: f64| interval / (rtt * rtt);
    let best = coupling.largest(|path| quality(path.interval, path.rtt));
    let (mut count, mut at_widest, mut best_below) = (0.0, 0.0, 0.0);
    for path in coupling.paths() {
        let is_widest = path.window == widest;
        count += 1.0;
        at_widest += f64::from(u8::from(is_widest));
        best_below += f64::from(u8::from(!is_widest && quality(path.interval, path.rtt) == best));
    }
    if best_below == 0.0 {
        0.0
    } else if own.window == widest {
        -1.0 / (count * at_widest)
    } else if quality(own.interval, own.rtt) == best {
        1.0 / (count * best_below)
    } else {
        0.0
    }
}

/// Returns what each acknowledged segment adds to the window, segments; below 0 where it shrinks.
pub fn increase(coupling: &Coupling<'_>) -> f64 {
    let (own, total) = (coupling.own(), coupling.total_rate());
    own.rate() / own.rtt / (total * total) + alpha(coupling) / own.window
}

impl Control for Olia {
    fn name(&self) -> &'static str {
        "olia"
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack, subflows: &[Subflow], own: usize) {
        self.run.reached(ack.una_bytes);
        coupled::grow(&mut self.fraction, window, ack, (subflows, own), increase);
    }

    fn ssthresh(&mut self, window: &Window, _: &[Subflow], _: usize) -> u32 {
        self.run.lost();
        reno::ssthresh(window)
    }

    fn shared(&self) -> Shared {
        Shared { interval_bytes: self.run.longest(), ..Shared::default() }
    }
}
