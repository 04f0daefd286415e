//! The times at which a receiver acknowledges: immediately, at every second full segment, or later (RFC 1122
//! section 4.2.3.2, with Linux's quick acknowledgments at the beginning: __tcp_ack_snd_check,
//! tcp_send_delayed_ack). With SACK, the acknowledgments of out-of-order data after the first three are sent together
//! (tcp_comp_sack_delay_ns).

use super::timers::Timer;
use super::{Scope, Tcp};
use crate::{Flags, Packet, Time};

/// The number of immediate acknowledgments at the beginning of a connection (TCP_MAX_QUICKACKS).
const QUICK: u32 = 16;
/// The shortest and the longest delay of an acknowledgment (TCP_ATO_MIN, TCP_DELACK_MAX), and the longest one if
/// data arrives in full segments (HZ / 2, limited by TCP_DELACK_MAX).
const LEAST: Time = Time::from_ms(40);
const MOST: Time = Time::from_ms(200);
/// The number of acknowledgments of out-of-order data that are sent at once (TCP_FASTRETRANS_THRESH), and the most that
/// are held back (net.ipv4.tcp_comp_sack_nr).
const AT_ONCE: u32 = 3;
const HELD_BACK: u32 = 44;
/// The longest time for which they are held back (net.ipv4.tcp_comp_sack_delay_ns), its divisor of the round-trip time,
/// and the slack of its timer (net.ipv4.tcp_comp_sack_slack_ns).
const HOLDS: Time = Time::from_ms(1);
const HOLDS_DIVISOR: u64 = 20;
const SLACK: Time = Time::from_us(100);
/// Linux's first guess of the other side's segment size (TCP_MSS_DEFAULT).
const GUESSED_SEGMENT: u32 = 536;

/// The state of a receiver's acknowledgments.
#[derive(Debug)]
pub(super) struct Acks {
    /// True if something is to be acknowledged.
    is_due: bool,
    /// True if the acknowledgment can't wait.
    is_urgent: bool,
    /// True if a segment that was not full or that ends a write has arrived (ICSK_ACK_PUSHED).
    is_pushed: bool,
    /// The number of acknowledgments still to be sent immediately.
    quick: u32,
    /// True if data flows in both directions in response to each other (pingpong mode).
    is_interactive: bool,
    /// The time expected until the next data (icsk_ack.ato); zero before the first.
    gap: Time,
    last_data_at: Time,
    /// The observed segment size of the other side.
    segment_bytes: u32,
    /// The number of acknowledgments of out-of-order data held back since the last one was sent (compressed_ack), and
    /// of those sent at once (dup_ack_counter) while the next expected sequence number was `repeated` (compressed_ack_rcv_nxt).
    held_back: u32,
    at_once: u32,
    repeated: u64,
    /// The highest acknowledgment sent, and the time at which it left.
    pub(super) acked: u64,
    left_at: Time,
}

impl Acks {
    /// Creates the state before the first data.
    pub(super) fn new(mss_bytes: u32) -> Self {
        Self {
            is_due: false,
            is_urgent: false,
            is_pushed: false,
            quick: 0,
            is_interactive: false,
            gap: Time::ZERO,
            last_data_at: Time::ZERO,
            segment_bytes: mss_bytes.min(GUESSED_SEGMENT),
            held_back: 0,
            at_once: 0,
            repeated: 0,
            acked: 0,
            left_at: Time::NEVER,
        }
    }

    /// The highest acknowledgment sent.
    pub(super) fn acked(&self) -> u64 {
        self.acked
    }

    /// Begins with the sequence number after the other side's SYN.
    pub(super) fn begin(&mut self, next: u64) {
        self.acked = next;
    }

    /// Notes that data was sent: if it follows received data closely, the exchange is interactive
    /// (tcp_event_data_sent).
    pub(super) fn on_data_sent(&mut self, now: Time) {
        if self.gap > Time::ZERO && now.since(self.last_data_at) < self.gap {
            self.is_interactive = true;
        }
    }

    /// Notes that there is something to acknowledge.
    pub(super) fn schedule(&mut self) {
        self.is_due = true;
    }

    /// Returns whether acknowledgments of out-of-order data are held back.
    pub(super) fn has_held_back(&self) -> bool {
        self.held_back > 0
    }

    /// Notes that the window grew, upon which the acknowledgment is sent at once (tcp_grow_window).
    pub(super) fn on_grown(&mut self) {
        self.quick |= 1;
    }

    /// Returns whether an acknowledgment of out-of-order data is sent at once; otherwise it is counted as held back.
    fn is_at_once(&mut self, next: u64) -> bool {
        if self.held_back >= HELD_BACK {
            return true;
        }
        if self.repeated != next {
            (self.repeated, self.at_once) = (next, 0);
        }
        if self.at_once < AT_ONCE {
            self.at_once += 1;
            return true;
        }
        self.held_back += 1;
        false
    }

    /// Demands that the next acknowledgment be sent without delay.
    pub(super) fn demand(&mut self) {
        self.is_due = true;
        self.is_urgent = true;
    }

    /// Demands that up to that many acknowledgments from now on be sent without delay, given a window of that many
    /// bytes (tcp_enter_quickack_mode).
    pub(super) fn hasten(&mut self, most: u32, window_bytes: u64) {
        self.grant_quick(most, window_bytes);
        self.is_interactive = false;
        self.gap = LEAST;
    }

    fn grant_quick(&mut self, most: u32, window_bytes: u64) {
        let fitting = (window_bytes / u64::from(2 * self.segment_bytes)).max(1);
        let fitting = if fitting == 1 { 2 } else { fitting };
        self.quick = self.quick.max((fitting.min(u64::from(most))) as u32);
    }

