//! The states of a sender's recovery, and the transitions between them (tcp_fastretrans_alert).

use super::sack::News;
use super::{Scope, Tcp};
use crate::{Packet, Time};
use nettrial_congestion::{Event, Phase};

/// The state of a sender's recovery from losses.
#[derive(Debug)]
pub(super) struct Recovery {
    /// The current state of congestion avoidance (icsk_ca_state).
    pub(super) phase: Phase,
    /// The next sequence number to send when the phase began (high_seq).
    pub(super) high_sequence: u64,
    /// The congestion window before the reduction.
    pub(super) prior_cwnd_pkts: u32,
    /// The threshold to return to if the reduction is undone; `None` if it can't be undone.
    pub(super) prior_ssthresh_pkts: Option<u32>,
    /// Segments delivered since the reduction began.
    pub(super) delivered_pkts: u32,
    /// Segments sent since the reduction began.
    pub(super) sent_pkts: u32,
    /// The first unacknowledged sequence number when recovery began; `None` if there is nothing to undo.
    pub(super) undo_una: Option<u64>,
    /// Retransmissions of which no duplicate was reported; negative before the first one.
    pub(super) undo_resent: i64,
    /// The time at which the first retransmission of the recovery was sent.
    pub(super) resent_at: Option<Time>,
    /// The number of duplicates reported.
    pub(super) duplicates: u64,
    /// True while F-RTO checks whether a timeout was spurious (RFC 5682).
    pub(super) is_checking_timeout: bool,
    /// The next sequence number to send when a tail loss probe was sent; `None` without a probe in flight.
    pub(super) probe_end: Option<u64>,
    /// True if the probe was a retransmission.
    pub(super) is_probe_resent: bool,
    /// True if the timer expired and nothing has been acknowledged since.
    pub(super) has_timed_out: bool,
    /// The number of times that the sender waited in vain for room in the window, since it last sent new data.
    pub(super) window_probes: u32,
}

impl Default for Recovery {
    fn default() -> Self {
        Self {
            phase: Phase::Open,
            high_sequence: 0,
            prior_cwnd_pkts: 0,
            prior_ssthresh_pkts: None,
            delivered_pkts: 0,
            sent_pkts: 0,
            undo_una: None,
            undo_resent: -1,
            resent_at: None,
            duplicates: 0,
            is_checking_timeout: false,
            probe_end: None,
            is_probe_resent: false,
            has_timed_out: false,
            window_probes: 0,
        }
    }
}

impl Recovery {
    /// Begins with the connection, whose first data has the sequence number `next`.
    pub(super) fn begin(&mut self, next: u64) {
        self.high_sequence = next;
    }

    /// Notes that duplicates of `count` retransmitted segments were reported, the last of which ends at `end`.
    pub(super) fn on_duplicates(&mut self, end: u64, count: u32) {
        if self.undo_resent > 0 && self.undo_una.is_some_and(|una| end > una) {
            self.undo_resent = (self.undo_resent - i64::from(count)).max(0);
        }
    }

    /// Returns whether the window is being reduced.
    pub(super) fn is_reducing(&self) -> bool {
        matches!(self.phase, Phase::Reducing | Phase::Recovery)
    }
}

/// The kind of segments to send after an acknowledgment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Resend {
    /// No retransmission.
    Nothing,
    /// The lost segments.
    Lost,
    /// New data first, for F-RTO; lost segments only if there is no new data.
    New,
}

impl Tcp {
    /// Processes an acknowledgment that is not plain (tcp_fastretrans_alert), and returns the segments to send.
    pub(super) fn judge(
        &mut self,
        packet: &Packet,
        is_duplicate: bool,
        news: &mut News,
        scope: &mut Scope<'_>,
    ) -> Resend {
        if news.has_mark {
            self.recovery.prior_ssthresh_pkts = None;
        }
        if self.recovery.phase == Phase::Open {
            self.recovery.resent_at = None;
        } else if self.una >= self.recovery.high_sequence && self.ends_phase(packet, scope) {
            return Resend::Nothing;
        }
        match self.recovery.phase {
            Phase::Recovery => self.judge_in_recovery(packet, is_duplicate, news, scope),
            Phase::Loss => self.judge_in_loss(packet, is_duplicate, news, scope),
            _ => self.judge_otherwise(is_duplicate, news, scope),
        }
    }

    /// Handles the acknowledgment of everything that had been sent when the phase began. Returns whether the
    /// acknowledgment needs no further processing.
    fn ends_phase(&mut self, packet: &Packet, scope: &mut Scope<'_>) -> bool {
        match self.recovery.phase {
            Phase::Reducing if self.una > self.recovery.high_sequence => {
                self.end_reduction(scope.now);
                self.recovery.phase = Phase::Open;
            }
            Phase::Recovery => {
                if !self.options.has_sack {
                    self.board.sacked_pkts = 0;
                }
                if self.undo_after_recovery(packet, scope.now) {
                    return true;
                }
                self.end_reduction(scope.now);
            }
            _ => {}
        }
        false
    }

    /// Processes an acknowledgment in fast recovery.
    fn judge_in_recovery(
        &mut self,
        packet: &Packet,
        is_duplicate: bool,
        news: &mut News,
        scope: &mut Scope<'_>,
    ) -> Resend {
        if !news.una_advanced {
            if !self.options.has_sack && is_duplicate {
                self.add_duplicate();
            }
        } else if self.undo_partial(packet, news.prior_una, scope.now) {
            return Resend::Nothing;
        }
        if self.undo_by_duplicates(scope.now) {
            self.open_or_reduce(news, scope);
        }
        self.find_losses(news, scope);
        if self.recovery.phase != Phase::Recovery {
            if self.board.lost_pkts == 0 {
                return Resend::Nothing;
            }
            self.enter_recovery(news.has_mark, scope);
        }
        Resend::Lost
    }

