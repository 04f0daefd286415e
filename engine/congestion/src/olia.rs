//! OLIA, the opportunistic linked increases algorithm: Khalili, Gast, Popovic and Le Boudec, "MPTCP is not
//! Pareto-optimal", CoNEXT 2012, and draft-khalili-mptcp-congestion-control-05.
//!
//! In congestion avoidance a window changes by (w_r / rtt_r²) / (Σ_p w_p / rtt_p)² + alpha_r / w_r for each
//! acknowledged segment. M is the set of the subflows with the largest window, and B that of those with the
//! largest l / rtt², where l is the number of bytes acknowledged since the last loss or between the last two
//! losses, whichever is larger. alpha is 1 / (n |B \ M|) in B \ M, -1 / (n |M|) in M if B \ M is not empty, and 0
//! otherwise. A loss halves the window, as in Reno. With a single subflow OLIA is Reno.
//!
//! There are three implementations: this one in floating point; that of engine/bpf in fixed point, which rounds
//! the first term by at most 2⁻¹⁵ of its value and compares l / rtt² exactly, whereas this one rounds both to
//! doubles; and [`crate::olia_kernel`], which has the out-of-tree kernel's rounding. Differences from the draft,
//! as in engine/bpf: every request for a threshold counts as a loss, including one for a mark, and including
//! losses that are undone later; a window shrinks to one segment at least. Limits of validity: before a subflow's
//! first losses its l says little about its path.

use crate::coupled::{self, Coupling, Fraction, Path};
use crate::{Ack, Control, Shared, Subflow, Window, reno};

/// OLIA in floating point.
#[derive(Debug, Default)]
pub struct Olia {
    fraction: Fraction,
    run: Run,
}

/// The bytes that were delivered between losses.
#[derive(Debug, Default)]
pub struct Run {
    una: u64,
    at_loss: u64,
    between: u64,
}

impl Run {
    /// Notes that all data below `una_bytes` is acknowledged.
    pub fn reached(&mut self, una_bytes: u64) {
        self.una = una_bytes;
    }

    /// Notes a loss. A repetition of the same loss, such as a timeout in recovery, does not end a run.
    pub fn lost(&mut self) {
        if self.una != self.at_loss {
            self.between = self.una - self.at_loss;
            self.at_loss = self.una;
        }
    }

    /// Returns OLIA's l.
    pub fn longest(&self) -> u64 {
        self.between.max(self.una - self.at_loss)
    }

    /// Returns the words that OLIA shares: l.
    pub fn shared(&self) -> Shared {
        [self.longest(), 0]
    }
}

/// Returns a subflow's l, in bytes, from the words that its OLIA shares.
pub fn interval_bytes([longest, _]: Shared) -> u64 {
    longest
}

/// Returns alpha of the subflow `own`.
pub fn alpha(coupling: &Coupling<'_>) -> f64 {
    let own = coupling.own();
    let widest = coupling.largest(|path| path.window);
    let quality = |path: &Path| interval_bytes(path.shared) as f64 / (path.rtt * path.rtt);
    let best = coupling.largest(|path| quality(&path));
    let (mut count, mut at_widest, mut best_below) = (0.0, 0.0, 0.0);
    for path in coupling.paths() {
        let is_widest = path.window == widest;
        count += 1.0;
        at_widest += f64::from(u8::from(is_widest));
        best_below += f64::from(u8::from(!is_widest && quality(&path) == best));
    }
    if best_below == 0.0 {
        0.0
    } else if own.window == widest {
        -1.0 / (count * at_widest)
    } else if quality(&own) == best {
        1.0 / (count * best_below)
    } else {
        0.0
    }
}

/// Returns the number of segments that each acknowledged segment adds to the window; negative if the window
/// shrinks.
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
        self.run.shared()
    }
}
