//! Delivery rate samples (net/ipv4/tcp_rate.c; draft-cheng-iccrg-delivery-rate-estimation).

use super::scoreboard::{SAMPLED, Segment, Snapshot};
use crate::Time;

/// A delivery rate: a number of segments and the time span in which they were delivered.
pub type Sample = (u32, Time);

/// The state from which a sender computes its delivery rate.
#[derive(Debug, Default)]
pub struct Rate {
    /// Segments delivered since the connection began, of which SYN is the first.
    pub delivered_pkts: u64,
    /// Segments among them whose acknowledgments echoed a mark.
    pub marked_pkts: u64,
    delivered_at: Time,
    first_sent_at: Time,
    /// The value of `delivered_pkts` up to which the application limits the rate; 0 if it does not.
    pub(super) app_limited_until: u64,
    /// The newest segment that the current acknowledgment delivers: the sender's state when it was sent, its send
    /// time, and its end.
    newest: Option<(Snapshot, Time, u64)>,
    /// The latest sample that counts, and whether the application limited it.
    pub(super) latest: Option<(Sample, bool)>,
}

/// The rate sample of an acknowledgment.
#[derive(Debug, Clone, Copy, Default)]
pub struct Shown {
    /// `delivered_pkts` when the newest delivered segment was sent.
    pub prior_delivered_pkts: u64,
    /// The delivery rate; `None` if the acknowledgment gave no usable sample.
    pub rate: Option<Sample>,
    /// True if the application limited the rate.
    pub is_app_limited: bool,
}

impl Rate {
    /// Notes that SYN was acknowledged, which counts as delivered (tcp_clean_rtx_queue, tcp_rcv_state_process).
    pub fn begin(&mut self, now: Time) {
        self.delivered_pkts = 1;
        self.on_sent(now, true);
    }

    /// Returns the state to keep with a segment that is sent now.
    pub fn on_sent(&mut self, now: Time, is_first_in_flight: bool) -> Snapshot {
        if is_first_in_flight {
            self.first_sent_at = now;
            self.delivered_at = now;
        }
        Snapshot {
            delivered_pkts: self.delivered_pkts,
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
            is_app_limited: self.app_limited_until > 0,
        }
    }

    /// Notes that the current acknowledgment delivers a segment.
    pub fn on_delivered(&mut self, segment: &Segment) {
        let is_newer = self.newest.is_none_or(|(_, at, end)| (segment.sent_at, segment.end()) > (at, end));
        if !segment.has(SAMPLED) && is_newer {
            self.newest = Some((segment.snapshot, segment.sent_at, segment.end()));
        }
    }

    /// Returns the segments delivered before the newest segment that the current acknowledgment delivers was sent;
    /// 0 if it delivers none.
    pub fn prior_delivered_pkts(&self) -> u64 {
        self.newest.map_or(0, |(snapshot, _, _)| snapshot.delivered_pkts)
    }

    /// Notes that the application has nothing more to send while `in_flight` segments are in flight.
    pub fn set_app_limited(&mut self, in_flight: u32) {
        self.app_limited_until = (self.delivered_pkts + u64::from(in_flight)).max(1);
    }

    /// Ends an acknowledgment that delivered `delivered` segments, and returns its sample. A sample over less than
    /// `min_rtt` has no rate.
    pub fn finish(&mut self, now: Time, delivered: u32, min_rtt: Time) -> Shown {
        if self.app_limited_until > 0 && self.delivered_pkts > self.app_limited_until {
            self.app_limited_until = 0;
        }
        if delivered > 0 {
            self.delivered_at = now;
        }
        let Some((snapshot, sent_at, _)) = self.newest.take() else { return Shown::default() };
        self.first_sent_at = sent_at;
        let interval = sent_at.since(snapshot.first_sent_at).max(now.since(snapshot.delivered_at));
        let packets = (self.delivered_pkts - snapshot.delivered_pkts) as u32;
        let rate = (interval >= min_rtt && interval > Time::ZERO).then_some((packets, interval));
        if let Some(rate) = rate {
            self.keep(rate, snapshot.is_app_limited);
        }
        Shown { prior_delivered_pkts: snapshot.delivered_pkts, rate, is_app_limited: snapshot.is_app_limited }
    }

    /// Keeps a sample as the latest one, unless the application limited it to less than the one before.
    fn keep(&mut self, rate: Sample, is_app_limited: bool) {
        let is_higher = |((packets, interval), _): (Sample, bool)| {
            u128::from(rate.0) * u128::from(interval.0) >= u128::from(packets) * u128::from(rate.1.0)
        };
        if !is_app_limited || self.latest.is_none_or(is_higher) {
            self.latest = Some((rate, is_app_limited));
        }
    }

    /// Returns the latest delivery rate in bits per second of payload (tcpi_delivery_rate); `None` before the first
    /// sample.
    pub fn latest_bps(&self, mss_bytes: u32) -> Option<u64> {
        self.latest.map(|((packets, interval), _)| {
            let bits = u128::from(packets) * u128::from(mss_bytes) * 8 * 1_000_000_000_000;
            (bits / u128::from(interval.0)) as u64
        })
    }
}
