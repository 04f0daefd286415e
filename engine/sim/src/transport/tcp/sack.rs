//! The processing of acknowledgments of segments, cumulative and selective (RFC 2018, RFC 2883).

use super::scoreboard::{EVER_RESENT, RESENT, SACKED, Segment};
use super::{Scope, Tcp};
use crate::{Packet, Time};
use nettrial_congestion::Phase;

/// The information of an acknowledgment that the scoreboard does not keep.
#[derive(Debug, Default)]
pub(super) struct News {
    /// True if it advanced the first unacknowledged sequence number.
    pub(super) una_advanced: bool,
    /// The first sequence number that was not acknowledged before it.
    pub(super) prior_una: u64,
    /// The number of segments that it acknowledged cumulatively.
    pub(super) acked_pkts: u32,
    /// True if it SACKed segments that were not SACKed before.
    pub(super) has_sacked: bool,
    /// True if it reported a duplicate.
    pub(super) has_duplicate: bool,
    /// True if the duplicate was that of a tail loss probe.
    pub(super) is_probe_duplicate: bool,
    /// True if it echoes an ECN mark.
    pub(super) has_mark: bool,
    /// True if it carries data or opens the window, and is therefore no duplicate acknowledgment.
    pub(super) is_no_duplicate: bool,
    /// The sequence number after the highest segment that was SACKed before it, or the first unacknowledged one
    /// without such a segment (prior_fack).
    pub(super) prior_highest: u64,
    /// True if it acknowledged a segment that had been retransmitted.
    pub(super) resent_acked: bool,
    /// True if it delivered a segment that was sent before the recovery began and only once.
    pub(super) original_delivered: bool,
    /// The bytes that it delivered.
    pub(super) delivered_bytes: u64,
    /// The send times of the first and the last segment that it acknowledged cumulatively and that were sent only
    /// once.
    pub(super) acked_sent_at: Option<(Time, Time)>,
    /// The same for segments that it SACKed.
    pub(super) sacked_sent_at: Option<(Time, Time)>,
    /// True if the retransmission timer must be set again.
    pub(super) sets_timer: bool,
    /// True if a retransmission was found to be lost.
    pub(super) resent_lost: bool,
}

/// Returns the lower of two sequence numbers.
fn lowest(one: Option<u64>, other: u64) -> Option<u64> {
    Some(one.map_or(other, |one| one.min(other)))
}

/// Extends a span of times, the first of which stays, to the time `at`.
fn extend(span: &mut Option<(Time, Time)>, at: Time) {
    *span = Some((span.map_or(at, |(first, _)| first), at));
}

impl Tcp {
    /// Processes the SACK blocks of an acknowledgment (tcp_sacktag_write_queue).
    pub(super) fn take_sack(&mut self, packet: &Packet, news: &mut News, scope: &mut Scope<'_>) {
        let mut blocks = packet.sack;
        let blocks = blocks.as_mut_slice();
        let Some(&first) = blocks.first() else { return };
        let is_within_second = blocks.get(1).is_some_and(|second| second.0 <= first.0 && first.1 <= second.1);
        let mut reordered = None;
        let mut from = 0;
        if first.0 < packet.ack || is_within_second {
            reordered = self.take_duplicate(first, news);
            from = usize::from(first.0 < packet.ack);
        }
        let blocks = &mut blocks[from..];
        self.sack_blocks(blocks, &mut reordered, news, scope.now);
        self.board.remember(blocks);
        if self.recovery.phase != Phase::Loss || self.recovery.undo_una.is_some() {
            self.note_reordering(reordered);
        }
    }

    /// Marks the segments of SACK blocks. The blocks are taken in order of their sequence numbers: a block that was
    /// not reported before, because acknowledgments were lost, is no reordering, although a later one comes first
    /// in the packet. `reordered` becomes the lowest sequence number that was delivered out of order.
    fn sack_blocks(
        &mut self,
        blocks: &mut [(u64, u64)],
        reordered: &mut Option<u64>,
        news: &mut News,
        now: Time,
    ) {
        blocks.sort_unstable();
        let Self { board, rack, rate, rtt, recovery, .. } = self;
        for &block in &*blocks {
            board.sack(block, |segment, highest| {
                rack.on_delivered(segment, now, rtt.minimum);
                rate.on_delivered(segment);
                rate.delivered_pkts += 1;
                news.has_sacked = true;
                news.delivered_bytes += u64::from(segment.payload_bytes());
                if !segment.has(EVER_RESENT | RESENT) {
                    if segment.sequence < highest {
                        *reordered = lowest(*reordered, segment.sequence);
                    }
                    news.original_delivered |= segment.end() <= recovery.high_sequence;
                    extend(&mut news.sacked_sent_at, segment.sent_at);
                }
            });
        }
    }

