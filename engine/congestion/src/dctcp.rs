//! DCTCP: RFC 8257, as in net/ipv4/tcp_dctcp.c of Linux and with the same integers: alpha is in 1024ths, begins at
//! 1, and is smoothed with g = 1/16. A mark reduces the window by alpha / 2 of it, a loss by half. The window
//! grows as Reno's.
//!
//! Differences from Linux: the marks of an acknowledgment count in the round that it ends, and a loss that is
//! found during the reduction after a mark does not lower the threshold further. The sender and receiver implement
//! the receiver's part, one echo for each mark (RFC 8257 section 3.2), if [`Control::needs_ecn`] says so. Limits
//! of validity: queues that do not mark, or that mark by RED's slow average; competition with flows that do not
//! implement DCTCP, against which RFC 8257 section 5 warns.

use crate::{Ack, Control, Event, Subflow, Window, reno};

/// alpha's largest value (DCTCP_MAX_ALPHA).
const ONE: u64 = 1024;
/// g = 2^-4 (dctcp_shift_g).
const SHIFT_G: u32 = 4;

/// DCTCP.
#[derive(Debug)]
pub struct Dctcp {
    /// The marked fraction of delivered segments, smoothed over rounds, in units of 1 / `ONE`.
    alpha: u64,
    /// The sequence number whose acknowledgment ends the round.
    end_bytes: u64,
    delivered_pkts: u64,
    marked_pkts: u64,
    cwnd_at_reduction_pkts: u32,
    /// True if the reduction that begins is because of a loss.
    has_lost: bool,
}

impl Dctcp {
    /// Creates the state at the beginning of a connection.
    pub fn new() -> Self {
        Self {
            alpha: ONE,
            end_bytes: 0,
            // SYN, when the connection is open (dctcp_reset).
            delivered_pkts: 1,
            marked_pkts: 0,
            cwnd_at_reduction_pkts: 0,
            has_lost: false,
        }
    }

    /// Ends a round: alpha becomes (1 - g) alpha + g F, where F is the marked fraction of the round (RFC 8257
    /// section 3.3).
    fn end_round(&mut self, ack: &Ack) {
        let delivered = ack.delivered_pkts - self.delivered_pkts;
        let marked = ack.delivered_marked_pkts - self.marked_pkts;
        let decrease = match self.alpha >> SHIFT_G {
            0 => self.alpha,
            part => part,
        };
        self.alpha -= decrease;
        if marked > 0 {
            let gained = (marked << (10 - SHIFT_G)) / delivered.max(1);
            self.alpha = (self.alpha + gained).min(ONE);
        }
        self.end_bytes = ack.next_bytes;
        self.delivered_pkts = ack.delivered_pkts;
        self.marked_pkts = ack.delivered_marked_pkts;
    }
}

impl Control for Dctcp {
    fn name(&self) -> &'static str {
        "dctcp"
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack, _: &[Subflow], _: usize) {
        if ack.una_bytes >= self.end_bytes {
            self.end_round(ack);
        }
        reno::grow(window, ack);
    }

    fn ssthresh(&mut self, window: &Window, _: &[Subflow], _: usize) -> u32 {
        self.cwnd_at_reduction_pkts = window.cwnd_pkts;
        if std::mem::take(&mut self.has_lost) {
            return reno::ssthresh(window);
        }
        let cwnd = u64::from(window.cwnd_pkts);
        ((cwnd - ((cwnd * self.alpha) >> 11)) as u32).max(2)
    }

    fn on_event(&mut self, event: Event, window: &mut Window, _: u64) {
        match event {
            Event::EnterRecovery => self.has_lost = true,
            // The sender has asked for the threshold before.
            Event::Timeout => window.ssthresh_pkts = reno::ssthresh(window),
            _ => {}
        }
    }

    fn undo(&mut self, window: &Window, _: u32) -> u32 {
        window.cwnd_pkts.max(self.cwnd_at_reduction_pkts)
    }

    fn needs_ecn(&self) -> bool {
        true
    }
}
