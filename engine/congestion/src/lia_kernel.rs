//! LIA as in the out-of-tree MPTCP kernel: net/mptcp/mptcp_coupled.c of multipath-tcp v0.9x, "coupled".
//!
//! Differences from [`crate::lia`], which follows the RFC, and from engine/bpf: the whole connection has one
//! alpha, which is computed anew only when a window has grown by one, in slow start, and after a change of phase,
//! and is kept in between; it is a whole number of 2⁻¹², at least 1, so that a window needs 2¹² / alpha
//! acknowledgments to grow, at most 4096, with few values in between; the best path's w / rtt² is a whole number
//! of 2⁻³² over eighths of a microsecond squared, which is 0 for many windows with round-trip times of tens of
//! milliseconds, and of several that are 0 the last counts as the best; the kernel counts acknowledgments instead
//! of segments, and needs one more than the window. Differences from that kernel: nothing overflows; a change of
//! phase is noticed by the subflow that it concerns; with a single subflow it is Linux's Reno, as for plain TCP,
//! whereas that kernel counts acknowledgments there as well.

use crate::reno::{self, left_after_slow_start};
use crate::{Ack, Control, Phase, Shared, Subflow, Window};

/// The number of bits of alpha's scale (alpha_scale = alpha_scale_num - 2 alpha_scale_den).
const ALPHA_BITS: u32 = 12;
/// The number of bits by which a window is scaled when it is divided by the square of a round-trip time
/// (alpha_scale_num).
const NUMERATOR_BITS: u32 = 32;
/// The number of bits by which a window is scaled when it is divided by a round-trip time (alpha_scale_den).
const DENOMINATOR_BITS: u32 = 10;

/// LIA with the kernel's quirks.
#[derive(Debug)]
pub struct LiaKernel {
    /// The alpha that this subflow computed last, and the time at which it did.
    computed: (u64, u64),
    acks: u32,
    phase: Phase,
}

impl LiaKernel {
    /// Creates the state at the beginning of a connection.
    pub fn new() -> Self {
        Self { computed: (1, 0), acks: 0, phase: Phase::Open }
    }

    /// Computes alpha from the subflows (mptcp_ccc_recalc_alpha).
    fn compute(&mut self, window: &Window, subflows: &[Subflow], own: usize, now_ns: u64) {
        self.computed = (alpha(paths(window, subflows, own)), now_ns);
    }

    /// Returns the connection's alpha, which is the last one that any of its subflows computed.
    fn alpha(&self, subflows: &[Subflow], own: usize) -> u64 {
        let mut newest = self.computed;
        for (place, subflow) in subflows.iter().enumerate() {
            let [alpha, computed_ns] = subflow.shared;
            if place != own && computed_ns > newest.1 {
                newest = (alpha, computed_ns);
            }
        }
        newest.0.max(1)
    }
}

/// Returns the window and the round-trip time, in eighths of a microsecond, of each subflow that counts.
fn paths<'a>(
    window: &'a Window,
    subflows: &'a [Subflow],
    own: usize,
) -> impl Iterator<Item = (u128, u128)> + Clone + use<'a> {
    subflows.iter().enumerate().filter_map(move |(place, subflow)| {
        let window = if place == own { window } else { &subflow.window };
        let eighths_us = u128::from(subflow.srtt_ns) * 8 / 1000;
        (eighths_us > 0).then_some((u128::from(window.cwnd_pkts), eighths_us))
    })
}

fn alpha(paths: impl Iterator<Item = (u128, u128)> + Clone) -> u64 {
    let mut best = (0, 0, 0);
    for (window, rtt) in paths.clone() {
        let quality = (window << NUMERATOR_BITS) / (rtt * rtt);
        if quality >= best.0 {
            best = (quality, window, rtt);
        }
    }
    let total: u128 = paths.map(|(window, rtt)| (window << DENOMINATOR_BITS) * best.2 / rtt).sum();
    let alpha = (best.1 << NUMERATOR_BITS) / (total * total).max(1);
    (alpha as u64).max(1)
}

impl Control for LiaKernel {
    fn name(&self) -> &'static str {
        "lia-kernel"
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack, subflows: &[Subflow], own: usize) {
        if subflows.len() < 2 {
            return reno::grow(window, ack);
        }
        let is_forced = std::mem::replace(&mut self.phase, ack.phase) != ack.phase;
        if !ack.may_grow_window() {
            return;
        }
        if window.in_slow_start() {
            left_after_slow_start(window, ack);
            return self.compute(window, subflows, own, ack.now_ns);
        }
        if is_forced {
            self.compute(window, subflows, own, ack.now_ns);
        }
        let needed = ((1 << ALPHA_BITS) / self.alpha(subflows, own)) as u32;
        if self.acks >= needed.max(window.cwnd_pkts) {
            window.cwnd_pkts += 1;
            self.acks = 0;
            self.compute(window, subflows, own, ack.now_ns);
        } else {
            self.acks += 1;
        }
    }

    fn ssthresh(&mut self, window: &Window, _: &[Subflow], _: usize) -> u32 {
        reno::ssthresh(window)
    }

    /// Shares the alpha that this subflow computed last, in units of 2⁻¹², and the time at which it did, in nanoseconds.
    fn shared(&self) -> Shared {
        [self.computed.0, self.computed.1]
    }
}
