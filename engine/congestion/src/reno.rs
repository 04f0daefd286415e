//! Reno (RFC 5681), as in Linux: net/ipv4/tcp_cong.c, `tcp_reno`.
//!
//! Differences from the RFC, as in Linux: windows are whole segments, and in congestion avoidance an
//! acknowledgment counts for as many segments as it acknowledges (RFC 3465 without its limit).

use crate::{Ack, Control, Subflow, Window};

/// Reno: the window grows by one segment per round trip, and a loss halves it.
#[derive(Debug)]
pub struct Reno;

/// Grows Reno's window after an acknowledgment (tcp_reno_cong_avoid).
pub fn grow(window: &mut Window, ack: &Ack) {
    let left = left_after_slow_start(window, ack);
    if left > 0 {
        window.additive_increase(window.cwnd_pkts, left);
    }
}

/// Grows a window in slow start, and returns how many acknowledged segments are left for congestion avoidance; 0
/// if the window may not grow.
pub fn left_after_slow_start(window: &mut Window, ack: &Ack) -> u32 {
    match (ack.may_grow_window(), window.in_slow_start()) {
        (false, _) => 0,
        (true, true) => window.slow_start(ack.acked_pkts),
        (true, false) => ack.acked_pkts,
    }
}

/// Returns Reno's threshold after a loss (tcp_reno_ssthresh).
pub fn ssthresh(window: &Window) -> u32 {
    (window.cwnd_pkts / 2).max(2)
}

impl Control for Reno {
    fn name(&self) -> &'static str {
        "reno"
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack, _: &[Subflow], _: usize) {
        grow(window, ack);
    }

    fn ssthresh(&mut self, window: &Window, _: &[Subflow], _: usize) -> u32 {
        ssthresh(window)
    }
}
