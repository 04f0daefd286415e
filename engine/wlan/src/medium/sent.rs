//! The frames that stations send, for who captures them.

use super::Medium;
use super::exchange::Step;
use crate::Category;
use crate::outbox::SentMpdu;
use crate::phy::US;

/// The rate of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SentRate {
    /// One of 802.11a, bits per second.
    Legacy(u64),
    /// Streams and MCS of the channel's standard.
    Mcs(u32, u32),
}

/// The kind of a frame, and what it has beside its addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SentBody {
    Beacon,
    Rts,
    /// A CTS, to whom its reservation is for.
    Cts(usize),
    Ack,
    /// A compressed BlockAck: bytes of its bitmap, the sequence number at which that begins, and those of the MPDUs that
    /// have arrived.
    BlockAck {
        category: Category,
        bitmap_bytes: usize,
        starts: u16,
        arrived: Vec<u16>,
    },
    /// A PPDU with these MPDUs.
    Data {
        category: Category,
        mpdus: Vec<SentMpdu>,
    },
}

/// A frame, or a PPDU of several, that a station has begun to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// The time when it began, picoseconds.
    pub at_ps: u64,
    pub(crate) from: usize,
    /// Its receiver; the sender itself where it is for all.
    pub(crate) to: usize,
    /// The time for which it reserves the medium after its end, microseconds.
    pub(crate) reserves_us: u16,
    pub(crate) rate: SentRate,
    pub(crate) body: SentBody,
}

impl Medium {
    /// Keeps what stations send from now on, for [`Medium::take_sent`]. Nothing else changes.
    pub fn keep_sent(&mut self) {
        self.sent.get_or_insert_default();
    }

    /// Takes what stations have begun to send since the last call, in its order. The packets in it are still there as long
    /// as what [`Medium::advance`] gave was not looked at.
    pub fn take_sent(&mut self) -> Vec<Sent> {
        self.sent.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Notes the frame of the exchange at that place, which has begun and takes that long.
    pub(super) fn note_sent(&mut self, now_ps: u64, place: usize, takes_ps: u64) {
        let exchange = self.exchanges[place];
        let Some(sent) = &mut self.sent else { return };
        let timing = self.rates.get(exchange.rate);
        let from = exchange.sender();
        let mut of_contender = exchange.contender.map(|number| &mut self.contenders[number]);
        let category = of_contender.as_ref().map(|contender| contender.category).unwrap_or_default();
        let outbox = of_contender.as_mut().map(|contender| &mut contender.outboxes[exchange.outbox]);
        let body = match (exchange.step, outbox) {
            (Step::Beacon, _) => SentBody::Beacon,
            (Step::Rts, _) => SentBody::Rts,
            (Step::Cts, _) => SentBody::Cts(exchange.station),
            (Step::CtsToSelf, _) => SentBody::Cts(from),
            (Step::Data, Some(outbox)) => SentBody::Data { category, mpdus: outbox.in_air() },
            (Step::Response, Some(outbox)) if exchange.aggregate.mpdus > 1 => {
                let (starts, arrived) = outbox.scoreboard();
                SentBody::BlockAck { category, bitmap_bytes: timing.bitmap_bytes(), starts, arrived }
            }
            (Step::Response, _) => SentBody::Ack,
            _ => return,
        };
        let rate = match exchange.step {
            Step::Data if timing.phy.is_legacy() => SentRate::Legacy(timing.phy.rate_bps()),
            Step::Data => {
                let (streams, mcs) = self.rates.name(exchange.rate);
                SentRate::Mcs(streams, mcs)
            }
            Step::Beacon => SentRate::Legacy(6_000_000),
            _ => SentRate::Legacy(timing.control_bps),
        };
        let to = match exchange.step {
            Step::Beacon | Step::CtsToSelf => from,
            Step::Cts | Step::Response => exchange.station,
            _ => exchange.receiver,
        };
        let reserves_us = exchange.planned_ps.saturating_sub(now_ps + takes_ps).div_ceil(US);
        let reserves_us = u16::try_from(reserves_us).unwrap_or(u16::MAX).min(32_767);
        sent.push(Sent { at_ps: now_ps, from, to, reserves_us, rate, body });
    }
}
