//! The packets that a subflow sends: new data, retransmissions, FIN, acknowledgments.

use super::recovery::Resend;
use super::scoreboard::{FIN, PUSHED, Segment};
use super::timers::{Purpose, Timer};
use super::{Cutter, Scope, Tcp};
use crate::transport::stream::Chunk;
use crate::{Codepoint, Flags, Packet, SackBlocks, Time};
use nettrial_congestion::Event;

impl Tcp {
    /// Returns a packet without payload and options, as it would be sent now.
    pub(super) fn blank_packet(&self, flags: Flags, scope: &Scope<'_>) -> Packet {
        let has_timestamps = self.options.has_timestamps;
        Packet {
            path: self.path,
            segment_bytes: 0,
            ecn: Codepoint::NotCapable,
            flags,
            ip_bytes: 0,
            payload_bytes: 0,
            to: self.peer,
            sequence: if flags.has(Flags::SYN) { 0 } else { self.next },
            ack: self.receiver.next(),
            window_bytes: 0,
            timestamp: scope.now,
            echo: if has_timestamps { self.receiver.timestamp() } else { Time::NEVER },
            sack: SackBlocks::default(),
            data_sequence: 0,
            data_ack: if self.options.is_mptcp { scope.stream.received() } else { u64::MAX },
        }
    }

    /// Sends a packet and counts it. Returns its departure time, or `None` if the interface dropped it.
    pub(super) fn put(&mut self, packet: &Packet, scope: &mut Scope<'_>) -> Option<Time> {
        let is_cut = self.bursts.is_begun();
        let left = if is_cut { scope.io.send_cut(packet) } else { scope.io.send(packet) };
        if left.is_some() {
            self.counts.sent_pkts += 1;
            self.counts.sent_bytes += u64::from(packet.ip_bytes);
        }
        left
    }

    /// Sends an acknowledgment without data.
    pub(super) fn send_ack(&mut self, scope: &mut Scope<'_>) {
        let mut packet = self.blank_packet(Flags::ACK, scope);
        self.add_receiver_state(&mut packet, scope);
        self.on_ack_leaves(scope.now);
        self.put(&packet, scope);
    }

    /// Adds the receiver's part to a packet: SACK blocks, window and ECN echo.
    fn add_receiver_state(&mut self, packet: &mut Packet, scope: &mut Scope<'_>) {
        let sack_bytes = self.receiver.sack_option_bytes(&self.options);
        if sack_bytes > 0 {
            packet.sack = self.receiver.blocks(&self.options);
        }
        self.receiver.on_duplicate_reported();
        packet.ip_bytes = self.options.packet_bytes(packet.payload_bytes, sack_bytes);
        packet.window_bytes = scope.stream.advertise(self.me.subflow);
        if self.ecn.must_echo {
            packet.flags = packet.flags.with(Flags::ECE);
        }
        if self.ecn.is_on && self.ecn.is_exact {
            packet.ecn = Codepoint::Capable;
        }
    }

    /// Sends a segment of the scoreboard for the first time or again. Returns whether the host's interface
    /// accepted it.
    fn send_segment(&mut self, segment: &Segment, is_new: bool, scope: &mut Scope<'_>) -> bool {
        let mut flags = Flags::ACK;
        if segment.has(FIN) {
            flags = flags.with(Flags::FIN);
        }
        if segment.has(PUSHED) {
            flags = flags.with(Flags::PSH);
        }
        let payload_bytes = segment.payload_bytes();
        let tells_reduced = is_new && self.ecn.must_tell_reduced && payload_bytes > 0;
        if tells_reduced {
            flags = flags.with(Flags::CWR);
        }
        let mut packet = self.blank_packet(flags, scope);
        packet.sequence = segment.sequence;
        packet.data_sequence = segment.data_sequence;
        packet.payload_bytes = payload_bytes;
        packet.ecn = if is_new { self.codepoint() } else { Codepoint::NotCapable };
        self.add_receiver_state(&mut packet, scope);
        let Some(leaves_at) = self.put(&packet, scope) else {
            self.enter_reduction(scope);
            return false;
        };
        self.ecn.must_tell_reduced &= !tells_reduced;
        self.on_ack_leaves(scope.now);
        let goes_with_last = self.bursts.is_begun() && self.options.cutter == Some(Cutter::Interface);
        let bytes = self.queued_bytes(payload_bytes, packet.ip_bytes, leaves_at == Time::NEVER);
        self.interface.on_sent(leaves_at, bytes, goes_with_last);
        self.interface.last_sent_at = scope.now;
        if !self.bursts.on_sent(payload_bytes) {
            self.bursts.last_pkts = 1;
            self.pace(payload_bytes, scope.now);
        }
        true
    }

