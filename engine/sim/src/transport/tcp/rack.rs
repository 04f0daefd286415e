//! Loss detection by time: RACK (RFC 8985; net/ipv4/tcp_recovery.c).

use super::scoreboard::{EVER_RESENT, Segment};
use super::timers::{Purpose, Timer};
use super::{Scope, Tcp};
use crate::Time;
use nettrial_congestion::Phase;

/// The number of duplicates that indicate a loss if no reordering was seen (net.ipv4.tcp_reordering).
const DUPLICATES: u32 = 3;
/// The largest reordering taken into account (net.ipv4.tcp_max_reordering).
const MAXIMUM_REORDERING: u32 = 300;
/// The number of recoveries for which a widened reordering window lasts (TCP_RACK_RECOVERY_THRESH).
const RECOVERIES: u8 = 16;
/// The shortest time of such timers (TCP_TIMEOUT_MIN, two ticks of a millisecond).
pub(super) const TIMER_SLACK: Time = Time::from_ms(2);

/// The state of RACK.
#[derive(Debug)]
pub(super) struct Rack {
    /// The time at which the newest delivered segment was sent, and its end.
    sent_at: Time,
    end: u64,
    rtt: Time,
    has_advanced: bool,
    /// True if reordering was seen.
    pub(super) has_reordering: bool,
    /// The reordering extent in segments.
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
    /// Notes that a segment was delivered (tcp_rack_advance); `segment` is its previous state.
    pub(super) fn on_delivered(&mut self, segment: &Segment, now: Time, min_rtt: Time) {
        let rtt = now.since(segment.sent_at);
        // Then it was the first transmission that arrived.
        if segment.has(EVER_RESENT) && rtt < min_rtt {
            return;
        }
        self.has_advanced = true;
        self.rtt = rtt;
        if (segment.sent_at, segment.end()) > (self.sent_at, self.end) {
            (self.sent_at, self.end) = (segment.sent_at, segment.end());
        }
    }

    /// Notes that a duplicate was reported, so that a retransmission was spurious. Without any reordering, its
    /// cause is another one.
    pub(super) fn on_duplicate(&mut self) {
        self.has_duplicate |= self.has_reordering;
    }

    /// Notes that there were more duplicate acknowledgments than segments that can have caused them, of which
    /// `pkts` were outstanding (tcp_check_reno_reordering).
    pub(super) fn on_excess_duplicates(&mut self, pkts: u32) {
        self.reordering_pkts = pkts.min(MAXIMUM_REORDERING);
        self.has_reordering = true;
    }

    /// Widens the reordering window once per round trip with duplicates (tcp_rack_update_reo_wnd).
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

    /// Notes the end of a recovery from a real loss.
    pub(super) fn on_recovered(&mut self) {
        self.recoveries_left = self.recoveries_left.saturating_sub(1);
    }

    /// Notes a timeout of in-order data after that many duplicates, by which the reordering was overestimated.
    pub(super) fn on_timeout(&mut self, was_open: bool, sacked_pkts: u32) {
        if was_open && sacked_pkts >= self.reordering_pkts {
            self.reordering_pkts = self.reordering_pkts.min(DUPLICATES);
        }
    }

    /// Notes that a segment was delivered `bytes` below the highest delivered one (tcp_check_sack_reordering).
    pub(super) fn on_reordering(&mut self, bytes: u64, mss_bytes: u32) {
        let extent = bytes.div_ceil(u64::from(mss_bytes)).min(u64::from(MAXIMUM_REORDERING)) as u32;
        self.reordering_pkts = self.reordering_pkts.max(extent);
        self.has_reordering = true;
    }
}

impl Tcp {
    /// Marks segments as lost that were sent long enough before a delivered one (tcp_rack_mark_lost). Returns
    /// whether it set the timer for the others.
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

    /// Marks segments that are lost by now; returns the time at which more may be, if any. Linux takes the longest
    /// wait of all segments sent before the newest delivered one; the wait of this one itself differs by at most
    /// the time between two segments.
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
        if (segment.sent_at, segment.end()) >= (self.rack.sent_at, self.rack.end) {
            Verdict::Unknown
        } else if now.since(segment.sent_at) >= deadline {
            Verdict::Lost
        } else {
            Verdict::Early
        }
    }

    /// Handles the end of the reordering window (tcp_rack_reo_timeout).
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

    /// Returns the tolerated lateness of a segment (tcp_rack_reo_wnd).
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

    /// Returns whether a segment was sent so long ago that RACK would consider it lost.
    pub(super) fn is_timed_out(&self, segment: &Segment, now: Time) -> bool {
        now.since(segment.sent_at) >= self.rack.rtt
    }
}

/// RACK's verdict on a segment that is not yet acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Lost,
    /// The segment was sent before a delivered one, but not long enough.
    Early,
    Unknown,
}