    /// Processes a SACK block that reports a duplicate (RFC 2883; tcp_check_dsack, tcp_dsack_seen). Returns the
    /// sequence number of a segment that was retransmitted although it was only late, if there is one.
    fn take_duplicate(&mut self, block: (u64, u64), news: &mut News) -> Option<u64> {
        let bytes = block.1 - block.0;
        let mss_bytes = u64::from(self.options.mss_bytes);
        let segments = bytes.div_ceil(mss_bytes);
        self.recovery.duplicates += segments;
        news.is_probe_duplicate |=
            bytes <= mss_bytes && self.recovery.probe_end.is_some_and(|end| block.1 == end);
        // More duplicates than retransmissions: the network itself duplicates packets.
        if self.recovery.duplicates > self.counts.resent_pkts {
            return None;
        }
        news.has_duplicate = true;
        if !news.is_probe_duplicate {
            self.rack.on_duplicate();
        }
        // A retransmission that was not needed is delivered, too.
        self.rate.delivered_pkts += segments;
        let is_forgotten = block.1 <= self.una;
        let (count, late) =
            if is_forgotten { (segments as u32, None) } else { self.board.on_duplicate(block) };
        self.recovery.on_duplicates(block.1, count);
        late
    }

    /// Notes that the segment of that sequence number was delivered out of order (tcp_check_sack_reordering).
    pub(super) fn note_reordering(&mut self, sequence: Option<u64>) {
        let highest = self.highest_sacked();
        if let Some(sequence) = sequence.filter(|&sequence| sequence < highest) {
            self.rack.on_reordering(highest - sequence, self.options.mss_bytes);
        }
    }

    /// Returns the sequence number after the highest segment that is SACKed, or the first unacknowledged one if
    /// none is, or without SACK (tcp_highest_sack_seq).
    pub(super) fn highest_sacked(&self) -> u64 {
        let has_sacked = self.options.has_sack && self.board.sacked_pkts > 0;
        if has_sacked { self.board.highest_sacked } else { self.una }
    }

    /// Processes the cumulative acknowledgment (tcp_clean_rtx_queue).
    pub(super) fn take_cumulative(&mut self, packet: &Packet, news: &mut News, scope: &mut Scope<'_>) {
        let (una, ack) = (self.una, packet.ack);
        let mut filled = None;
        while let Some(segment) = self.board.pop_acked(ack) {
            self.take_acked(&segment, packet.echo, news, scope.now);
            if segment.payload_bytes() > 0 {
                scope.stream.release_piece();
            }
            if !segment.has(SACKED | EVER_RESENT) {
                filled = filled.or(Some(segment.sequence));
            }
        }
        self.una = self.una.max(ack);
        let fin = u64::from(self.fin_end.is_some_and(|end| una < end && end <= ack));
        self.counts.acked_bytes += self.una - una - fin;
        if self.options.has_sack {
            // A hole that was filled without a retransmission is reordering.
            self.note_reordering(filled.filter(|&sequence| sequence < news.prior_highest));
        } else {
            self.take_acked_without_sack(news);
        }
    }

    /// Processes a segment that was acknowledged cumulatively.
    fn take_acked(&mut self, segment: &Segment, echo: Time, news: &mut News, now: Time) {
        news.acked_pkts += 1;
        if segment.has(EVER_RESENT) {
            news.resent_acked = true;
        } else if !segment.has(SACKED) {
            extend(&mut news.acked_sent_at, segment.sent_at);
            news.original_delivered |= segment.end() <= self.recovery.high_sequence;
        }
        if segment.has(SACKED) {
            self.board.sacked_pkts -= 1;
        } else {
            news.delivered_bytes += u64::from(segment.payload_bytes());
            if self.options.has_sack {
                self.rate.delivered_pkts += 1;
                // A segment whose first transmission arrived after it was retransmitted does not count
                // (tcp_skb_spurious_retrans).
                if !segment.has(EVER_RESENT) || echo.as_timestamp() >= segment.sent_at.as_timestamp() {
                    self.rack.on_delivered(segment, now, self.rtt.minimum);
                }
            }
        }
        self.rate.on_delivered(segment);
    }

    /// Counts delivered segments without SACK. There, each duplicate acknowledgment stands for a segment that
    /// arrived: an acknowledgment fills one hole, and the rest of the segments that it acknowledges were counted
    /// before (tcp_remove_reno_sacks).
    fn take_acked_without_sack(&mut self, news: &mut News) {
        // The first transmission of a segment can't be told from its retransmission.
        news.original_delivered &= !news.resent_acked;
        let acked_pkts = news.acked_pkts;
        if acked_pkts == 0 {
            return;
        }
        self.rate.delivered_pkts += u64::from(acked_pkts.saturating_sub(self.board.sacked_pkts).max(1));
        self.board.sacked_pkts = self.board.sacked_pkts.saturating_sub(acked_pkts - 1);
        self.limit_duplicates(acked_pkts);
    }

    /// Counts a duplicate acknowledgment without SACK, which shows that one more segment arrived
    /// (tcp_add_reno_sack).
    pub(super) fn add_duplicate(&mut self) {
        self.board.sacked_pkts += 1;
        let before = self.board.sacked_pkts;
        self.limit_duplicates(0);
        self.rate.delivered_pkts += u64::from(self.board.sacked_pkts == before);
    }

    /// Limits the count of duplicate acknowledgments, because at least one segment is missing
    /// (tcp_limit_reno_sacked). More of them than segments that can have caused them are reordering: as many
    /// segments as are outstanding, and the `acked_pkts` just acknowledged (tcp_check_reno_reordering).
    fn limit_duplicates(&mut self, acked_pkts: u32) {
        let holes = self.board.lost_pkts.max(1).min(self.board.len());
        let most = self.board.len() - holes;
        if self.board.sacked_pkts > most {
            self.board.sacked_pkts = most;
            self.rack.on_excess_duplicates(self.board.len() + acked_pkts);
        }
    }
}
