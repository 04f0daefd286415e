//! The retransmission timer: timeouts (RFC 6298), tail loss probes (RFC 8985 section 7), window probes.

use super::probing;
use super::rack::TIMER_SLACK;
use super::rtt::{INITIAL_RTO, time_of};
use super::sack::News;
use super::timers::{Purpose, Timer};
use super::{Scope, Tcp};
use crate::Time;
use nettrial_congestion::{Event, Phase};

/// The number of timeouts after which a connection fails (net.ipv4.tcp_retries2).
const RETRIES: u32 = 15;
/// The time to wait after a retransmission was dropped locally (TCP_RESOURCE_PROBE_INTERVAL).
const AFTER_LOCAL_DROP: Time = Time::from_ms(500);

impl Tcp {
    /// Handles a wake-up of the subflow. Returns whether a timeout began, after which MPTCP also sends its data on
    /// other subflows.
    pub(crate) fn on_timer(&mut self, scope: &mut Scope<'_>) -> bool {
        let mut has_timed_out = false;
        if self.timers.take(Timer::Retransmit, self.me, scope.io) {
            has_timed_out = self.on_retransmit_timer(scope);
        }
        if self.timers.take(Timer::Acknowledge, self.me, scope.io) {
            self.on_acknowledge_timer(scope);
        }
        if self.timers.take(Timer::Compress, self.me, scope.io) {
            self.on_compress_timer(scope);
        }
        if self.timers.take(Timer::Send, self.me, scope.io) {
            self.resend_lost(scope);
        }
        self.share_view(scope);
        has_timed_out
    }

    /// Handles the retransmission timer according to its purpose. Returns whether a timeout began.
    fn on_retransmit_timer(&mut self, scope: &mut Scope<'_>) -> bool {
        if !self.is_established() {
            self.on_handshake_timeout(scope);
            return false;
        }
        match std::mem::take(&mut self.timers.purpose) {
            Purpose::Timeout => return self.on_timeout(scope),
            Purpose::Probe => self.send_probe(scope),
            Purpose::Reordering => self.on_reordering_timer(scope),
            // The connection tries to send after each timer.
            Purpose::Window => self.recovery.window_probes += 1,
        }
        false
    }

    /// Handles a timeout: retransmits the oldest segment, or fails the connection. Returns whether it is the
    /// first timeout since an acknowledgment.
    fn on_timeout(&mut self, scope: &mut Scope<'_>) -> bool {
        if self.board.is_empty() {
            return false;
        }
        self.counts.timeouts += 1;
        let since = self.recovery.resent_at.filter(|_| self.recovery.has_timed_out);
        let lasted = since.map_or(Time::ZERO, |since| scope.now.since(since));
        if lasted >= time_of(probing::RETRIES) {
            self.suspect_black_hole(scope);
        }
        if lasted >= time_of(RETRIES) {
            self.fail();
            return true;
        }
        self.enter_loss(scope);
        let is_first = !std::mem::replace(&mut self.recovery.has_timed_out, true);
        let was_sent = self.send_again(self.board.first(), scope);
        self.rtt.back_off();
        let wait = if was_sent { self.rtt.timeout() } else { AFTER_LOCAL_DROP };
        self.timers.purpose = Purpose::Timeout;
        self.timers.set(Timer::Retransmit, scope.now + wait, self.me, scope.io);
        is_first
    }

