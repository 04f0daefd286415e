//! The conditions under which a sender may send: the congestion window and whether it is what limits the sender
//! (the subject of RFC 7661, as implemented in tcp_cwnd_validate), pacing, and the amount of data that it may have
//! in its own host's interface (TCP small queues).

use super::timers::Timer;
use super::{INITIAL_WINDOW, Scope, Tcp};
use crate::Time;
use crate::transport::stream::Pieces;
use crate::transport::window::SEGMENT_BYTES;
use nettrial_congestion::{Event, Phase};
use std::collections::VecDeque;

/// The largest number of bytes that a socket may have in its interface (net.ipv4.tcp_limit_output_bytes).
const INTERFACE_LIMIT_BYTES: u64 = 4 << 20;
/// The time in which the socket sends the bytes that it may have in its interface (sk_pacing_shift 10).
const INTERFACE_LIMIT: Time = Time::from_us(977);

/// The state of a sender at its host's interface.
#[derive(Debug, Default)]
#[repr(C)]
pub(super) struct Interface {
    /// The time at which it last sent data.
    pub(super) last_sent_at: Time,
    /// The time at which the next packet may leave at the pacing rate.
    paced_until: Time,
    queued_bytes: u64,
    /// The departure time of each of its packets, which is the beginning of its transmission, or [`Time::NEVER`] if the
    /// interface reports the departure only after it; and the bytes that each counts.
    departures: VecDeque<(Time, u32)>,
    /// The sequence number at which the current flight ends.
    pub(super) flight_end: u64,
    /// The time at which the window was last known to be fully used.
    pub(super) validated_at: Time,
    /// The largest number of segments in flight since then.
    used_pkts: u32,
    /// The largest number of segments that were in flight in the current flight.
    most_out_pkts: u32,
    /// True if the window limited the sender in the current flight.
    is_limited: bool,
    /// True if the interface reports packets after they departed.
    tells: bool,
    /// True if the sender waits for such a report (TSQF_THROTTLED).
    is_throttled: bool,
}

/// The readiness of a subflow to send a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Readiness {
    /// It can send at once.
    Now,
    /// Its congestion window is full.
    Window,
    /// It can send later: its timer is set to that time, because it is paced or has enough data in the interface;
    /// or it waits for an acknowledgment, to send more at once.
    Later,
    /// It can't send any more, or not before it is established.
    No,
}

impl Interface {
    /// Notes that a packet was sent that counts `bytes` until it departs at `leaves_at`; if it goes with the one before
    /// it, both depart at that time.
    pub(super) fn on_sent(&mut self, leaves_at: Time, bytes: u32, goes_with_last: bool) {
        self.tells = leaves_at == Time::NEVER;
        self.queued_bytes += u64::from(bytes);
        match self.departures.back_mut().filter(|_| goes_with_last) {
            Some(last) => *last = (leaves_at, last.1 + bytes),
            None => self.departures.push_back((leaves_at, bytes)),
        }
    }

    /// Returns the departure time of the last segment, which is in the future if the segment is paced
    /// (tcp_wstamp_ns).
    pub(super) fn last_departure(&self) -> Time {
        self.last_sent_at.max(self.paced_until)
    }

    /// Returns the departure time of the oldest packet.
    pub(super) fn oldest_departure(&self) -> Option<Time> {
        self.departures.front().map(|departure| departure.0)
    }

    /// Notes that the interface reported the departure of the oldest packet. Returns whether the sender waited for
    /// it.
    fn on_left(&mut self) -> bool {
        if let Some((_, bytes)) = self.departures.pop_front() {
            self.queued_bytes -= u64::from(bytes);
        }
        std::mem::take(&mut self.is_throttled)
    }

    /// Removes the packets that departed by now.
    fn forget_departed(&mut self, now: Time) {
        while let Some(&(_, bytes)) = self.departures.front().filter(|(at, _)| *at <= now) {
            self.departures.pop_front();
            self.queued_bytes -= u64::from(bytes);
        }
    }

    /// Returns the time at which at most `bytes` bytes are left in the interface.
    fn drained_to(&self, bytes: u64) -> Option<Time> {
        let mut left = self.queued_bytes;
        let mut departures = self.departures.iter();
        departures.find_map(|&(at, size)| {
            left -= u64::from(size);
            (left <= bytes).then_some(at)
        })
    }

    /// Counts a packet, or a burst, for pacing (tcp_update_skb_after_send).
    fn pace(&mut self, bytes: u32, rate_bps: f64, now: Time) {
        let length = (f64::from(bytes) * 8e12 / rate_bps.max(1.0)) as u64;
        let credit = now.since(self.paced_until).0.min(length / 2);
        self.paced_until = self.paced_until.max(now) + Time(length - credit);
    }
}

