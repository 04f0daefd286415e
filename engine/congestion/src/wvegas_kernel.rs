//! wVegas as in the out-of-tree MPTCP kernel: net/mptcp/mptcp_wvegas.c of multipath-tcp v0.9x.
//!
//! Differences from [`crate::wvegas`], which follows the draft, and from engine/bpf: a subflow's weight is its
//! share, in 2⁻¹⁶, of the rates that the subflows had when each last had alpha segments queued, among the subflows
//! with a sample in their current round; an empty queue counts as a least queueing delay of 0, and any delay is
//! more than twice that, so that a window which queues nothing is halved; the window grows whether it limits the
//! sender or not; a drain leaves the threshold at three quarters of the new window. Differences from that kernel:
//! the kernel's rates are computed from whole microseconds plus one; with a single subflow its Reno is Linux's
//! own. Limits of validity are those of the draft's wVegas.

use crate::rounds::Rounds;
use crate::vegas::{lower_threshold, raise_threshold};
use crate::wvegas::{ALPHA_LEAST, ALPHA_TOTAL, GAMMA, filling, queued};
use crate::{Ack, Control, Event, Phase, Shared, Subflow, Window, reno};

/// The scale of rates and weights: the value that stands for one (MPTCP_WVEGAS_SCALE).
const ONE: f64 = 65536.0;

/// wVegas with the kernel's quirks.
#[derive(Debug)]
pub struct WVegasKernel {
    rounds: Rounds,
    alpha: u64,
    /// The rate when alpha segments were last queued, in segments per microsecond times `ONE`; 0 if they never
    /// were.
    rate: f64,
    /// The subflow's share of the rates, times `ONE`.
    weight: f64,
    least_queueing_ns: u64,
    next_bytes: u64,
}

impl WVegasKernel {
    /// Creates the state at the beginning of a connection.
    pub fn new() -> Self {
        Self {
            rounds: Rounds::new(),
            alpha: ALPHA_LEAST,
            rate: 0.0,
            weight: ONE,
            least_queueing_ns: 0,
            next_bytes: 0,
        }
    }

    /// Restarts wVegas (wvegas_enable).
    fn begin_again(&mut self) {
        let rounds = std::mem::replace(&mut self.rounds, Rounds::new());
        *self = Self { rounds, next_bytes: self.next_bytes, ..Self::new() };
    }

    /// Computes the weight from the subflows' rates (mptcp_wvegas_weight).
    fn weigh(&mut self, subflows: &[Subflow], own: usize) {
        let others = subflows.iter().enumerate().filter(|&(place, _)| place != own);
        let total = self.rate + others.map(|(_, subflow)| f64::from_bits(subflow.shared[0])).sum::<f64>();
        if self.rate > 0.0 {
            self.weight = (self.rate * ONE / total).floor();
        }
    }

    fn avoid(&mut self, window: &mut Window, rtt_ns: u64, subflows: &[Subflow], own: usize) {
        let queued = queued(window, self.rounds.base_ns, rtt_ns);
        if queued >= self.alpha {
            self.rate = (f64::from(window.cwnd_pkts) * ONE * 1000.0 / rtt_ns as f64).floor();
            self.weigh(subflows, own);
            self.alpha = ((self.weight * ALPHA_TOTAL / ONE) as u64).max(ALPHA_LEAST);
        }
        if queued > self.alpha {
            window.cwnd_pkts -= 1;
            lower_threshold(window);
        } else if queued < self.alpha {
            window.cwnd_pkts += 1;
        }
        let queueing_ns = rtt_ns - self.rounds.base_ns;
        if self.least_queueing_ns == 0 || self.least_queueing_ns > queueing_ns {
            self.least_queueing_ns = queueing_ns;
        }
        if queueing_ns >= 2 * self.least_queueing_ns {
            let factor = (self.rounds.base_ns as f64 * ONE / (2.0 * rtt_ns as f64)).floor();
            window.cwnd_pkts = (f64::from(window.cwnd_pkts) * factor / ONE) as u32;
            self.least_queueing_ns = 0;
        }
    }

    fn end_round(&mut self, window: &mut Window, ack: &Ack, rtt_ns: u64, subflows: &[Subflow], own: usize) {
        if !window.in_slow_start() {
            self.avoid(window, rtt_ns, subflows, own);
        } else if queued(window, self.rounds.base_ns, rtt_ns) > GAMMA {
            window.cwnd_pkts = window.cwnd_pkts.min(filling(window, self.rounds.base_ns, rtt_ns) + 1);
            lower_threshold(window);
        } else {
            window.slow_start(ack.acked_pkts);
        }
        window.cwnd_pkts = window.cwnd_pkts.max(2);
        raise_threshold(window);
    }
}

impl Control for WVegasKernel {
    fn name(&self) -> &'static str {
        "wvegas-kernel"
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack, subflows: &[Subflow], own: usize) {
        self.next_bytes = ack.next_bytes;
        if self.rounds.take(ack) {
            self.begin_again();
        }
        if ack.phase != Phase::Open {
            return reno::grow(window, ack);
        }
        if self.rounds.is_over(ack) {
            match self.rounds.average_ns() {
                Some(rtt_ns) => self.end_round(window, ack, rtt_ns, subflows, own),
                None => reno::grow(window, ack),
            }
            self.rounds.start(ack);
        } else if window.in_slow_start() {
            window.slow_start(ack.acked_pkts);
        }
    }

    fn ssthresh(&mut self, window: &Window, _: &[Subflow], _: usize) -> u32 {
        reno::ssthresh(window)
    }

    fn on_event(&mut self, event: Event, _: &mut Window, _: u64) {
        match event {
            Event::IdleReset => {
                self.rounds.forget(self.next_bytes);
                self.begin_again();
            }
            Event::Timeout => self.rate = 0.0,
            _ => {}
        }
    }

    /// Shares the rate when alpha segments were last queued, in 2⁻¹⁶ segments per microsecond; 0 if there is none.
    fn shared(&self) -> Shared {
        let rate_pkts = if self.rounds.has_sample() { self.rate } else { 0.0 };
        [rate_pkts.to_bits(), 0]
    }
}
