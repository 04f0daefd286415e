//! A sender's processing of acknowledgments (tcp_ack).

use super::rate::Shown;
use super::recovery::Resend;
use super::sack::News;
use super::timers::{Purpose, Timer};
use super::{Scope, Tcp};
use crate::{Flags, Packet, Time};
use nettrial_congestion::{Ack, Phase};

/// The state of the scoreboard before an acknowledgment.
struct Before {
    delivered_pkts: u64,
    lost_pkts: u64,
    in_flight_pkts: u32,
    was_empty: bool,
}

impl Tcp {
    /// Processes an acknowledgment, detects losses, sets the window and retransmits lost segments. The connection
    /// sends new data afterwards.
    pub(super) fn on_ack(&mut self, packet: &Packet, scope: &mut Scope<'_>) {
        if packet.ack > self.next {
            return;
        }
        if !self.has_sent() {
            self.take_window(packet, scope);
            return;
        }
        let before = Before {
            delivered_pkts: self.rate.delivered_pkts,
            lost_pkts: self.board.total_lost_pkts,
            in_flight_pkts: self.board.in_flight(),
            was_empty: self.board.is_empty(),
        };
        let mut news = News {
            una_advanced: packet.ack > self.una,
            prior_una: self.una,
            prior_highest: self.highest_sacked(),
            ..News::default()
        };
        news.is_no_duplicate = packet.payload_bytes > 0 || packet.flags.has(Flags::FIN);
        news.is_no_duplicate |= self.take_window(packet, scope);
        news.has_mark = self.ecn.is_on && packet.flags.has(Flags::ECE);
        if self.options.has_sack {
            self.take_sack(packet, &mut news, scope);
        }
        self.recovery.has_timed_out &= !news.una_advanced;
        if before.was_empty {
            if news.has_duplicate {
                self.judge(packet, false, &mut news, scope);
            }
            self.process_probe(packet.ack, &news, scope);
            return;
        }
        self.take_cumulative(packet, &mut news, scope);
        news.is_no_duplicate |= news.acked_pkts > 0;
        let rtt = self.take_round_trip(packet, &mut news, scope.now);
        self.check_path_mtu_probe(scope);
        self.after_bookkeeping(packet, before, rtt, news, scope);
    }

    fn after_bookkeeping(
        &mut self,
        packet: &Packet,
        before: Before,
        rtt: Option<Time>,
        mut news: News,
        scope: &mut Scope<'_>,
    ) {
        let prior_delivered_pkts = self.rate.prior_delivered_pkts();
        if prior_delivered_pkts > 0 {
            self.rack.adjust(prior_delivered_pkts, self.rate.delivered_pkts);
        }
        self.process_probe(packet.ack, &news, scope);
        let is_alert = news.has_sacked || news.has_mark || news.has_duplicate;
        let mut resend = Resend::Nothing;
        if !news.is_no_duplicate || is_alert || self.recovery.phase != Phase::Open {
            let is_duplicate = !news.una_advanced && !news.is_no_duplicate && !news.has_duplicate;
            resend = self.judge(packet, is_duplicate, &mut news, scope);
        }
        if news.sets_timer {
            self.set_retransmit_timer(scope);
        }
        // Without SACK, the duplicate acknowledgments that were just counted are deliveries (tcp_newly_delivered).
        let delivered = (self.rate.delivered_pkts - before.delivered_pkts) as u32;
        if news.has_mark {
            self.rate.marked_pkts += u64::from(delivered);
        }
        let shown = self.rate.finish(scope.now, delivered, self.rtt.minimum);
        self.control_window(delivered, &before, rtt, shown, &news, scope);
        self.resend(resend, scope);
    }

    /// Processes the window and, with MPTCP, the DATA_ACK; returns whether the window changed.
    fn take_window(&mut self, packet: &Packet, scope: &mut Scope<'_>) -> bool {
        let fin = u64::from(self.fin_end.is_some_and(|end| packet.ack >= end));
        let acked = if self.options.is_mptcp { packet.data_ack } else { packet.ack.max(1) - 1 - fin };
        let is_update = scope.stream.on_data_ack(acked, packet.window_bytes);
        if self.has_unsent(scope) {
            // After a long time without room in the window, the path is as unknown as after an idle period
            // (tcp_ack_update_window).
            self.restart_if_idle(scope);
        }
        is_update
    }

