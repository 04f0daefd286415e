//! Vegas: Brakmo and Peterson, "TCP Vegas: End to End Congestion Avoidance on a Global Internet", IEEE JSAC
//! 13 (1995), as in net/ipv4/tcp_vegas.c of Linux, with its defaults of alpha = 2, beta = 4 and gamma = 1
//! segments.
//!
//! Once per round trip Vegas computes diff = w (rtt - base) / base, where rtt is the round's least round-trip time
//! and base the least one so far. Slow start ends when diff > gamma; after it the window grows by one if diff <
//! alpha and shrinks by one if diff > beta. Differences from the paper, as in Linux: the divisor is base, whereas
//! the paper's diff, in waiting segments, has the divisor rtt (so with queues as long as the path Vegas keeps
//! fewer segments queued); slow start doubles the window each round instead of every other; losses are found and
//! answered as by Reno. Difference from Linux: times are nanoseconds instead of whole microseconds plus one.
//! Limits of validity: Vegas gets little beside controls that fill queues, and a route that becomes longer looks
//! like a permanent queue.

use crate::rounds::Rounds;
use crate::{Ack, Control, Event, Phase, Subflow, Window, reno};

/// The least number of segments that Vegas keeps queued.
const ALPHA: u64 = 2;
/// The largest number of segments that Vegas keeps queued.
const BETA: u64 = 4;
/// The number of queued segments that ends slow start.
const GAMMA: u64 = 1;

/// Vegas.
#[derive(Debug)]
pub struct Vegas {
    rounds: Rounds,
    next_bytes: u64,
}

impl Vegas {
    /// Creates the state at the beginning of a connection.
    pub fn new() -> Self {
        Self { rounds: Rounds::new(), next_bytes: 0 }
    }

    /// Changes the window after a round whose least round-trip time is `rtt_ns`.
    fn end_round(&self, window: &mut Window, ack: &Ack, rtt_ns: u64) {
        let (cwnd, base) = (u128::from(window.cwnd_pkts), u128::from(self.rounds.base_ns));
        let diff = (cwnd * (u128::from(rtt_ns) - base) / base) as u64;
        let target = (cwnd * base / u128::from(rtt_ns)) as u32;
        if window.in_slow_start() && diff > GAMMA {
            window.cwnd_pkts = window.cwnd_pkts.min(target + 1);
            lower_threshold(window);
        } else if window.in_slow_start() {
            window.slow_start(ack.acked_pkts);
        } else if diff > BETA {
            window.cwnd_pkts -= 1;
            lower_threshold(window);
        } else if diff < ALPHA {
            window.cwnd_pkts += 1;
        }
        window.cwnd_pkts = window.cwnd_pkts.max(2);
        raise_threshold(window);
    }
}

/// Keeps the threshold below the window (tcp_vegas_ssthresh), so that congestion avoidance continues.
pub fn lower_threshold(window: &mut Window) {
    window.ssthresh_pkts = window.ssthresh_pkts.min(window.cwnd_pkts.saturating_sub(1));
}

/// Keeps the threshold at three quarters of the window or above (tcp_current_ssthresh).
pub fn raise_threshold(window: &mut Window) {
    window.ssthresh_pkts = window.ssthresh_pkts.max(window.cwnd_pkts / 2 + window.cwnd_pkts / 4).max(2);
}

impl Control for Vegas {
    fn name(&self) -> &'static str {
        "vegas"
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack, _: &[Subflow], _: usize) {
        self.next_bytes = ack.next_bytes;
        self.rounds.take(ack);
        if ack.phase != Phase::Open {
            return reno::grow(window, ack);
        }
        if self.rounds.is_over(ack) {
            match self.rounds.least_ns() {
                Some(rtt_ns) => self.end_round(window, ack, rtt_ns),
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
        if matches!(event, Event::Restart | Event::IdleReset) {
            self.rounds.forget(self.next_bytes);
        }
    }
}
