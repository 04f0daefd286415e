//! BALIA, the balanced linked adaptation: Peng, Walid, Hwang and Low, "Multipath TCP: Analysis, Design and
//! Implementation", IEEE/ACM Transactions on Networking 24 (2016), and
//! draft-walid-mptcp-congestion-control-04.
//!
//! With x = w / rtt and alpha_r = max_i(x_i) / x_r, per acknowledged segment in congestion avoidance a window
//! grows by x_r / (rtt_r (Σ_i x_i)²) · (1 + alpha_r)/2 · (4 + alpha_r)/5; a loss takes (w_r / 2) min(alpha_r,
//! 1.5) of it. Alone it is Reno.
//!
//! Three of them: this one in floating point; engine/bpf's in fixed point, which rounds an increase by at
//! most 2⁻¹⁵ of itself and the window after a loss by at most one segment; [`crate::balia_kernel`], which has
//! the out-of-tree kernel's alpha, divided before it is scaled. Differs from the draft: the window after a
//! loss is rounded down, and at least two segments, as Linux's Reno has it. Where it stops being valid: rates
//! are windows over round-trip times, which a subflow without enough to send does not reach.

use crate::coupled::{self, Coupling, Fraction};
use crate::{Ack, Control, Subflow, Window, reno};

/// The most of half a window that a loss takes.
const DECREASE_MOST: f64 = 1.5;

/// BALIA in floating point.
#[derive(Debug, Default)]
pub struct Balia {
    fraction: Fraction,
}

/// alpha of the subflow that asks: at least 1.
pub fn alpha(coupling: &Coupling<'_>) -> f64 {
    coupling.largest(|path| path.rate()) / coupling.own().rate()
}

/// Returns what each acknowledged segment adds to the window, segments.
pub fn increase(coupling: &Coupling<'_>) -> f64 {
    let (own, total, alpha) = (coupling.own(), coupling.total_rate(), alpha(coupling));
    own.rate() / (own.rtt * total * total) * ((1.0 + alpha) / 2.0) * ((4.0 + alpha) / 5.0)
}

/// The window after a loss, segments.
pub fn after_loss(coupling: &Coupling<'_>) -> u32 {
    let window = coupling.own().window;
    let left = window - window / 2.0 * alpha(coupling).min(DECREASE_MOST);
    (left as u32).max(2)
}

impl Control for Balia {
    fn name(&self) -> &'static str {
        "balia"
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack, subflows: &[Subflow], own: usize) {
        coupled::grow(&mut self.fraction, window, ack, (subflows, own), increase);
    }

    fn ssthresh(&mut self, window: &Window, subflows: &[Subflow], own: usize) -> u32 {
        Coupling::of(window, subflows, own)
            .map_or_else(|| reno::ssthresh(window), |coupling| after_loss(&coupling))
    }
}
