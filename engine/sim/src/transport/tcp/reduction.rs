//! The reduction of the congestion window in proportion to the data delivered (RFC 6937).

use super::{Scope, Tcp};
use crate::Time;
use nettrial_congestion::{Event, Phase};

impl Tcp {
    /// Begins to reduce the window because of an ECN mark or a local drop (tcp_enter_cwr).
    pub(super) fn enter_reduction(&mut self, scope: &mut Scope<'_>) {
        self.recovery.prior_ssthresh_pkts = None;
        if matches!(self.recovery.phase, Phase::Open | Phase::Disorder) {
            self.recovery.undo_una = None;
            self.control.on_event(Event::Marked, &mut self.window, scope.now.as_ns());
            self.begin_reduction(scope);
            self.recovery.phase = Phase::Reducing;
        }
    }

    /// Begins a reduction of the window to the threshold of the congestion control (tcp_init_cwnd_reduction).
    pub(super) fn begin_reduction(&mut self, scope: &mut Scope<'_>) {
        self.recovery.high_sequence = self.next;
        self.recovery.probe_end = None;
        self.window.credit_pkts = 0;
        self.recovery.prior_cwnd_pkts = self.window.cwnd_pkts;
        self.recovery.delivered_pkts = 0;
        self.recovery.sent_pkts = 0;
        self.refresh_view(scope);
        self.window.ssthresh_pkts = self.control.ssthresh(&self.window, scope.views, self.own);
        self.ecn.must_tell_reduced = self.ecn.is_on;
    }

    /// Sets the window so that segments are sent in proportion to those delivered (tcp_cwnd_reduction, RFC 6937).
    pub(super) fn reduce_proportionally(&mut self, delivered: u32, lost: u32, una_advanced: bool) {
        if delivered == 0 || self.recovery.prior_cwnd_pkts == 0 {
            return;
        }
        self.recovery.delivered_pkts += delivered;
        let in_flight = i64::from(self.board.in_flight());
        let threshold = i64::from(self.window.ssthresh_pkts);
        let (all, sent) = (i64::from(self.recovery.delivered_pkts), i64::from(self.recovery.sent_pkts));
        let room = if in_flight > threshold {
            let prior = i64::from(self.recovery.prior_cwnd_pkts);
            (threshold * all + prior - 1) / prior - sent
        } else {
            let bonus = i64::from(una_advanced && lost == 0);
            ((all - sent).max(i64::from(delivered)) + bonus).min(threshold - in_flight)
        };
        let room = room.max(i64::from(sent == 0));
        self.window.cwnd_pkts = (in_flight + room).max(1) as u32;
    }

    /// Ends the reduction and returns the window to the congestion control (tcp_end_cwnd_reduction).
    pub(super) fn end_reduction(&mut self, now: Time) {
        if !self.control.drives() {
            let is_due = self.recovery.phase == Phase::Reducing || self.recovery.undo_una.is_some();
            if self.window.ssthresh_pkts < u32::MAX && is_due {
                self.window.cwnd_pkts = self.window.ssthresh_pkts;
                self.interface.validated_at = now;
            }
        }
        self.control.on_event(Event::Recovered, &mut self.window, now.as_ns());
    }

    /// Returns the slow-start threshold that a restart of the window would use (tcp_current_ssthresh).
    pub(super) fn current_ssthresh(&self) -> u32 {
        if self.recovery.is_reducing() {
            return self.window.ssthresh_pkts;
        }
        self.window.ssthresh_pkts.max(self.window.cwnd_pkts / 2 + self.window.cwnd_pkts / 4)
    }
}
