//! The processing of acknowledgments of segments, cumulative and selective (RFC 2018, RFC 2883).

use super::scoreboard::{EVER_RESENT, RESENT, SACKED, Segment};
use super::{Scope, Tcp};
use crate::{Packet, Time};

/// The information of an acknowledgment that the scoreboard does not keep.
#[derive(Debug, Default)]
pub(super) struct News {
    /// True if it advanced the first unacknowledged sequence number.
    pub(super) una_advanced: bool,
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
    /// The lowest sequence number that was delivered out of order.
    pub(super) reordered: Option<u64>,
    /// True if the retransmission timer must be set again.
    pub(super) sets_timer: bool,
    /// True if a retransmission was found to be lost.
    pub(super) resent_lost: bool,
}

impl News {
    /// Notes that the segment of that sequence number was delivered out of order.
    fn on_reordered(&mut self, sequence: u64) {
        self.reordered = Some(self.reordered.map_or(sequence, |lowest| lowest.min(sequence)));
    }
}

/// Extends a span of times, the first of which stays, to the time `at`.
fn extend(span: &mut Option<(Time, Time)>, at: Time) {
    *span = Some((span.map_or(at, |(first, _)| first), at));
}

impl Tcp {
    /// Processes the SACK blocks of an acknowledgment.
    pub(super) fn take_sack(&mut self, packet: &Packet, news: &mut News, scope: &mut Scope<'_>) {
        let mut blocks = packet.sack.as_slice();
        let Some(&first) = blocks.first() else { return };
        let is_within_second = blocks.get(1).is_some_and(|second| second.0 <= first.0 && first.1 <= second.1);
        if first.0 < packet.ack || is_within_second {
            self.take_duplicate(first, news);
            if first.0 < packet.ack {
                blocks = &blocks[1..];
            }
        }
        let now = scope.now;
        let Self { board, rack, rate, rtt, recovery, .. } = self;
        for &block in blocks {
            board.sack(block, |segment, highest| {
                rack.on_delivered(segment, now, rtt.minimum);
                rate.on_delivered(segment);
                rate.delivered_pkts += 1;
                news.has_sacked = true;
                news.delivered_bytes += u64::from(segment.payload_bytes());
                if !segment.has(EVER_RESENT | RESENT) {
                    if segment.sequence < highest {
                        news.on_reordered(segment.sequence);
                    }
                    news.original_delivered |= segment.end() <= recovery.high_sequence;
                    extend(&mut news.sacked_sent_at, segment.sent_at);
                }
            });
        }
        board.remember(blocks);
    }

    /// Processes a SACK block that reports a duplicate (RFC 2883).
    fn take_duplicate(&mut self, block: (u64, u64), news: &mut News) {
        self.recovery.duplicates += 1;
        // More duplicates than retransmissions: the network itself duplicates packets.
        if self.recovery.duplicates > self.counts.resent_pkts {
            return;
        }
        news.has_duplicate = true;
        news.is_probe_duplicate = self.recovery.probe_end.is_some_and(|end| block.1 == end);
        if !news.is_probe_duplicate {
            self.rack.on_duplicate();
        }
        let forgotten = block.1 <= self.una;
        let count = if forgotten {
            (block.1 - block.0).div_ceil(u64::from(self.options.mss_bytes)) as u32
        } else {
            self.board.on_duplicate(block)
        };
        self.recovery.on_duplicates(block.1, count);
    }

    /// Processes the cumulative acknowledgment.
    pub(super) fn take_cumulative(&mut self, packet: &Packet, news: &mut News, scope: &mut Scope<'_>) {
        let (una, ack) = (self.una, packet.ack);
        let highest_sacked = self.board.highest_sacked;
        let has_sacked = self.board.sacked_pkts > 0;
        while let Some(segment) = self.board.pop_acked(ack) {
            self.take_acked(&segment, packet.echo, news, scope.now);
            if has_sacked && !segment.has(SACKED | EVER_RESENT) && segment.sequence < highest_sacked {
                news.on_reordered(segment.sequence);
            }
        }
        self.una = self.una.max(ack);
        let fin = u64::from(self.fin_end.is_some_and(|end| una < end && end <= ack));
        self.counts.acked_bytes += self.una - una - fin;
        if !self.options.has_sack {
            self.take_acked_without_sack(news.acked_pkts);
        }
        if let Some(sequence) = news.reordered.filter(|&sequence| sequence < highest_sacked) {
            self.rack.on_reordering(highest_sacked - sequence, self.options.mss_bytes);
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
                if !segment.has(EVER_RESENT) || echo >= segment.sent_at {
                    self.rack.on_delivered(segment, now, self.rtt.minimum);
                }
            }
        }
        self.rate.on_delivered(segment);
    }

    /// Counts delivered segments without SACK. There, each duplicate acknowledgment stands for a segment that
    /// arrived: an acknowledgment fills one hole, and the rest of the segments that it acknowledges were counted
    /// before (tcp_remove_reno_sacks).
    fn take_acked_without_sack(&mut self, acked_pkts: u32) {
        if acked_pkts == 0 {
            return;
        }
        self.rate.delivered_pkts += u64::from(acked_pkts.saturating_sub(self.board.sacked_pkts).max(1));
        self.board.sacked_pkts = self.board.sacked_pkts.saturating_sub(acked_pkts - 1);
        self.limit_duplicates();
    }

    /// Counts a duplicate acknowledgment without SACK, which shows that one more segment arrived
    /// (tcp_add_reno_sack).
    pub(super) fn add_duplicate(&mut self) {
        self.board.sacked_pkts += 1;
        let before = self.board.sacked_pkts;
        self.limit_duplicates();
        self.rate.delivered_pkts += u64::from(self.board.sacked_pkts == before);
    }

    /// Limits the count of duplicate acknowledgments, because at least one segment is missing
    /// (tcp_limit_reno_sacked).
    fn limit_duplicates(&mut self) {
        let holes = self.board.lost_pkts.max(1).min(self.board.len());
        self.board.sacked_pkts = self.board.sacked_pkts.min(self.board.len() - holes);
    }
}
