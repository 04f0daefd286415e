//! BALIA as in the out-of-tree MPTCP kernel: net/mptcp/mptcp_balia.c of multipath-tcp v0.9x.
//!
//! Differences from [`crate::balia`], which follows the draft, and from engine/bpf: alpha is divided in whole
//! numbers before it is scaled, so that a loss reduces the window by one half or by three quarters, but never by
//! anything between; the reduction after a loss and the number of acknowledgments that a window needs to grow are
//! computed when the window changes and then kept, so that a subflow reacts late to its siblings; the kernel
//! counts acknowledgments instead of segments, and needs one more than necessary; rates are bytes per second, and
//! rates above 2²⁵ are shifted right by multiples of five bits. Differences from that kernel: nothing overflows;
//! the window after a loss is at least two segments instead of one; the values after a reduction or a timeout are
//! computed at the next acknowledgment; with a single subflow it is Linux's Reno, as for plain TCP. Limits of
//! validity: shifted rates of a few bits lose the rates of subflows that are slow compared with the fastest.

use crate::reno::{self, left_after_slow_start};
use crate::{Ack, Control, Event, Subflow, Window};

/// The number of bits that the fastest rate may have (rate_scale_limit).
const RATE_BITS: u32 = 25;
/// The number of bits by which rates are shifted at a time (scale_num).
const SHIFT_BITS: u32 = 5;

/// BALIA with the kernel's quirks.
#[derive(Debug, Default)]
pub struct BaliaKernel {
    /// The number of acknowledgments that the window needs to grow by one; 0 if it is not known yet.
    needed: u128,
    /// The number of segments by which a loss reduces the window.
    lost: u32,
    acks: u128,
    is_stale: bool,
}

/// Returns x of each subflow that counts, in bytes per second.
fn rates<'a>(
    window: &'a Window,
    subflows: &'a [Subflow],
    own: usize,
) -> impl Iterator<Item = u128> + Clone + use<'a> {
    let counted = subflows.iter().enumerate().filter(|(_, subflow)| subflow.srtt_ns > 0);
    counted.map(move |(place, subflow)| rate(if place == own { window } else { &subflow.window }, subflow))
}

fn rate(window: &Window, subflow: &Subflow) -> u128 {
    let bytes = u128::from(window.cwnd_pkts) * u128::from(subflow.mss_bytes);
    bytes * 1_000_000_000 / u128::from(subflow.srtt_ns)
}

impl BaliaKernel {
    /// Computes both values from the subflows (mptcp_balia_recalc_ai).
    fn compute(&mut self, window: &Window, subflows: &[Subflow], own: usize) {
        (self.needed, self.lost, self.is_stale) = (0, 0, false);
        let rates = rates(window, subflows, own);
        let fastest = rates.clone().max().unwrap_or(0);
        let own_rate = if subflows[own].srtt_ns == 0 { 0 } else { rate(window, &subflows[own]) };
        if own_rate == 0 {
            return;
        }
        let half = window.cwnd_pkts / 2;
        self.lost = if fastest / own_rate >= 2 { half + half / 2 } else { half };
        let mut shift = 0;
        while fastest >> shift > 1 << RATE_BITS {
            shift += SHIFT_BITS;
        }
        let (fastest, own_rate) = (fastest >> shift, own_rate >> shift);
        let total: u128 = rates.map(|rate| rate >> shift).sum();
        let once = total * total * 10 / (own_rate + fastest).max(1);
        let cwnd = u128::from(window.cwnd_pkts);
        self.needed = match once * cwnd / (4 * own_rate + fastest).max(1) {
            0 => cwnd,
            needed => needed,
        };
    }
}

impl Control for BaliaKernel {
    fn name(&self) -> &'static str {
        "balia-kernel"
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack, subflows: &[Subflow], own: usize) {
        if subflows.len() < 2 {
            return reno::grow(window, ack);
        }
        if self.is_stale || self.needed == 0 {
            self.compute(window, subflows, own);
        }
        if !ack.may_grow_window() {
            return;
        }
        if window.in_slow_start() {
            left_after_slow_start(window, ack);
            self.compute(window, subflows, own);
        } else if self.acks >= self.needed.max(1) {
            window.cwnd_pkts += 1;
            self.acks = 0;
            self.compute(window, subflows, own);
        } else {
            self.acks += 1;
        }
    }

    fn ssthresh(&mut self, window: &Window, subflows: &[Subflow], _: usize) -> u32 {
        if subflows.len() < 2 {
            return reno::ssthresh(window);
        }
        window.cwnd_pkts.saturating_sub(self.lost).max(2)
    }

    fn on_event(&mut self, event: Event, _: &mut Window, _: u64) {
        self.is_stale |= matches!(event, Event::Timeout | Event::Recovered);
    }
}