    /// Takes a sample of the round-trip time (tcp_ack_update_rtt), and returns that of the newest segment.
    fn take_round_trip(&mut self, packet: &Packet, news: &mut News, now: Time) -> Option<Time> {
        let acked = news.acked_sent_at.filter(|_| !news.resent_acked);
        let (first, last) = match (acked, news.sacked_sent_at) {
            (Some(acked), sacked) => (acked.0, sacked.unwrap_or(acked).1),
            (None, Some(sacked)) => sacked,
            (None, None) if news.acked_pkts > 0 && packet.echo != Time::NEVER => {
                // Timestamps tell whole milliseconds, and at least one (tcp_rtt_tsopt_us).
                let age = now.as_timestamp().saturating_sub(packet.echo.as_timestamp()).max(1);
                let at = Time(now.0.saturating_sub(Time::from_ms(age).0));
                (at, at)
            }
            (None, None) => {
                news.sets_timer = news.acked_pkts > 0;
                return None;
            }
        };
        let newest = now.since(last);
        self.rtt.sample_minimum(newest, now);
        self.rtt.sample(now.since(first), self.una, self.next);
        // A SACK of data sent after the oldest segment does not postpone the timeout of that segment.
        let is_older = |sacked: (Time, Time)| self.board.front().is_some_and(|head| sacked.0 < head.sent_at);
        news.sets_timer = news.acked_pkts > 0 || news.sacked_sent_at.is_some_and(is_older);
        Some(newest)
    }

    /// Passes the acknowledgment to the congestion control, and reduces the window where that is the sender's task
    /// (tcp_cong_control).
    fn control_window(
        &mut self,
        delivered: u32,
        before: &Before,
        rtt: Option<Time>,
        shown: Shown,
        news: &News,
        scope: &mut Scope<'_>,
    ) {
        let lost = (self.board.total_lost_pkts - before.lost_pkts) as u32;
        let is_reducing = matches!(self.recovery.phase, Phase::Reducing | Phase::Recovery);
        if is_reducing && !self.control.drives() {
            self.reduce_proportionally(delivered, lost, news.una_advanced);
        }
        // With reordering, SACKs also increase the window (tcp_may_raise_cwnd).
        let may_grow = if self.rack.reordering_pkts > 3 {
            news.acked_pkts > 0 || news.has_sacked
        } else {
            news.acked_pkts > 0
        };
        let ack = Ack {
            now_ns: scope.now.as_ns(),
            acked_pkts: delivered,
            acked_bytes: news.delivered_bytes,
            lost_pkts: lost,
            rtt_ns: rtt.map(Time::as_ns),
            srtt_ns: self.rtt.smoothed.as_ns(),
            min_rtt_ns: self.rtt.minimum.as_ns(),
            in_flight_pkts: self.board.in_flight(),
            prior_in_flight_pkts: before.in_flight_pkts,
            delivered_pkts: self.rate.delivered_pkts,
            delivered_marked_pkts: self.rate.marked_pkts,
            prior_delivered_pkts: shown.prior_delivered_pkts,
            rate: shown.rate.map(|(packets, interval)| (packets, interval.as_ns().max(1))),
            rate_is_app_limited: shown.is_app_limited,
            is_cwnd_limited: may_grow && self.is_window_limited(),
            mss_bytes: self.options.mss_bytes,
            una_bytes: self.una,
            next_bytes: self.next,
            phase: self.recovery.phase,
        };
        self.refresh_view(scope);
        self.control.on_ack(&mut self.window, &ack, scope.views, self.own);
        self.window.cwnd_pkts = self.window.cwnd_pkts.max(1);
    }

    /// Sets the timer for a probe, or otherwise for the timeout (tcp_set_xmit_timer).
    pub(super) fn set_retransmit_timer(&mut self, scope: &mut Scope<'_>) {
        if !self.schedule_probe(true, scope) {
            self.rearm_timeout(scope);
        }
    }

    /// Sets the timer to the timeout, counted from the transmission of the oldest segment if the timer was set for
    /// something else (tcp_rearm_rto).
    pub(super) fn rearm_timeout(&mut self, scope: &mut Scope<'_>) {
        let Some(head) = self.board.front() else {
            self.timers.stop(Timer::Retransmit);
            return;
        };
        let timeout = self.rtt.timeout();
        let is_other = matches!(self.timers.purpose, Purpose::Probe | Purpose::Reordering);
        let at =
            if is_other { (head.sent_at + timeout).max(scope.now + Time(1)) } else { scope.now + timeout };
        self.timers.purpose = Purpose::Timeout;
        self.timers.set(Timer::Retransmit, at, self.me, scope.io);
    }
}
