//! Loss detection by time: RACK (RFC 8985; net/ipv4/tcp_recovery.c).

use super::scoreboard::{EVER_RESENT, Segment};
use super::timers::{Purpose, Timer};
use super::{Scope, Tcp};
use crate::Time;
use nettrial_congestion::Phase;

/// Duplicates that prove a loss where no reordering was seen (net.ipv4.tcp_reordering).
const DUPLICATES: u32 = 3;
/// The largest reordering taken into account (net.ipv4.tcp_max_reordering).
const MAXIMUM_REORDERING: u32 = 300;
/// Recoveries that a widened reordering window lasts (TCP_RACK_RECOVERY_THRESH).
const RECOVERIES: u8 = 16;
/// The least time of timers of this kind (TCP_TIMEOUT_MIN, two ticks of a millisecond).
pub(super) const TIMER_SLACK: Time = Time::from_ms(2);

/// RACK's state.
#[derive(Debug)]
pub(super) struct Rack {
    /// The time when the newest delivered segment was sent, and its end.
    sent_at: Time,
    end: u64,
    rtt: Time,
    has_advanced: bool,
    /// True if reordering was seen.
    pub(super) has_reordering: bool,
    /// The reordering extent, segments.
    pub(super) reordering_pkts: u32,
    steps: u8,
    recoveries_left: u8,
    has_duplicate: bool,
    adjusted_at_pkts: u64,
}

impl Default for Rack {
    fn default() -> Self {
        Self {
            sent_at: Time::ZERO,
            end: 0,
            rtt: Time::ZERO,
            has_advanced: false,
            has_reordering: false,
            reordering_pkts: DUPLICATES,
            steps: 1,
            recoveries_left: 0,
            has_duplicate: false,
            adjusted_at_pkts: 0,
        }
    }
}

impl Rack {
    /// A segment is delivered (tcp_rack_advance); `segment` as it was before.
    pub(super) fn on_delivered(&mut self, segment: &Segment, now: Time, min_rtt: Time) {
        let rtt = now.since(segment.sent_at);
        // Then it was the first transmission that arrived.
        if segment.has(EVER_RESENT) && rtt < min_rtt {
            return;
        }
        self.has_advanced = true;
        self.rtt = rtt;
        if (segment.sent_at, segment.end) > (self.sent_at, self.end) {
            (self.sent_at, self.end) = (segment.sent_at, segment.end);
        }
    }

    /// A duplicate was reported: a retransmission was for no loss.
    pub(super) fn on_duplicate(&mut self) {
        self.has_duplicate = true;
    }

    /// Widens the reordering window once a round trip with duplicates (tcp_rack_update_reo_wnd).
    pub(super) fn adjust(&mut self, prior_delivered_pkts: u64, delivered_pkts: u64) {
        if prior_delivered_pkts < self.adjusted_at_pkts {
            self.has_duplicate = false;
        }
        if self.has_duplicate {
            self.steps = self.steps.saturating_add(1);
            self.has_duplicate = false;
            self.adjusted_at_pkts = delivered_pkts;
            self.recoveries_left = RECOVERIES;
        } else if self.recoveries_left == 0 {
            self.steps = 1;
        }
    }

    /// A recovery is over that was for a loss.
    pub(super) fn on_recovered(&mut self) {
        self.recoveries_left = self.recoveries_left.saturating_sub(1);
    }

    /// A timeout of what was in order, after so many duplicates: the reordering was overestimated.
    pub(super) fn on_timeout(&mut self, was_open: bool, sacked_pkts: u32) {
        if was_open && sacked_pkts >= self.reordering_pkts {
            self.reordering_pkts = self.reordering_pkts.min(DUPLICATES);
        }
    }

    /// A segment was delivered `bytes` below the highest delivered one (tcp_check_sack_reordering).
    pub(super) fn on_reordering(&mut self, bytes: u64, mss_bytes: u32) {
        let extent = bytes.div_ceil(u64::from(mss_bytes)).min(u64::from(MAXIMUM_REORDERING)) as u32;
        self.reordering_pkts = self.reordering_pkts.max(extent);
        self.has_reordering = true;
    }
}

