//! CUBIC: RFC 9438, as in net/ipv4/tcp_cubic.c of Linux and with the same integers: C = 410/1024, beta = 717/1024,
//! fast convergence, the Reno-friendly region, and HyStart ([`crate::hystart`]).
//!
//! Differences from the RFC, as in Linux: the window W(t) is computed for one least round-trip time ahead; a
//! timeout forgets the maximum; the window grows by at most one segment for two acknowledged segments, and before
//! the first loss by at least 5% per round. Differences from Linux: a tick is 1 ms (HZ = 1000, where a
//! distribution's kernel may have 250); the cube root is exact (Linux's is off by 0.2% on average); an idle time
//! is counted from the last acknowledgment instead of the last transmission; values that would overflow saturate.
//! Limits of validity: windows above a million segments, for which Linux's integers are not made.

use crate::hystart::HyStart;
use crate::reno::left_after_slow_start;
use crate::{Ack, Control, Event, Subflow, Window};

/// beta, in 1024ths: the share of the window that is left after a loss.
const BETA: u64 = 717;
/// C, in 1024ths (bic_scale · 10) of a segment per cubic second.
const C: u128 = 410;
/// The number of acknowledged segments that grow Reno's window by one, in eighths of CUBIC's window: (1 + beta) /
/// (1 - beta) / 3.
const RENO_FRIENDLY: u64 = 8 * (1024 + BETA) / 3 / (1024 - BETA);
/// The binary logarithm of a second in the unit of K (BICTCP_HZ).
const SECOND_BITS: u32 = 10;

/// CUBIC.
#[derive(Debug)]
pub struct Cubic {
    /// The number of acknowledged segments that grow the window by one.
    per_pkts: u32,
    /// The window at the last loss (W_max), which fast convergence may have lowered.
    last_max_pkts: u32,
    last_cwnd_pkts: u32,
    last_time_ms: u64,
    epoch: Option<Epoch>,
    /// The least round-trip time, in microseconds; 0 if there is none yet.
    delay_min_us: u64,
    hystart: HyStart,
    last_ack_ns: u64,
    timed_out: bool,
}

/// The period since a reduction, over which the cubic function runs.
#[derive(Debug)]
struct Epoch {
    start_ms: u64,
    /// The window at the function's turning point.
    origin_pkts: u32,
    /// K, the time from the start to the turning point, in 1024ths of a second.
    k: u64,
    /// The number of acknowledged segments that have not yet grown Reno's window.
    acked_pkts: u64,
    /// The window that Reno would have.
    reno_pkts: u32,
}

impl Cubic {
    /// Creates the state at the beginning of a connection.
    pub fn new() -> Self {
        Self {
            per_pkts: 0,
            last_max_pkts: 0,
            last_cwnd_pkts: 0,
            last_time_ms: 0,
            epoch: None,
            delay_min_us: 0,
            hystart: HyStart::new(),
            last_ack_ns: 0,
            timed_out: false,
        }
    }

    /// Forgets the path, as after a timeout (bictcp_reset).
    fn reset(&mut self, ack: &Ack) {
        let mut hystart = std::mem::replace(&mut self.hystart, HyStart::new());
        hystart.restart(ack);
        *self = Self { hystart, ..Self::new() };
    }

    /// Processes a round-trip time (cubictcp_acked).
    fn sample(&mut self, window: &mut Window, ack: &Ack, rtt_ns: u64) {
        // Right after a recovery, samples include the queue that caused the loss.
        let young = self.epoch.as_ref().is_some_and(|epoch| ack.now_ns / 1_000_000 < epoch.start_ms + 1000);
        if young {
            return;
        }
        let rtt_us = (rtt_ns / 1000).max(1);
        if self.delay_min_us == 0 || rtt_us < self.delay_min_us {
            self.delay_min_us = rtt_us;
        }
        if window.in_slow_start() {
            self.hystart.look(window, ack, rtt_us, self.delay_min_us);
        }
    }

    /// Computes the number of acknowledged segments that now grow the window by one (bictcp_update).
    fn update(&mut self, cwnd_pkts: u32, acked_pkts: u32, now_ms: u64) {
        if let Some(epoch) = &mut self.epoch {
            epoch.acked_pkts += u64::from(acked_pkts);
        }
        if self.last_cwnd_pkts == cwnd_pkts && now_ms.saturating_sub(self.last_time_ms) <= 1000 / 32 {
            return;
        }
        if self.epoch.is_none() || now_ms != self.last_time_ms {
            self.last_cwnd_pkts = cwnd_pkts;
            self.last_time_ms = now_ms;
            self.follow_the_cubic(cwnd_pkts, acked_pkts, now_ms);
        }
        self.keep_up_with_reno(cwnd_pkts);
        self.per_pkts = self.per_pkts.max(2);
    }

