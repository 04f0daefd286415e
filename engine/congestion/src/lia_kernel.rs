//! LIA as the out-of-tree MPTCP kernel has it: net/mptcp/mptcp_coupled.c of multipath-tcp v0.9x, "coupled".
//!
//! The model differs from [`crate::lia`], the RFC's, and from engine/bpf's: alpha is one of the whole
//! connection, computed anew only when a window has grown by one, in slow start, and after a change of phase,
//! and kept in between; it is a whole number of 2⁻¹², at least 1, so that a window needs 2¹² / alpha
//! acknowledgments to grow, 4096 at most, and few values between; the best path's w / rtt² is a whole number
//! of 2⁻³² over eighths of a microsecond squared, which is 0 for many windows of tens of milliseconds: of
//! those that are 0, the last is taken for the best; acknowledgments are counted and not segments, and one
//! more than the window is needed. Differs from that kernel: nothing overflows; a change of phase is noticed
//! by the subflow that it is of; with one subflow it is Linux's Reno, as for plain TCP, where that kernel
//! counts acknowledgments too.

use crate::reno::{self, left_after_slow_start};
use crate::{Ack, Control, Phase, Shared, Subflow, Window};

/// Bits of alpha's scale (alpha_scale = alpha_scale_num - 2 alpha_scale_den).
const ALPHA_BITS: u32 = 12;
/// Bits by which a window is scaled over a round trip's square (alpha_scale_num).
const NUMERATOR_BITS: u32 = 32;
/// Bits by which a window is scaled over a round trip (alpha_scale_den).
const DENOMINATOR_BITS: u32 = 10;

/// LIA with the kernel's quirks.
#[derive(Debug)]
pub struct LiaKernel {
    /// The alpha that this subflow computed last, and when.
    computed: (u64, u64),
    acks: u32,
    phase: Phase,
}

impl LiaKernel {
    /// At the beginning of a connection.
    pub fn new() -> Self {
        Self { computed: (1, 0), acks: 0, phase: Phase::Open }
    }

    /// mptcp_ccc_recalc_alpha.
    fn compute(&mut self, window: &Window, subflows: &[Subflow], own: usize, now_ns: u64) {
        self.computed = (alpha(paths(window, subflows, own)), now_ns);
    }

    /// The connection's alpha: what any of its subflows computed last.
    fn alpha(&self, subflows: &[Subflow], own: usize) -> u64 {
        let mut newest = self.computed;
        for (place, subflow) in subflows.iter().enumerate() {
            if place != own && subflow.shared.alpha_ns > newest.1 {
                newest = (subflow.shared.alpha, subflow.shared.alpha_ns);
            }
        }
        newest.0.max(1)
    }
}

/// Window and round trip, in eighths of a microsecond, of each subflow that counts.
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

    fn shared(&self) -> Shared {
        Shared { alpha: self.computed.0, alpha_ns: self.computed.1, ..Shared::default() }
    }
}
