//! DCTCP: RFC 8257, as net/ipv4/tcp_dctcp.c of Linux has it, in the same integers: alpha in 1024ths, from 1
//! on, with g = 1/16; a mark takes alpha / 2 of the window, a loss half of it. It grows as Reno.
//!
//! The model differs from Linux: it counts marks of an acknowledgment with the round that it ends, and a loss found
//! while a mark's reduction goes on does not lower the threshold further. The receiver's part, one echo for
//! each mark (RFC 8257 section 3.2), is the sender's and receiver's of [`Control::needs_ecn`]. Where it stops
//! being valid: queues that do not mark, or mark by RED's slow average; beside flows that do not know it, for
//! which RFC 8257 section 5 warns.

use crate::{Ack, Control, Event, Subflow, Window, reno};

/// alpha's largest value (DCTCP_MAX_ALPHA).
const ONE: u64 = 1024;
/// g = 2^-4 (dctcp_shift_g).
const SHIFT_G: u32 = 4;

/// DCTCP.
#[derive(Debug)]
pub struct Dctcp {
    /// The marked fraction of what was delivered, smoothed over rounds, of `ONE`.
    alpha: u64,
    /// The round ends when this is acknowledged.
    end_bytes: u64,
    delivered_pkts: u64,
    marked_pkts: u64,
    cwnd_at_reduction_pkts: u32,
    /// True if the reduction that begins is for a loss.
    has_lost: bool,
}

impl Dctcp {
    /// At the beginning of a connection.
    pub fn new() -> Self {
        Self {
            alpha: ONE,
            end_bytes: 0,
            delivered_pkts: 0,
            marked_pkts: 0,
            cwnd_at_reduction_pkts: 0,
            has_lost: false,
        }
    }

    /// alpha = (1 - g) alpha + g F, F the marked fraction of the round (RFC 8257 section 3.3).
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
            // The threshold was asked for before.
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