    /// Sends new data, with FIN if it is the last. Returns whether the host's interface accepted it; if not, only the
    /// congestion window has changed.
    pub(crate) fn send_new(&mut self, chunk: Chunk, scope: &mut Scope<'_>) -> bool {
        let Chunk { data_sequence, bytes, is_last: fin, is_pushed } = chunk;
        if self.board.is_empty() && bytes > 0 {
            self.control.on_event(Event::Restart, &mut self.window, scope.now.as_ns());
        }
        let segment = Segment {
            sequence: self.next,
            data_sequence,
            sent_at: scope.now,
            snapshot: self.rate.on_sent(scope.now, self.board.is_empty()),
            length: bytes + u32::from(fin),
            marks: if fin { FIN } else { 0 } | if is_pushed { PUSHED } else { 0 },
        };
        if !self.send_segment(&segment, true, scope) {
            return false;
        }
        if bytes > 0 {
            self.acks.on_data_sent(scope.now);
        }
        if fin {
            self.fin_end = Some(segment.end());
        }
        self.recovery.window_probes = 0;
        let is_first = self.board.is_empty();
        self.board.push(segment);
        self.next = segment.end();
        if is_first {
            self.rearm_timeout(scope);
        }
        true
    }

    /// Returns whether FIN was sent.
    pub(crate) fn has_sent_fin(&self) -> bool {
        self.fin_end.is_some()
    }

    /// Sends a tail loss probe of new data, which may exceed the window by one segment (RFC 8985 section 7.3).
    /// Returns whether it was sent.
    pub(super) fn send_one_beyond_window(&mut self, scope: &mut Scope<'_>) -> bool {
        let Some(chunk) = self.peek_new(scope) else { return false };
        if !self.send_new(chunk, scope) {
            return false;
        }
        self.take_new(chunk.bytes, scope);
        true
    }

    /// Retransmits a segment that was lost (tcp_retransmit_skb). Returns whether the host's interface accepted it.
    pub(super) fn send_again(&mut self, index: u64, scope: &mut Scope<'_>) -> bool {
        if !self.repeat(index, false, scope) {
            return false;
        }
        self.recovery.resent_at.get_or_insert(scope.now);
        self.recovery.undo_resent = self.recovery.undo_resent.max(0) + 1;
        true
    }

    /// Sends a segment once more, to repair its loss or as a tail loss probe. Returns whether the host's interface
    /// accepted it.
    pub(super) fn repeat(&mut self, index: u64, is_probe: bool, scope: &mut Scope<'_>) -> bool {
        self.forget_path_mtu_probe();
        self.divide_segment(index, scope);
        let Some(&segment) = self.board.get(index) else { return false };
        let is_sent = self.send_segment(&segment, false, scope);
        if is_sent {
            self.counts.resent_pkts += 1;
            let snapshot = self.rate.on_sent(scope.now, false);
            self.board.mark_resent(index, is_probe, scope.now, snapshot);
        }
        is_sent
    }

    /// Sends the segments that an acknowledgment requires.
    pub(super) fn resend(&mut self, what: Resend, scope: &mut Scope<'_>) {
        if what == Resend::New {
            if self.readiness(scope) != super::sender::Readiness::No && self.send_one_beyond_window(scope) {
                return;
            }
            self.recovery.is_checking_timeout = false;
        }
        if what != Resend::Nothing {
            self.resend_lost(scope);
        }
    }

    /// Retransmits lost segments as far as the window has room (tcp_xmit_retransmit_queue).
    pub(super) fn resend_lost(&mut self, scope: &mut Scope<'_>) {
        let first = self.board.first();
        let mut sent_first = false;
        while self.board.in_flight() < self.window.cwnd_pkts
            && let Some(index) = self.board.next_waiting()
        {
            if let Some(at) = self.blocked_until(scope.now, 1) {
                self.timers.set(Timer::Send, at, self.me, scope.io);
                break;
            }
            if !self.send_again(index, scope) {
                break;
            }
            if self.recovery.is_reducing() {
                self.recovery.sent_pkts += 1;
            }
            sent_first |= index == first && self.timers.purpose != Purpose::Reordering;
        }
        if sent_first {
            self.timers.purpose = Purpose::Timeout;
            self.timers.set(Timer::Retransmit, scope.now + self.rtt.timeout(), self.me, scope.io);
        }
    }
}