impl Tcp {
    /// Returns whether the subflow can send a new segment. Sets its timer if it only has to wait.
    pub(crate) fn readiness(&mut self, scope: &mut Scope<'_>) -> Readiness {
        if !self.is_established() || self.fin_end.is_some() {
            return Readiness::No;
        }
        if self.board.in_flight() >= self.window.cwnd_pkts {
            return Readiness::Window;
        }
        self.plan_burst(scope);
        match self.blocked_until(scope.now, self.bursts.planned_pkts) {
            None => self.defers(scope).unwrap_or(Readiness::Now),
            Some(at) => {
                self.timers.set(Timer::Send, at, self.me, scope.io);
                Readiness::Later
            }
        }
    }

    /// Handles the report that a segment departed from the interface. Returns whether more can be sent because of
    /// it (tcp_wfree, tcp_tsq_write).
    pub(crate) fn on_left(&mut self, scope: &mut Scope<'_>) -> bool {
        let was_throttled = self.interface.on_left();
        if was_throttled {
            self.resend_lost(scope);
            self.share_view(scope);
        }
        was_throttled
    }

    /// Returns whether the end of a write, which is less than a segment, waits for another write or for the departure of
    /// a packet from the interface (tcp_should_autocork). What leaves in bursts does not wait.
    pub(crate) fn corks(&mut self, scope: &mut Scope<'_>) -> bool {
        let unsent = self.last_unsent_bytes(scope);
        let is_whole = unsent >= u64::from(self.segment_bytes());
        if self.options.cutter.is_some() || is_whole || self.board.is_empty() {
            return false;
        }
        self.interface.forget_departed(scope.now);
        let Some(at) = self.interface.oldest_departure() else { return false };
        if self.interface.queued_bytes <= unsent + u64::from(SEGMENT_BYTES) {
            return false;
        }
        if self.interface.tells {
            self.interface.is_throttled = true;
        } else {
            self.timers.set(Timer::Send, at, self.me, scope.io);
        }
        true
    }

    /// Counts sent bytes for pacing, if the congestion control paces.
    pub(super) fn pace(&mut self, payload_bytes: u32, now: Time) {
        if let Some(rate) = self.control.pacing_rate_bps() {
            self.interface.pace(payload_bytes, rate, now);
        }
    }

    /// Returns the time until which pacing or the packets in the interface keep the subflow from sending `pkts`
    /// segments as one piece (tcp_small_queue_check); `None` if it may send now.
    pub(super) fn blocked_until(&mut self, now: Time, pkts: u32) -> Option<Time> {
        if self.interface.paced_until > now && self.control.pacing_rate_bps().is_some() {
            return Some(self.interface.paced_until);
        }
        self.interface.forget_departed(now);
        if !self.options.has_small_queues {
            return None;
        }
        let mss = self.options.mss_bytes;
        let segment = self.queued_bytes(mss, self.options.packet_bytes(mss, 0), self.interface.tells);
        let piece = u64::from(segment) * u64::from(pkts);
        if self.interface.queued_bytes <= 2 * piece || self.board.len() <= self.bursts.last_pkts {
            return None;
        }
        let limit = self.interface_limit_bytes().max(2 * piece);
        if self.interface.queued_bytes <= limit {
            return None;
        }
        if self.interface.tells {
            self.interface.is_throttled = true;
            return Some(Time::NEVER);
        }
        // Each segment that departs lets the sender go on (tcp_wfree); bursts are reported in batches of half of the
        // limit.
        self.interface.drained_to(if self.options.cutter.is_none() { limit } else { (limit / 2).max(piece) })
    }

    /// Returns the bytes that a segment counts while it is queued at the interface, which tells when it departs or not.
    /// Linux counts memory (sk_wmem_alloc). That of a burst, which passes the host of a cable as one, is little more
    /// than its bytes.
    pub(super) fn queued_bytes(&self, payload_bytes: u32, ip_bytes: u32, tells: bool) -> u32 {
        let is_single = tells || self.options.cutter.is_none();
        if is_single { payload_bytes + SEGMENT_BYTES } else { ip_bytes }
    }

    /// Returns the pieces in which its send buffer holds data. What leaves in bursts, and what MPTCP holds for all subflows,
    /// takes little memory beyond its payload, which does not count here.
    pub(crate) fn pieces(&self) -> Pieces {
        if self.options.is_mptcp || self.options.cutter.is_some() {
            return Pieces::default();
        }
        Pieces { most_bytes: self.options.mss_bytes.into(), overhead_bytes: SEGMENT_BYTES.into() }
    }

