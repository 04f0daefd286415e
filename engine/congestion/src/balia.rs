//! BALIA, the balanced linked adaptation: Peng, Walid, Hwang and Low, "Multipath TCP: Analysis, Design and
//! Implementation", IEEE/ACM Transactions on Networking 24 (2016), and
//! draft-walid-mptcp-congestion-control-04.
//!
//! Let x = w / rtt and alpha_r = max_i(x_i) / x_r. In congestion avoidance a window grows by x_r / (rtt_r (Σ_i
//! x_i)²) · (1 + alpha_r)/2 · (4 + alpha_r)/5 for each acknowledged segment; a loss reduces it by (w_r / 2)
//! min(alpha_r, 1.5). With a single subflow BALIA is Reno.
//!
//! There are three implementations: this one in floating point; that of engine/bpf in fixed point, which rounds an
//! increase by at most 2⁻¹⁵ of its value and the window after a loss by at most one segment; and
//! [`crate::balia_kernel`], which has the out-of-tree kernel's alpha, divided before it is scaled. Difference from
//! the draft: the window after a loss is rounded down, and is at least two segments, as in Linux's Reno. Limits of
//! validity: rates are windows divided by round-trip times, which a subflow without enough data to send does not
//! reach.

use crate::coupled::{self, Coupling, Fraction};
use crate::{Ack, Control, Subflow, Window, reno};

/// The largest reduction after a loss, as a multiple of half a window.
const DECREASE_MOST: f64 = 1.5;

/// BALIA in floating point.
#[derive(Debug, Default)]
pub struct Balia {
    fraction: Fraction,
}

/// Returns alpha of the subflow `own`, which is at least 1.
pub fn alpha(coupling: &Coupling<'_>) -> f64 {
    coupling.largest(|path| path.rate()) / coupling.own().rate()
}

/// Returns the number of segments that each acknowledged segment adds to the window.
pub fn increase(coupling: &Coupling<'_>) -> f64 {
    let (own, total, alpha) = (coupling.own(), coupling.total_rate(), alpha(coupling));
    own.rate() / (own.rtt * total * total) * ((1.0 + alpha) / 2.0) * ((4.0 + alpha) / 5.0)
}

/// Returns the window after a loss, in segments.
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
