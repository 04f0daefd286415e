//! The statements of an acknowledgment about segments, cumulatively and selectively (RFC 2018, RFC 2883).

use super::scoreboard::{EVER_RESENT, RESENT, SACKED, Segment};
use super::{Scope, Tcp};
use crate::{Packet, Time};

/// The news of an acknowledgment beside what the scoreboard keeps of it.
#[derive(Debug, Default)]
pub(super) struct News {
    /// It moved the first unacknowledged sequence number.
    pub(super) una_advanced: bool,
    /// It acknowledged segments cumulatively, so many.
    pub(super) acked_pkts: u32,
    /// It SACKed segments.
    pub(super) has_sacked: bool,
    /// It reported a duplicate.
    pub(super) has_duplicate: bool,
    /// True if the duplicate was of a tail loss probe.
    pub(super) is_probe_duplicate: bool,
    /// It echoes a mark.
    pub(super) has_mark: bool,
    /// It bears data, or opens the window.
    pub(super) is_no_duplicate: bool,
    /// It acknowledged a segment that had been retransmitted.
    pub(super) resent_acked: bool,
    /// It delivered a segment of before the recovery that was sent once.
    pub(super) original_delivered: bool,
    /// Bytes it delivered.
    pub(super) delivered_bytes: u64,
    /// Send times of the first and last segments delivered that were sent once: cumulatively, selectively.
    pub(super) acked_sent_at: Option<(Time, Time)>,
    pub(super) sacked_sent_at: Option<(Time, Time)>,
    /// The lowest sequence number that was delivered out of order.
    pub(super) reordered: Option<u64>,
    /// The retransmission timer is to be set anew.
    pub(super) sets_timer: bool,
    /// A retransmission was found lost.
    pub(super) resent_lost: bool,
}

impl News {
    fn on_reordered(&mut self, sequence: u64) {
        self.reordered = Some(self.reordered.map_or(sequence, |lowest| lowest.min(sequence)));
    }
}

fn extend(span: &mut Option<(Time, Time)>, at: Time) {
    *span = Some((span.map_or(at, |(first, _)| first), at));
}

impl Tcp {
    /// Takes in the SACK blocks.
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
                    news.original_delivered |= segment.end <= recovery.high_sequence;
                    extend(&mut news.sacked_sent_at, segment.sent_at);
                }
            });
        }
        board.remember(blocks);
    }

    fn take_duplicate(&mut self, block: (u64, u64), news: &mut News) {
        self.recovery.duplicates += 1;
        // More than was retransmitted: the network duplicates packets.
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

    /// Takes in the cumulative acknowledgment.
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

    fn take_acked(&mut self, segment: &Segment, echo: Time, news: &mut News, now: Time) {
        news.acked_pkts += 1;
        if segment.has(EVER_RESENT) {
            news.resent_acked = true;
        } else if !segment.has(SACKED) {
            extend(&mut news.acked_sent_at, segment.sent_at);
            news.original_delivered |= segment.end <= self.recovery.high_sequence;
        }
        if segment.has(SACKED) {
            self.board.sacked_pkts -= 1;
        } else {
            news.delivered_bytes += u64::from(segment.payload_bytes());
            if self.options.has_sack {
                self.rate.delivered_pkts += 1;
                // Not if its first transmission is what arrived (tcp_skb_spurious_retrans).
                if !segment.has(EVER_RESENT) || echo >= segment.sent_at {
                    self.rack.on_delivered(segment, now, self.rtt.minimum);
                }
            }
        }
        self.rate.on_delivered(segment);
    }

    /// Without SACK duplicate acknowledgments stand for segments that arrived: an acknowledgment fills one hole,
    /// and the rest of what it acknowledges was counted (tcp_remove_reno_sacks).
    fn take_acked_without_sack(&mut self, acked_pkts: u32) {
        if acked_pkts == 0 {
            return;
        }
        self.rate.delivered_pkts += u64::from(acked_pkts.saturating_sub(self.board.sacked_pkts).max(1));
        self.board.sacked_pkts = self.board.sacked_pkts.saturating_sub(acked_pkts - 1);
        self.limit_duplicates();
    }

    /// A duplicate acknowledgment without SACK: one more segment arrived (tcp_add_reno_sack).
    pub(super) fn add_duplicate(&mut self) {
        self.board.sacked_pkts += 1;
        let before = self.board.sacked_pkts;
        self.limit_duplicates();
        self.rate.delivered_pkts += u64::from(self.board.sacked_pkts == before);
    }

    /// At least one segment is missing (tcp_limit_reno_sacked).
    fn limit_duplicates(&mut self) {
        let holes = self.board.lost_pkts.max(1).min(self.board.len());
        self.board.sacked_pkts = self.board.sacked_pkts.min(self.board.len() - holes);
    }
}
