//! wVegas, weighted Vegas: Cao, Xu and Fu, "Delay-based Congestion Control for Multipath TCP", ICNP 2012, and
//! draft-xu-mptcp-congestion-control-05.
//!
//! Once per round trip, if the round had three samples, wVegas computes diff = w (rtt - base) / rtt, where rtt is
//! the round's average round-trip time and base the least one so far. Slow start ends when diff > gamma = 1. After
//! it, when diff >= alpha_r, alpha_r becomes max(2, 10 x_r / Σ x), where x = w / rtt; the window grows by one if
//! diff < alpha_r and shrinks by one if diff > alpha_r. The least queueing delay rtt - base is kept; if the delay
//! doubles, the window becomes w base / (2 rtt) and the least delay is forgotten. With a single subflow wVegas is
//! Vegas with alpha = 10.
//!
//! There are three implementations: this one in floating point; that of engine/bpf in fixed point, whose shares of
//! the rate are off by at most 2⁻¹⁶ of their value; and [`crate::wvegas_kernel`], whose weights are the rates at
//! which each subflow last had alpha segments queued, and which halves windows that queue nothing. Differences
//! from the draft, as in engine/bpf: diff and alpha are whole segments, rounded down, so that a window can come to
//! rest; the window grows only if it limits the sender; weights are computed from the current rates; an empty
//! queue is not drained. Limits of validity: wVegas gets little beside controls that fill queues, and a flow that
//! joins a queue mistakes the queue for part of the path.

use crate::coupled::Coupling;
use crate::reno::{self, left_after_slow_start};
use crate::rounds::Rounds;
use crate::vegas::raise_threshold;
use crate::{Ack, Control, Event, Phase, Subflow, Window};

/// The number of segments that a connection keeps queued on all its paths together (total_alpha).
pub const ALPHA_TOTAL: f64 = 10.0;
/// The least number of segments that a subflow keeps queued, which is also its initial alpha.
pub const ALPHA_LEAST: u64 = 2;
/// The number of queued segments that ends slow start.
pub const GAMMA: u64 = 1;
/// The smallest window, in segments.
const WINDOW_LEAST: u32 = 2;

/// wVegas in floating point.
#[derive(Debug)]
pub struct WVegas {
    rounds: Rounds,
    alpha: u64,
    /// The least queueing delay since the last drain, in nanoseconds; 0 if there is none yet.
    least_queueing_ns: u64,
    next_bytes: u64,
}

impl WVegas {
    /// Creates the state at the beginning of a connection.
    pub fn new() -> Self {
        Self { rounds: Rounds::new(), alpha: ALPHA_LEAST, least_queueing_ns: 0, next_bytes: 0 }
    }

    fn begin_again(&mut self) {
        self.alpha = ALPHA_LEAST;
        self.least_queueing_ns = 0;
    }

    /// Changes the window in congestion avoidance, after a round whose average round-trip time is `rtt_ns`.
    fn avoid(&mut self, window: &mut Window, rtt_ns: u64, share: f64, may_grow: bool) {
        let queued = queued(window, self.rounds.base_ns, rtt_ns);
        if queued >= self.alpha {
            self.alpha = ((ALPHA_TOTAL * share) as u64).max(ALPHA_LEAST);
        }
        if queued > self.alpha {
            window.cwnd_pkts -= 1;
            window.ssthresh_pkts = window.ssthresh_pkts.min(window.cwnd_pkts);
        } else if queued < self.alpha && may_grow {
            window.cwnd_pkts += 1;
        }
        self.drain(window, rtt_ns);
    }

    /// Empties the queue if its delay has doubled; slow start, below the threshold, refills the path.
    fn drain(&mut self, window: &mut Window, rtt_ns: u64) {
        let queueing_ns = rtt_ns - self.rounds.base_ns;
        if self.least_queueing_ns == 0 || queueing_ns < self.least_queueing_ns {
            self.least_queueing_ns = queueing_ns;
        }
        if self.least_queueing_ns > 0 && queueing_ns >= 2 * self.least_queueing_ns {
            raise_threshold(window);
            let emptied = f64::from(window.cwnd_pkts) * self.rounds.base_ns as f64 / (2.0 * rtt_ns as f64);
            window.cwnd_pkts = emptied as u32;
            self.least_queueing_ns = 0;
        }
    }

    fn end_round(&mut self, window: &mut Window, rtt_ns: u64, share: f64, may_grow: bool) {
        if !window.in_slow_start() {
            self.avoid(window, rtt_ns, share, may_grow);
        } else if queued(window, self.rounds.base_ns, rtt_ns) > GAMMA {
            window.cwnd_pkts = window.cwnd_pkts.min(filling(window, self.rounds.base_ns, rtt_ns) + 1);
            window.ssthresh_pkts = window.cwnd_pkts;
        }
        window.cwnd_pkts = window.cwnd_pkts.max(WINDOW_LEAST);
        window.ssthresh_pkts = window.ssthresh_pkts.max(WINDOW_LEAST);
    }
}

/// Returns the number of whole segments of a window that wait in queues: w (rtt - base) / rtt.
pub fn queued(window: &Window, base_ns: u64, rtt_ns: u64) -> u64 {
    (u128::from(window.cwnd_pkts) * u128::from(rtt_ns - base_ns) / u128::from(rtt_ns)) as u64
}

/// Returns the number of whole segments of a window that fill the path: w base / rtt.
pub fn filling(window: &Window, base_ns: u64, rtt_ns: u64) -> u32 {
    (u128::from(window.cwnd_pkts) * u128::from(base_ns) / u128::from(rtt_ns)) as u32
}

impl Control for WVegas {
    fn name(&self) -> &'static str {
        "wvegas"
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
            let Some(rtt_ns) = self.rounds.average_ns() else {
                self.rounds.start(ack);
                return reno::grow(window, ack);
            };
            let share = Coupling::of(window, subflows, own)
                .map_or(1.0, |coupling| coupling.own().rate() / coupling.total_rate());
            self.end_round(window, rtt_ns, share, ack.may_grow_window());
            self.rounds.start(ack);
        }
        if window.in_slow_start() {
            left_after_slow_start(window, ack);
        }
    }

    fn ssthresh(&mut self, window: &Window, _: &[Subflow], _: usize) -> u32 {
        reno::ssthresh(window)
    }

    fn on_event(&mut self, event: Event, _: &mut Window, _: u64) {
        if event == Event::IdleReset {
            self.rounds.forget(self.next_bytes);
            self.begin_again();
        }
    }
}
