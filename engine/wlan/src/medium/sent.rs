//! The frames that stations send, for captures.

use super::Medium;
use super::exchange::Step;
use crate::Category;
use crate::outbox::SentMpdu;
use crate::phy::US;

/// The rate of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SentRate {
    /// A rate of 802.11a in bits per second.
    Legacy(u64),
    /// The streams and the MCS of the channel's standard.
    Mcs(u32, u32),
}

/// The kind of a frame, and its content apart from addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SentBody {
    Beacon,
    Rts,
    /// A CTS, and the station for which it reserves the medium.
    Cts(usize),
    Ack,
    /// A compressed BlockAck: the bytes of its bitmap, the sequence number at which the bitmap begins, and the
    /// sequence numbers of the MPDUs that arrived.
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

/// A frame, or a PPDU of several frames, that a station has begun to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// The time at which it began, in picoseconds.
    pub at_ps: u64,
    /// The station that sends it.
    pub(crate) from: usize,
    /// Its receiver; the sender itself if it is for all stations.
    pub(crate) to: usize,
    /// The time for which it reserves the medium after its end, in microseconds.
    pub(crate) reserves_us: u16,
    /// Its rate.
    pub(crate) rate: SentRate,
    /// Its content.
    pub(crate) body: SentBody,
}

impl Medium {
    /// Keeps the frames that stations send from now on, for [`Medium::take_sent`]. The simulation is not affected.
    pub fn keep_sent(&mut self) {
        self.sent.get_or_insert_default();
    }

    /// Takes the frames that stations began to send since the last call, in order. Their packets still exist until
    /// the outcomes of [`Medium::advance`] are processed.
    pub fn take_sent(&mut self) -> Vec<Sent> {
        self.sent.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Keeps the frame of the exchange with that index, which has begun and takes `takes_ps`.
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
