//! The undoing of a reduction without a loss, which timestamps (RFC 3522) or reports of duplicates (RFC 3708)
//! reveal.

use super::scoreboard;
use super::{Scope, Tcp};
use crate::{Packet, Time};
use nettrial_congestion::{Event, Phase};

impl Tcp {
    /// Records the state that an undo needs (tcp_init_undo).
    pub(super) fn begin_undo(&mut self) {
        self.recovery.undo_una = Some(self.una);
        let in_flight = i64::from(self.board.resent_pkts);
        self.recovery.undo_resent = if in_flight > 0 { in_flight } else { -1 };
    }

    /// Returns whether the retransmitted segments had not been lost (tcp_may_undo).
    fn may_undo(&self, packet: &Packet) -> bool {
        self.recovery.undo_una.is_some() && (self.recovery.undo_resent == 0 || self.was_late(packet))
    }

    /// Returns whether segments that were considered lost had only been late (tcp_packet_delayed): their
    /// acknowledgment echoes a time before the first retransmission, or nothing was retransmitted yet. Without
    /// SACK, the time of the first retransmission is forgotten at the end of a recovery.
    fn was_late(&self, packet: &Packet) -> bool {
        match self.recovery.resent_at {
            Some(at) => packet.echo.as_timestamp() < at.as_timestamp(),
            None => self.options.has_sack || self.una < self.recovery.high_sequence,
        }
    }

    /// Undoes the reduction (tcp_undo_cwnd_reduction).
    fn undo_reduction(&mut self, clears_marks: bool, now: Time) {
        if clears_marks {
            self.board.clear_lost();
        }
        if let Some(ssthresh) = self.recovery.prior_ssthresh_pkts.take() {
            self.window.cwnd_pkts = self.control.undo(&self.window, self.recovery.prior_cwnd_pkts);
            if ssthresh > self.window.ssthresh_pkts {
                self.window.ssthresh_pkts = ssthresh;
                self.ecn.must_tell_reduced = false;
            }
        }
        self.interface.validated_at = now;
        self.recovery.undo_una = None;
        self.control.on_event(Event::Undone, &mut self.window, now.as_ns());
    }

    /// Undoes a reduction at the end of a recovery (tcp_try_undo_recovery). Returns whether the phase must
    /// continue.
    pub(super) fn undo_after_recovery(&mut self, packet: &Packet, now: Time) -> bool {
        if self.may_undo(packet) {
            self.undo_reduction(false, now);
        } else {
            self.rack.on_recovered();
        }
        if self.una == self.recovery.high_sequence && !self.options.has_sack {
            // The phase lasts until something above is acknowledged, because late duplicates could look like new
            // losses.
            if self.board.resent_pkts == 0 {
                self.recovery.resent_at = None;
            }
            return true;
        }
        self.recovery.phase = Phase::Open;
        self.recovery.is_checking_timeout = false;
        false
    }

    /// Undoes a reduction when part of the recovery's data is acknowledged (tcp_try_undo_partial). Returns whether
    /// nothing more must be marked or retransmitted for now. `prior_una` is the first sequence number that was not
    /// acknowledged before.
    pub(super) fn undo_partial(&mut self, packet: &Packet, prior_una: u64, now: Time) -> bool {
        if self.recovery.undo_una.is_none() || !self.was_late(packet) {
            return false;
        }
        self.note_reordering(Some(prior_una));
        // The retransmissions in flight will show whether they were needed.
        if self.board.resent_pkts > 0 {
            return true;
        }
        self.recovery.resent_at = None;
        self.undo_reduction(true, now);
        self.keep_open();
        false
    }

    /// Undoes a reduction if every retransmission was reported as a duplicate (tcp_try_undo_dsack). Returns
    /// whether it did.
    pub(super) fn undo_by_duplicates(&mut self, now: Time) -> bool {
        let is_undone = self.recovery.undo_una.is_some() && self.recovery.undo_resent == 0;
        if is_undone {
            self.rack.on_recovered();
            self.undo_reduction(false, now);
        }
        is_undone
    }

    /// Undoes a reduction after a timeout (tcp_try_undo_loss); `is_proven` if F-RTO proved that the timeout was
    /// spurious. Returns whether it did.
    pub(super) fn undo_loss(&mut self, packet: &Packet, is_proven: bool, now: Time) -> bool {
        if !is_proven && !self.may_undo(packet) {
            return false;
        }
        self.undo_reduction(true, now);
        self.recovery.has_timed_out = false;
        if is_proven || self.options.has_sack {
            self.recovery.phase = Phase::Open;
            self.recovery.is_checking_timeout = false;
        }
        true
    }

    /// Marks all segments that were not SACKed as lost after a timeout. Those sent within the last round trip are
    /// marked only if they are the oldest (tcp_timeout_mark_lost).
    pub(super) fn mark_all_lost(&mut self, scope: &Scope<'_>) {
        if !self.options.has_sack {
            self.board.sacked_pkts = 0;
        }
        let first = self.board.first();
        for index in first..first + u64::from(self.board.len()) {
            let is_due = |segment: &scoreboard::Segment| self.is_timed_out(segment, scope.now);
            if index == first || self.board.get(index).is_some_and(is_due) {
                self.board.mark_lost(index);
            }
        }
    }
}