    fn follow_the_cubic(&mut self, cwnd_pkts: u32, acked_pkts: u32, now_ms: u64) {
        let last_max_pkts = self.last_max_pkts;
        let epoch =
            self.epoch.get_or_insert_with(|| Epoch::new(cwnd_pkts, acked_pkts, last_max_pkts, now_ms));
        let target = epoch.window_at(now_ms + self.delay_min_us / 1000);
        self.per_pkts =
            if target > cwnd_pkts { cwnd_pkts / (target - cwnd_pkts) } else { cwnd_pkts.saturating_mul(100) };
        if last_max_pkts == 0 {
            self.per_pkts = self.per_pkts.min(20);
        }
    }

    /// Keeps up with Reno's window in the Reno-friendly region (RFC 9438 section 4.3).
    fn keep_up_with_reno(&mut self, cwnd_pkts: u32) {
        let Some(epoch) = &mut self.epoch else { return };
        let per_pkts = ((u64::from(cwnd_pkts) * RENO_FRIENDLY) >> 3).max(1);
        while epoch.acked_pkts > per_pkts {
            epoch.acked_pkts -= per_pkts;
            epoch.reno_pkts += 1;
        }
        if epoch.reno_pkts > cwnd_pkts {
            self.per_pkts = self.per_pkts.min(cwnd_pkts / (epoch.reno_pkts - cwnd_pkts));
        }
    }
}

impl Epoch {
    fn new(cwnd_pkts: u32, acked_pkts: u32, last_max_pkts: u32, now_ms: u64) -> Self {
        let to_regain = u128::from(last_max_pkts.saturating_sub(cwnd_pkts));
        Self {
            start_ms: now_ms,
            origin_pkts: last_max_pkts.max(cwnd_pkts),
            k: cube_root((1 << (10 + 3 * SECOND_BITS)) / C * to_regain),
            acked_pkts: u64::from(acked_pkts),
            reno_pkts: cwnd_pkts,
        }
    }

    /// Returns W(t) = C (t - K)³ + W_max (RFC 9438 equation 1).
    fn window_at(&self, time_ms: u64) -> u32 {
        let t = (time_ms.saturating_sub(self.start_ms) << SECOND_BITS) / 1000;
        // The window saturates long before two days.
        let distance = u128::from(t.abs_diff(self.k).min(1 << 28));
        let delta = (C * distance * distance * distance) >> (10 + 3 * SECOND_BITS);
        let delta = u32::try_from(delta).unwrap_or(u32::MAX);
        if t < self.k {
            self.origin_pkts.saturating_sub(delta)
        } else {
            self.origin_pkts.saturating_add(delta)
        }
    }
}

/// Returns the largest whole number whose cube is at most `value`.
fn cube_root(value: u128) -> u64 {
    let (mut low, mut high) = (0u128, 1u128 << 42);
    while low + 1 < high {
        let middle = (low + high) / 2;
        if middle * middle * middle <= value {
            low = middle;
        } else {
            high = middle;
        }
    }
    low as u64
}

impl Control for Cubic {
    fn name(&self) -> &'static str {
        "cubic"
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack, _: &[Subflow], _: usize) {
        if self.timed_out {
            self.reset(ack);
        }
        self.last_ack_ns = ack.now_ns;
        if let Some(rtt_ns) = ack.rtt_ns {
            self.sample(window, ack, rtt_ns);
        }
        let left = left_after_slow_start(window, ack);
        if left > 0 {
            self.update(window.cwnd_pkts, left, ack.now_ns / 1_000_000);
            window.additive_increase(self.per_pkts, left);
        }
        self.hystart.note_rate(window, ack);
    }

    fn ssthresh(&mut self, window: &Window, _: &[Subflow], _: usize) -> u32 {
        self.epoch = None;
        let cwnd = u64::from(window.cwnd_pkts);
        self.last_max_pkts = if window.cwnd_pkts < self.last_max_pkts {
            (cwnd * (1024 + BETA) / 2048) as u32
        } else {
            window.cwnd_pkts
        };
        ((cwnd * BETA / 1024) as u32).max(2)
    }

    fn on_event(&mut self, event: Event, _: &mut Window, now_ns: u64) {
        match event {
            // The reset happens at the next acknowledgment, so that the threshold is still computed from the
            // earlier state.
            Event::Timeout | Event::ProbeLost => self.timed_out = true,
            Event::Restart => {
                if let Some(epoch) = &mut self.epoch {
                    epoch.start_ms += now_ns.saturating_sub(self.last_ack_ns) / 1_000_000;
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cube_root_is_the_largest_that_fits() {
        for root in [1, 2, 9, 10, 1000, 123_456_789] {
            let cube = u128::from(root) * u128::from(root) * u128::from(root);
            assert_eq!([cube - 1, cube, cube + 1].map(cube_root), [root - 1, root, root]);
        }
    }
}
