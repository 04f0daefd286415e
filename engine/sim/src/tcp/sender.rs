//! The conditions under which a sender may send: the congestion window and whether it is what limits (RFC 7661's
//! concern, as tcp_cwnd_validate has it), pacing, and how much it may have in its host's own interface (TCP small
//! queues).

use super::timers::Timer;
use super::{INITIAL_WINDOW, Scope, Tcp};
use crate::Time;
use nettrial_congestion::{Event, Phase};
use std::collections::VecDeque;

/// The most a socket has in its interface (net.ipv4.tcp_limit_output_bytes).
const INTERFACE_LIMIT_BYTES: u64 = 4 << 20;
/// The time that what it has there lasts at its rate (sk_pacing_shift 10).
const INTERFACE_LIMIT: Time = Time::from_us(977);

/// The memory that a segment takes beside its payload (SKB_TRUESIZE of the small head that tcp_stream_alloc_skb asks for:
/// 320 bytes for headers, 256 and 320 for what the kernel notes of it).
const SEGMENT_BYTES: u32 = 896;

/// A sender at its host's interface.
#[derive(Debug, Default)]
pub(super) struct Interface {
    /// The time when each of its packets will have left, [`Time::NEVER`] if that is told once it has, and their bytes:
    /// of a packet that will be told of those of memory.
    departures: VecDeque<(Time, u32)>,
    queued_bytes: u64,
    /// True if the interface reports packets once they have left.
    tells: bool,
    /// True if it waits to be told of one (TSQF_THROTTLED).
    is_throttled: bool,
    /// The time when the next packet may leave by the pacing rate.
    paced_until: Time,
    /// The time when it last sent data.
    pub(super) last_sent_at: Time,
    /// True if the window limited in the current flight.
    is_limited: bool,
    /// The most segments that were out in the current flight.
    most_out_pkts: u32,
    pub(super) flight_end: u64,
    /// The time when the window was last known to be used, and how much was since.
    pub(super) validated_at: Time,
    used_pkts: u32,
}

/// The readiness of a subflow to send a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Readiness {
    /// At once.
    Now,
    /// The congestion window is full.
    Window,
    /// Its timer is set to when it can: it is paced, or has enough in the interface. Or it waits for an
    /// acknowledgment, to send more at once.
    Later,
    /// Never, or not before it is established.
    No,
}

impl Interface {
    /// A packet was sent that will have left at that time; if it goes with the one before it, both have only then. On a
    /// cable the packets of a burst go through the host as one, whose memory is little more than its bytes; at a radio
    /// channel each is by itself, and what Linux counts is the memory (sk_wmem_alloc).
    pub(super) fn on_sent(
        &mut self,
        leaves_at: Time,
        ip_bytes: u32,
        payload_bytes: u32,
        goes_with_last: bool,
    ) {
        self.tells = leaves_at == Time::NEVER;
        let bytes = if self.tells { payload_bytes + SEGMENT_BYTES } else { ip_bytes };
        self.queued_bytes += u64::from(bytes);
        match self.departures.back_mut().filter(|_| goes_with_last) {
            Some(last) => *last = (leaves_at, last.1 + bytes),
            None => self.departures.push_back((leaves_at, bytes)),
        }
    }

    /// Returns when the last segment was to leave, which is later than now where it is paced (tcp_wstamp_ns).
    pub(super) fn last_departure(&self) -> Time {
        self.last_sent_at.max(self.paced_until)
    }

    /// The oldest packet has left, which is told of; gives whether it waited for that.
    fn on_left(&mut self) -> bool {
        if let Some((_, bytes)) = self.departures.pop_front() {
            self.queued_bytes -= u64::from(bytes);
        }
        std::mem::take(&mut self.is_throttled)
    }

    fn forget_departed(&mut self, now: Time) {
        while let Some(&(_, bytes)) = self.departures.front().filter(|(at, _)| *at <= now) {
            self.departures.pop_front();
            self.queued_bytes -= u64::from(bytes);
        }
    }

    /// Returns when no more than so many bytes are left.
    fn drained_to(&self, bytes: u64) -> Option<Time> {
        let mut left = self.queued_bytes;
        let mut departures = self.departures.iter();
        departures.find_map(|&(at, size)| {
            left -= u64::from(size);
            (left <= bytes).then_some(at)
        })
    }

    /// Takes a packet, or a burst, into the pacing (tcp_update_skb_after_send).
    fn pace(&mut self, bytes: u32, rate_bps: f64, now: Time) {
        let length = (f64::from(bytes) * 8e12 / rate_bps.max(1.0)) as u64;
        let credit = now.since(self.paced_until).0.min(length / 2);
        self.paced_until = self.paced_until.max(now) + Time(length - credit);
    }
}

impl Tcp {
    /// Returns whether it can send a new segment; sets its timer where that is a matter of time.
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

    /// A segment has left the interface, which reports it only then; gives whether more can be sent for that
    /// (tcp_wfree, tcp_tsq_write).
    pub(crate) fn on_left(&mut self, scope: &mut Scope<'_>) -> bool {
        let was_throttled = self.interface.on_left();
        if was_throttled {
            self.resend_lost(scope);
            self.refresh_view(scope);
        }
        was_throttled
    }

    /// Takes what was sent into the pacing, if the control wants that.
    pub(super) fn pace(&mut self, payload_bytes: u32, now: Time) {
        if let Some(rate) = self.control.pacing_rate_bps() {
            self.interface.pace(payload_bytes, rate, now);
        }
    }

    /// Until when pacing or its packets in the interface keep it from sending so many segments as one piece
    /// (tcp_small_queue_check).
    pub(super) fn blocked_until(&mut self, now: Time, pkts: u32) -> Option<Time> {
        if self.interface.paced_until > now && self.control.pacing_rate_bps().is_some() {
            return Some(self.interface.paced_until);
        }
        self.interface.forget_departed(now);
        let mss = self.options.mss_bytes;
        let segment =
            if self.interface.tells { mss + SEGMENT_BYTES } else { self.options.packet_bytes(mss, 0) };
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
        // Interfaces report in batches what has left: half of what may be there.
        self.interface.drained_to((limit / 2).max(piece))
    }

    /// About a millisecond at the rate that Linux computes for every socket (tcp_update_pacing_rate).
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

    /// Ends a round of sending: remembers whether the window was what limited (tcp_cwnd_validate).
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

    /// Returns whether the window, not the application, limits (tcp_is_cwnd_limited).
    pub(super) fn is_window_limited(&self) -> bool {
        let in_slow_start = self.window.in_slow_start();
        let is_half_used = self.window.cwnd_pkts < self.interface.most_out_pkts.saturating_mul(2);
        self.interface.is_limited || (in_slow_start && is_half_used)
    }

    /// RFC 2861: a window that was not used for a timeout moves half-way to what was (tcp_cwnd_application_limited).
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

    /// Slow start after idling (RFC 5681 section 4.1; tcp_slow_start_after_idle_check).
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

    /// The application writes: if what was written before is all out and the window isn't full, the application is
    /// what limits (tcp_rate_check_app_limited).
    pub(crate) fn check_app_limited(&mut self, now: Time) {
        self.interface.forget_departed(now);
        let in_flight = self.board.in_flight();
        let has_room = in_flight < self.window.cwnd_pkts && self.interface.queued_bytes == 0;
        if has_room && self.board.lost_pkts <= self.board.resent_pkts {
            self.rate.set_app_limited(in_flight);
        }
    }
}