    /// Enters the phase loss to repair a timeout (tcp_enter_loss).
    fn enter_loss(&mut self, scope: &mut Scope<'_>) {
        let phase = self.recovery.phase;
        let is_new = !matches!(phase, Phase::Recovery | Phase::Loss);
        self.mark_all_lost(scope);
        let is_fresh = matches!(phase, Phase::Open | Phase::Disorder)
            || self.recovery.high_sequence <= self.una
            || (phase == Phase::Loss && !self.recovery.has_timed_out);
        if is_fresh {
            self.recovery.prior_ssthresh_pkts = Some(self.current_ssthresh());
            self.recovery.prior_cwnd_pkts = self.window.cwnd_pkts;
            self.refresh_view(scope);
            self.window.ssthresh_pkts = self.control.ssthresh(&self.window, scope.views, self.own);
            self.control.on_event(Event::Timeout, &mut self.window, scope.now.as_ns());
            self.begin_undo();
        }
        self.window.cwnd_pkts = self.board.in_flight() + 1;
        self.window.credit_pkts = 0;
        self.interface.validated_at = scope.now;
        self.rack.on_timeout(matches!(phase, Phase::Open | Phase::Disorder), self.board.sacked_pkts);
        self.recovery.phase = Phase::Loss;
        self.recovery.high_sequence = self.next;
        self.recovery.probe_end = None;
        self.ecn.must_tell_reduced = self.ecn.is_on;
        self.recovery.is_checking_timeout =
            (is_new || self.recovery.has_timed_out) && !self.has_path_mtu_probe();
    }

    /// Sets the timer for a tail loss probe, if one is due (tcp_schedule_loss_probe). Returns whether it was set.
    pub(super) fn schedule_probe(&mut self, is_advancing: bool, scope: &mut Scope<'_>) -> bool {
        let is_allowed =
            self.options.has_sack && matches!(self.recovery.phase, Phase::Open | Phase::Reducing);
        let Some(head) = self.board.front().filter(|_| is_allowed) else { return false };
        let wait = if self.rtt.smoothed == Time::ZERO {
            INITIAL_RTO
        } else {
            let slack = if self.board.len() == 1 { self.options.minimum_rto } else { TIMER_SLACK };
            Time(self.rtt.smoothed.0 * 2) + slack
        };
        let timeout = self.rtt.timeout();
        let until_timeout = if is_advancing { timeout } else { (head.sent_at + timeout).since(scope.now) };
        let wait = if until_timeout > Time::ZERO { wait.min(until_timeout) } else { wait };
        self.timers.purpose = Purpose::Probe;
        self.timers.set(Timer::Retransmit, scope.now + wait, self.me, scope.io);
        true
    }

    /// Sends a tail loss probe: new data, otherwise the last segment again, so that its acknowledgment reveals
    /// losses (tcp_send_loss_probe).
    fn send_probe(&mut self, scope: &mut Scope<'_>) {
        if self.recovery.probe_end.is_none() {
            let is_new = self.send_one_beyond_window(scope);
            let last = self.board.back().map(|(index, _)| index);
            let is_sent = is_new || last.is_some_and(|index| self.repeat(index, true, scope));
            if is_sent {
                self.recovery.probe_end = Some(self.next);
                self.recovery.is_probe_resent = !is_new;
                self.rearm_timeout(scope);
                return;
            }
        }
        self.timers.purpose = Purpose::Probe;
        self.rearm_timeout(scope);
    }

    /// Processes an acknowledgment of a tail loss probe (tcp_process_tlp_ack).
    pub(super) fn process_probe(&mut self, ack: u64, news: &News, scope: &mut Scope<'_>) {
        let Some(end) = self.recovery.probe_end.filter(|&end| ack >= end) else { return };
        if !self.recovery.is_probe_resent || news.is_probe_duplicate {
            self.recovery.probe_end = None;
        } else if ack > end {
            // The probe repaired a loss, so the window must be reduced.
            self.control.on_event(Event::EnterRecovery, &mut self.window, scope.now.as_ns());
            self.begin_reduction(scope);
            self.recovery.phase = Phase::Reducing;
            self.end_reduction(scope.now);
            self.keep_open();
        } else if !(news.una_advanced || news.is_no_duplicate || news.has_sacked) {
            self.recovery.probe_end = None;
        }
    }

    /// Sets the timer to try again later if nothing is in flight and the window or the host's interface is full
    /// (tcp_check_probe_timer).
    pub(crate) fn wait_for_room(&mut self, scope: &mut Scope<'_>) {
        if self.board.is_empty() && self.timers.due(Timer::Retransmit).is_none() {
            self.timers.purpose = Purpose::Window;
            let at = scope.now + self.rtt.timeout_after(self.recovery.window_probes);
            self.timers.set(Timer::Retransmit, at, self.me, scope.io);
        }
    }
}