    /// Processes an acknowledgment in a phase other than recovery and loss.
    fn judge_otherwise(&mut self, is_duplicate: bool, news: &mut News, scope: &mut Scope<'_>) -> Resend {
        if !self.options.has_sack {
            if news.una_advanced {
                self.board.sacked_pkts = 0;
            }
            if is_duplicate {
                self.add_duplicate();
            }
        }
        if matches!(self.recovery.phase, Phase::Open | Phase::Disorder) {
            self.undo_by_duplicates(scope.now);
        }
        self.find_losses(news, scope);
        if self.board.lost_pkts == 0 {
            self.open_or_reduce(news, scope);
            return Resend::Nothing;
        }
        if self.give_up_path_mtu_probe(scope) {
            return Resend::Nothing;
        }
        self.enter_recovery(news.has_mark, scope);
        Resend::Lost
    }

    /// Processes an acknowledgment after a timeout, with F-RTO.
    fn judge_in_loss(
        &mut self,
        packet: &Packet,
        is_duplicate: bool,
        news: &mut News,
        scope: &mut Scope<'_>,
    ) -> Resend {
        let resend = self.process_loss(packet, is_duplicate, news, scope);
        self.find_losses(news, scope);
        if self.recovery.phase == Phase::Open || news.resent_lost {
            return match self.judge_otherwise(is_duplicate, news, scope) {
                Resend::Nothing => resend,
                other => other,
            };
        }
        resend
    }

    /// Ends the phase after a timeout, undoes it, or continues it (tcp_process_loss).
    fn process_loss(
        &mut self,
        packet: &Packet,
        is_duplicate: bool,
        news: &News,
        scope: &mut Scope<'_>,
    ) -> Resend {
        let is_recovered = self.una >= self.recovery.high_sequence;
        if news.una_advanced && self.undo_loss(packet, false, scope.now) {
            return Resend::Nothing;
        }
        if self.recovery.is_checking_timeout {
            if news.original_delivered && self.undo_loss(packet, true, scope.now) {
                return Resend::Nothing;
            }
            if self.next > self.recovery.high_sequence {
                self.recovery.is_checking_timeout &= !(news.has_sacked || is_duplicate);
            } else if news.una_advanced && !is_recovered {
                self.recovery.high_sequence = self.next;
                if self.has_sendable(scope) {
                    return Resend::New;
                }
                self.recovery.is_checking_timeout = false;
            }
        }
        if is_recovered {
            self.undo_after_recovery(packet, scope.now);
            return Resend::Nothing;
        }
        if !self.options.has_sack {
            if self.next > self.recovery.high_sequence && is_duplicate {
                self.add_duplicate();
            } else if news.una_advanced {
                self.board.sacked_pkts = 0;
            }
        }
        Resend::Lost
    }

    /// Marks the segments that are lost by now (tcp_identify_packet_loss).
    fn find_losses(&mut self, news: &mut News, scope: &mut Scope<'_>) {
        if self.board.is_empty() {
            return;
        }
        if !self.options.has_sack {
            let by_duplicates = !matches!(self.recovery.phase, Phase::Recovery | Phase::Loss)
                && self.board.sacked_pkts >= self.rack.reordering_pkts;
            if by_duplicates || (self.recovery.phase == Phase::Recovery && news.una_advanced) {
                let first = self.board.first();
                if self.board.front().is_some_and(|head| !head.has(super::scoreboard::LOST)) {
                    self.board.mark_lost(first);
                }
            }
            return;
        }
        let resent = self.board.resent_pkts;
        if self.mark_lost_by_time(scope) {
            news.sets_timer = false;
        }
        news.resent_lost |= self.board.resent_pkts < resent;
    }

    /// Reduces the window because of an ECN mark, or chooses between the phases open and disorder
    /// (tcp_try_to_open).
    fn open_or_reduce(&mut self, news: &News, scope: &mut Scope<'_>) {
        if !self.has_resent() {
            self.recovery.resent_at = None;
        }
        if news.has_mark {
            self.enter_reduction(scope);
        }
        if self.recovery.phase != Phase::Reducing {
            self.keep_open();
        }
    }

    /// Enters the phase disorder if segments are SACKed, lost or retransmitted, otherwise the phase open
    /// (tcp_try_keep_open).
    pub(super) fn keep_open(&mut self) {
        let is_disordered = self.board.sacked_pkts + self.board.lost_pkts > 0 || self.has_resent();
        let phase = if is_disordered { Phase::Disorder } else { Phase::Open };
        if self.recovery.phase != phase {
            self.recovery.phase = phase;
            self.recovery.high_sequence = self.next;
        }
    }

    /// Returns whether a retransmission is in flight, or the oldest segment was retransmitted.
    fn has_resent(&self) -> bool {
        let is_resent = |head: &super::scoreboard::Segment| head.has(super::scoreboard::EVER_RESENT);
        self.board.resent_pkts > 0 || self.board.front().is_some_and(is_resent)
    }

    /// Enters fast recovery to repair a loss (tcp_enter_recovery).
    pub(super) fn enter_recovery(&mut self, has_mark: bool, scope: &mut Scope<'_>) {
        if !self.has_resent() {
            self.recovery.resent_at = None;
        }
        self.recovery.prior_ssthresh_pkts = None;
        self.begin_undo();
        if !self.recovery.is_reducing() {
            if !has_mark {
                self.recovery.prior_ssthresh_pkts = Some(self.current_ssthresh());
            }
            self.control.on_event(Event::EnterRecovery, &mut self.window, scope.now.as_ns());
            self.begin_reduction(scope);
        }
        self.recovery.phase = Phase::Recovery;
    }
}
