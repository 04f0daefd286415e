//! OLIA as in the out-of-tree MPTCP kernel: net/mptcp/mptcp_olia.c of multipath-tcp v0.9x.
//!
//! Differences from [`crate::olia`], which follows the draft, and from engine/bpf: the window of a subflow in
//! recovery is its threshold; changes of a window are counted in 2⁻¹⁰ of a segment, rounded towards 0, and per
//! acknowledgment instead of per segment; once the count reaches a segment less 2⁻¹⁰ the window changes by one and
//! counting restarts, so that any excess is lost; increases below 2⁻¹⁰ count as none. Differences from that
//! kernel: nothing overflows (there, products of windows of thousands of segments do); with a single subflow it is
//! Linux's Reno, as for plain TCP.

use crate::olia::{Run, interval_bytes};
use crate::reno::left_after_slow_start;
use crate::{Ack, Control, Phase, Shared, Subflow, Window, reno};

/// The number of bits of a segment's scale.
const SCALE: u32 = 10;

/// OLIA with the kernel's quirks.
#[derive(Debug, Default)]
pub struct OliaKernel {
    run: Run,
    /// The growth of the window since it last changed, in 2⁻¹⁰ of a segment; negative if it shrinks.
    counted: i128,
}

/// A subflow as the out-of-tree kernel sees it.
#[derive(Debug, Clone, Copy)]
struct Path {
    window: i128,
    /// The round-trip time, in eighths of a microsecond.
    rtt: i128,
    run: i128,
}

impl Path {
    fn of(srtt_ns: u64, window_pkts: u32, run_bytes: u64) -> Self {
        let rtt = (i128::from(srtt_ns) * 8 / 1000).min(1 << 32);
        Self { window: i128::from(window_pkts), rtt, run: i128::from(run_bytes.min(1 << 60)) }
    }

    /// Returns true if l / rtt² is at least that of `other`.
    fn is_as_good_as(&self, other: &Self) -> bool {
        self.run * other.rtt * other.rtt >= other.run * self.rtt * self.rtt
    }
}

/// The subflows of a connection, and the one of them that computes, whose window and run are newer than the listed
/// ones.
#[derive(Clone, Copy)]
struct Paths<'a> {
    window: &'a Window,
    run: &'a Run,
    subflows: &'a [Subflow],
    own: usize,
}

impl Paths<'_> {
    fn own(&self) -> Path {
        let own = &self.subflows[self.own];
        Path::of(own.srtt_ns, self.window.cwnd_pkts, self.run.longest())
    }

    /// Returns all subflows that count.
    fn all(&self) -> impl Iterator<Item = Path> + use<'_> {
        let path = |(place, subflow): (usize, &Subflow)| match (place == self.own, subflow.phase) {
            (true, _) => self.own(),
            (_, Phase::Recovery) => {
                Path::of(subflow.srtt_ns, subflow.window.ssthresh_pkts, interval_bytes(subflow.shared))
            }
            _ => Path::of(subflow.srtt_ns, subflow.window.cwnd_pkts, interval_bytes(subflow.shared)),
        };
        self.subflows.iter().enumerate().map(path).filter(|path| path.rtt > 0)
    }

    /// Returns epsilon of the subflow `own`, as a sign and a divisor (mptcp_get_epsilon).
    fn epsilon(&self) -> (i128, i128) {
        let own = self.own();
        let widest = self.all().map(|path| path.window).max().unwrap_or(0);
        let is_best = |path: &Path| self.all().all(|other| path.is_as_good_as(&other));
        let at_widest = self.all().filter(|path| path.window == widest).count();
        let best_below = self.all().filter(|path| path.window != widest && is_best(path)).count();
        let of = |count: usize| (self.subflows.len() * count) as i128;
        match (best_below, own.window == widest) {
            (0, _) => (0, 1),
            (_, true) => (-1, of(at_widest)),
            (_, false) if is_best(&own) => (1, of(best_below)),
            _ => (0, 1),
        }
    }

    /// Returns the change that an acknowledgment counts for, in 2⁻¹⁰ of a segment.
    fn increase(&self) -> i128 {
        let own = self.own();
        let (sign, divisor) = self.epsilon();
        let rate: i128 = 1 + self.all().map(|path| (path.window << SCALE) * own.rtt / path.rtt).sum::<i128>();
        let rate = rate.min(1 << 50);
        let scaled = own.window << SCALE;
        let numerator = sign * rate * rate + divisor * scaled * scaled;
        (numerator << SCALE) / (divisor * own.window).saturating_mul(rate * rate).max(1)
    }
}

impl Control for OliaKernel {
    fn name(&self) -> &'static str {
        "olia-kernel"
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack, subflows: &[Subflow], own: usize) {
        if subflows.len() < 2 {
            return reno::grow(window, ack);
        }
        if matches!(ack.phase, Phase::Recovery | Phase::Reducing) {
            return;
        }
        self.run.reached(ack.una_bytes);
        if !ack.is_cwnd_limited {
            return;
        }
        if window.in_slow_start() {
            left_after_slow_start(window, ack);
            return;
        }
        if subflows[own].srtt_ns == 0 {
            return reno::grow(window, ack);
        }
        self.counted += Paths { window, run: &self.run, subflows, own }.increase();
        let whole = (1 << SCALE) - 1;
        if self.counted >= whole {
            window.cwnd_pkts += 1;
            self.counted = 0;
        } else if self.counted <= -whole {
            window.cwnd_pkts = (window.cwnd_pkts - 1).max(1);
            self.counted = 0;
        }
    }

    fn ssthresh(&mut self, window: &Window, _: &[Subflow], _: usize) -> u32 {
        self.run.lost();
        reno::ssthresh(window)
    }

    fn shared(&self) -> Shared {
        self.run.shared()
    }
}