    /// Handles data that arrived in order (tcp_event_data_recv).
    fn on_data(&mut self, bytes: u32, ends_write: bool, now: Time, timeout: Time, window_bytes: u64) {
        self.is_due = true;
        self.is_pushed |= ends_write || bytes < self.segment_bytes;
        self.segment_bytes = self.segment_bytes.max(bytes);
        let gap = now.since(self.last_data_at);
        if self.gap == Time::ZERO {
            self.grant_quick(QUICK, window_bytes);
            self.gap = LEAST;
        } else if gap <= Time(LEAST.0 / 2) {
            self.gap = Time(self.gap.0 / 2 + LEAST.0 / 2);
        } else if gap < self.gap {
            self.gap = Time(self.gap.0 / 2 + gap.0).min(timeout);
        } else if gap > timeout {
            self.grant_quick(QUICK, window_bytes);
        }
        self.last_data_at = now;
    }
}

impl Tcp {
    /// Notes data that arrived in order.
    pub(super) fn note_data(&mut self, packet: &Packet, scope: &mut Scope<'_>) {
        let ends_write = packet.flags.has(Flags::PSH);
        self.acks.on_data(
            packet.segment(),
            ends_write,
            scope.now,
            self.rtt.timeout(),
            scope.stream.window_bytes(),
        );
    }

    /// Acknowledges data immediately for a while, because it arrived twice, out of order, or marked.
    pub(super) fn hasten_acks(&mut self, most: Option<u32>, scope: &Scope<'_>) {
        self.acks.hasten(most.unwrap_or(QUICK), scope.stream.window_bytes());
    }

    /// Acknowledges now or sets the timer, if there is something to acknowledge.
    pub(super) fn acknowledge(&mut self, scope: &mut Scope<'_>) {
        if !self.acks.is_due {
            return;
        }
        let is_quick = self.acks.quick > 0 && !self.acks.is_interactive;
        // The application reads immediately, upon which a segment that was not full or that ends a write is
        // acknowledged, unless data waits for data before it (tcp_cleanup_rbuf).
        let is_read = self.acks.is_pushed && !self.acks.is_interactive && !self.receiver.has_gaps();
        if self.acks.is_urgent || is_quick {
            self.send_ack(scope);
        } else if is_read || self.has_second() {
            // The window does not advance further until the application has read what arrived at this instant
            // (__tcp_ack_snd_check, tcp_cleanup_rbuf), such as the rest of an A-MPDU.
            if self.acks.left_at == scope.now && !self.receiver.has_gaps() {
                self.timers.set(Timer::Compress, scope.now, self.me, scope.io);
            } else {
                self.send_ack(scope);
            }
        } else if !self.receiver.has_gaps() {
            self.delay_ack(scope);
        } else if !self.options.has_sack || self.acks.is_at_once(self.receiver.next()) {
            self.send_ack(scope);
        } else if self.timers.due(Timer::Compress).is_none() {
            let mut rtt = scope.stream.measured_round_trip(self.own);
            if self.rtt.smoothed > Time::ZERO {
                rtt = rtt.min(self.rtt.smoothed);
            }
            let at = scope.now + Time(rtt.0 / HOLDS_DIVISOR).min(HOLDS) + SLACK;
            self.timers.set(Timer::Compress, at, self.me, scope.io);
        }
    }

    /// Returns whether more than one full segment is not acknowledged.
    fn has_second(&self) -> bool {
        self.receiver.next() - self.acks.acked > u64::from(self.acks.segment_bytes)
    }

    /// Sends the acknowledgment for those held back (tcp_compressed_ack_kick), or for what the application has read.
    pub(super) fn on_compress_timer(&mut self, scope: &mut Scope<'_>) {
        if self.acks.held_back > 0 || self.acks.is_pushed || self.has_second() {
            self.send_ack(scope);
        }
    }

    fn delay_ack(&mut self, scope: &mut Scope<'_>) {
        let mut wait = self.acks.gap;
        if wait > LEAST {
            let rtt = self.rtt.smoothed;
            let most = if rtt > Time::ZERO { rtt.max(LEAST).min(MOST) } else { MOST };
            wait = wait.min(most);
        }
        let at = scope.now + wait;
        if let Some(due) = self.timers.due(Timer::Acknowledge) {
            if due <= scope.now + Time(wait.0 / 4) {
                self.send_ack(scope);
                return;
            }
            if due <= at {
                return;
            }
        }
        self.timers.set(Timer::Acknowledge, at, self.me, scope.io);
    }

    /// Handles the end of an acknowledgment's delay (tcp_delack_timer_handler).
    pub(super) fn on_acknowledge_timer(&mut self, scope: &mut Scope<'_>) {
        if !self.acks.is_due {
            return;
        }
        if self.acks.is_interactive {
            self.acks.is_interactive = false;
            self.acks.gap = LEAST;
        } else {
            self.acks.gap = Time(self.acks.gap.0 * 2).min(self.rtt.timeout());
        }
        self.send_ack(scope);
    }

    /// Notes that a packet leaves, because every packet acknowledges (tcp_event_ack_sent).
    pub(super) fn on_ack_leaves(&mut self, now: Time) {
        let acks = &mut self.acks;
        let was_due = std::mem::take(&mut acks.is_due);
        acks.held_back = 0;
        acks.acked = self.receiver.next();
        acks.left_at = now;
        acks.is_urgent = false;
        acks.is_pushed = false;
        if was_due && acks.quick > 0 {
            acks.quick -= 1;
            if acks.quick == 0 {
                acks.gap = LEAST;
            }
        }
        self.timers.stop(Timer::Acknowledge);
        self.timers.stop(Timer::Compress);
    }
}
