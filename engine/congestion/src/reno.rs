//! Reno (RFC 5681), as Linux has it: net/ipv4/tcp_cong.c, `tcp_reno`.

use crate::{Ack, Control, Phase, Subflow, Window};

/// Reno: one segment a round trip more, half of the window after a loss.
#[derive(Debug)]
pub struct Reno;

impl Control for Reno {
    fn name(&self) -> &'static str {
        "reno"
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack, _: &[Subflow], _: usize) {
        if !ack.is_cwnd_limited || matches!(ack.phase, Phase::Recovery | Phase::Reducing) {
            return;
        }
        let mut left = ack.acked_pkts;
        if window.in_slow_start() {
            left = window.slow_start(left);
        }
        if left > 0 {
            window.additive_increase(window.cwnd_pkts, left);
        }
    }

    fn ssthresh(&mut self, window: &Window, _: &[Subflow], _: usize) -> u32 {
        (window.cwnd_pkts / 2).max(2)
    }
}