impl Tcp {
    /// Marks what was sent long enough before something that was delivered (tcp_rack_mark_lost). Gives whether
    /// it set the timer for the rest.
    pub(super) fn mark_lost_by_time(&mut self, scope: &mut Scope<'_>) -> bool {
        if !std::mem::take(&mut self.rack.has_advanced) {
            return false;
        }
        let Some(wait) = self.detect_losses(scope.now) else { return false };
        let wait = (wait + TIMER_SLACK).min(self.rtt.timeout());
        self.timers.purpose = Purpose::Reordering;
        self.timers.set(Timer::Retransmit, scope.now + wait, self.me, scope.io);
        true
    }

    /// Marks what is lost by now; gives when more may be, if so. Linux takes the longest wait of all segments
    /// sent before the newest delivered one; that of this one itself is as long within the time between two.
    fn detect_losses(&mut self, now: Time) -> Option<Time> {
        let deadline = self.rack.rtt + self.reordering_window();
        let mut must_wait = false;
        while let Some(index) = self.board.oldest_original() {
            match self.verdict(index, now, deadline) {
                Verdict::Lost => {
                    self.board.mark_lost(index);
                }
                verdict => {
                    must_wait |= verdict == Verdict::Early;
                    break;
                }
            }
        }
        while let Some(index) = self.board.oldest_resent() {
            match self.verdict(index, now, deadline) {
                Verdict::Lost => {
                    self.board.mark_lost(index);
                }
                verdict => {
                    must_wait |= verdict == Verdict::Early;
                    break;
                }
            }
        }
        must_wait.then(|| deadline.since(now.since(self.rack.sent_at)))
    }

    fn verdict(&self, index: u64, now: Time, deadline: Time) -> Verdict {
        let Some(segment) = self.board.get(index) else { return Verdict::Unknown };
        if (segment.sent_at, segment.end) >= (self.rack.sent_at, self.rack.end) {
            Verdict::Unknown
        } else if now.since(segment.sent_at) >= deadline {
            Verdict::Lost
        } else {
            Verdict::Early
        }
    }

    /// The reordering window is over (tcp_rack_reo_timeout).
    pub(super) fn on_reordering_timer(&mut self, scope: &mut Scope<'_>) {
        let before = self.board.in_flight();
        self.detect_losses(scope.now);
        if self.board.in_flight() != before {
            if self.recovery.phase != Phase::Recovery {
                self.enter_recovery(false, scope);
                if !self.control.drives() {
                    self.reduce_proportionally(1, 1, false);
                }
            }
            self.resend_lost(scope);
        }
        if self.timers.due(Timer::Retransmit).is_none() {
            self.timers.purpose = Purpose::Reordering;
            self.rearm_timeout(scope);
        }
    }

    /// Returns how much later than expected a segment may be (tcp_rack_reo_wnd).
    fn reordering_window(&self) -> Time {
        if !self.rack.has_reordering {
            let is_recovering = matches!(self.recovery.phase, Phase::Recovery | Phase::Loss);
            if is_recovering || self.board.sacked_pkts >= self.rack.reordering_pkts {
                return Time::ZERO;
            }
        }
        let minimum = if self.rtt.minimum == Time::NEVER { Time::ZERO } else { self.rtt.minimum };
        Time(minimum.0 / 4 * u64::from(self.rack.steps)).min(self.rtt.smoothed)
    }

    /// Returns whether a segment was sent so long ago that RACK would take it for lost.
    pub(super) fn is_timed_out(&self, segment: &Segment, now: Time) -> bool {
        now.since(segment.sent_at) >= self.rack.rtt
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Lost,
    /// Sent before something that was delivered, but not long enough.
    Early,
    Unknown,
}