    /// Returns the bytes of about one millisecond at the rate that Linux computes for every socket
    /// (tcp_update_pacing_rate).
    pub(super) fn interface_limit_bytes(&self) -> u64 {
        if let Some(rate) = self.control.pacing_rate_bps() {
            return (rate / 8.0 / 1024.0) as u64;
        }
        if self.rtt.smoothed == Time::ZERO {
            return INTERFACE_LIMIT_BYTES;
        }
        let percent = if self.window.cwnd_pkts < self.window.ssthresh_pkts / 2 { 200 } else { 120 };
        let packets = self.window.cwnd_pkts.max(self.board.len());
        let bytes = u128::from(packets) * u128::from(self.options.mss_bytes) * percent / 100;
        let bytes = bytes * u128::from(INTERFACE_LIMIT.0) / u128::from(self.rtt.smoothed.0);
        (bytes as u64).min(INTERFACE_LIMIT_BYTES)
    }

    /// Ends a round of sending, and records whether the window limited it (tcp_cwnd_validate).
    pub(crate) fn validate_window(&mut self, sent_pkts: u32, is_full: bool, scope: &mut Scope<'_>) {
        if self.recovery.is_reducing() {
            self.recovery.sent_pkts += sent_pkts;
        }
        if sent_pkts > 0 {
            self.schedule_probe(false, scope);
        }
        let is_limited = is_full || self.board.in_flight() >= self.window.cwnd_pkts;
        if sent_pkts == 0 && !is_limited {
            return;
        }
        let out = self.board.len();
        let interface = &mut self.interface;
        let is_more = !interface.is_limited && out > interface.most_out_pkts;
        if self.una >= interface.flight_end || is_limited || is_more {
            interface.is_limited = is_limited;
            interface.most_out_pkts = out;
            interface.flight_end = self.next;
        }
        if self.is_window_limited() {
            self.interface.used_pkts = 0;
            self.interface.validated_at = scope.now;
        } else {
            self.interface.used_pkts = self.interface.used_pkts.max(out);
            let is_long = scope.now.since(self.interface.validated_at) >= self.rtt.timeout();
            if is_long && !self.control.drives() {
                self.shrink_unused_window(scope);
            }
        }
    }

    /// Returns whether the window limits the sender, and not the application (tcp_is_cwnd_limited).
    pub(super) fn is_window_limited(&self) -> bool {
        let in_slow_start = self.window.in_slow_start();
        let is_half_used = self.window.cwnd_pkts < self.interface.most_out_pkts.saturating_mul(2);
        self.interface.is_limited || (in_slow_start && is_half_used)
    }

    /// Moves a window that was not fully used for the time of a timeout half-way to its used part (RFC 2861,
    /// tcp_cwnd_application_limited).
    fn shrink_unused_window(&mut self, scope: &mut Scope<'_>) {
        if self.recovery.phase == Phase::Open && !scope.stream.is_full() {
            let used = self.interface.used_pkts.max(INITIAL_WINDOW);
            if used < self.window.cwnd_pkts {
                self.window.ssthresh_pkts = self.current_ssthresh();
                self.window.cwnd_pkts = self.window.cwnd_pkts.midpoint(used);
            }
            self.interface.used_pkts = 0;
        }
        self.interface.validated_at = scope.now;
    }

    /// Restarts slow start after an idle period (RFC 5681 section 4.1; tcp_slow_start_after_idle_check).
    pub(crate) fn restart_if_idle(&mut self, scope: &mut Scope<'_>) {
        let timeout = self.rtt.timeout();
        let mut idle = scope.now.since(self.interface.last_sent_at);
        let is_idle = self.board.is_empty() && self.is_established() && self.next > 1 && idle > timeout;
        if !is_idle || self.control.drives() {
            return;
        }
        self.control.on_event(Event::IdleReset, &mut self.window, scope.now.as_ns());
        self.window.ssthresh_pkts = self.current_ssthresh();
        let least = self.window.cwnd_pkts.min(INITIAL_WINDOW);
        while idle > timeout && self.window.cwnd_pkts > least {
            idle = idle - timeout;
            self.window.cwnd_pkts /= 2;
        }
        self.window.cwnd_pkts = self.window.cwnd_pkts.max(least);
        self.interface.validated_at = scope.now;
        self.interface.used_pkts = 0;
    }

    /// Handles a write of the application: if all data written before was sent and the window is not full, the
    /// application limits the rate (tcp_rate_check_app_limited).
    pub(crate) fn check_app_limited(&mut self, now: Time) {
        self.interface.forget_departed(now);
        let in_flight = self.board.in_flight();
        let has_room = in_flight < self.window.cwnd_pkts && self.interface.queued_bytes == 0;
        if has_room && self.board.lost_pkts <= self.board.resent_pkts {
            self.rate.set_app_limited(in_flight);
        }
    }
}
