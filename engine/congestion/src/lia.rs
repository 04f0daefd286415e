//! LIA, the linked increases algorithm: RFC 6356 section 3, equations (1) and (2).
//!
//! In congestion avoidance a window grows by min(alpha / w_total, 1 / w_r) for each acknowledged segment, where
//! alpha / w_total = max_i(w_i / rtt_i²) / (Σ_i w_i / rtt_i)². A loss halves it, as in Reno. With a single subflow
//! LIA is Reno.
//!
//! There are three implementations: this one in floating point; that of engine/bpf in fixed point, which rounds an
//! increase by at most 2⁻¹⁵ of its value; and [`crate::lia_kernel`], which has the out-of-tree kernel's rounding
//! and remembered alpha. Differences from the RFC: it counts segments instead of bytes, as Linux does (so subflows
//! of different segment sizes count by segments), and computes alpha for every acknowledgment. Limits of validity:
//! as in RFC 6356 section 3, it balances congestion only halfway, so a congested path keeps more than its fair
//! share.

use crate::coupled::{self, Coupling, Fraction};
use crate::{Ack, Control, Subflow, Window, reno};

/// LIA in floating point.
#[derive(Debug, Default)]
pub struct Lia {
    fraction: Fraction,
}

/// Returns the number of segments that each acknowledged segment adds to the window.
pub fn increase(coupling: &Coupling<'_>) -> f64 {
    let total = coupling.total_rate();
    let best = coupling.largest(|path| path.rate() / path.rtt);
    (best / (total * total)).min(1.0 / coupling.own().window)
}

impl Control for Lia {
    fn name(&self) -> &'static str {
        "lia"
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack, subflows: &[Subflow], own: usize) {
        coupled::grow(&mut self.fraction, window, ack, (subflows, own), increase);
    }

    fn ssthresh(&mut self, window: &Window, _: &[Subflow], _: usize) -> u32 {
        reno::ssthresh(window)
    }
}
