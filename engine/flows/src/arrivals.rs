//! Counts arrivals at the receiver, which may send the counts to the sender as a line of JSON.

use crate::sequence::{Arrival, Sequence};
use crate::statistics::{Durations, Jitter, Variation};
use nettrial_scenario::{Distribution, Histogram, PacketCounts};
use serde::{Deserialize, Serialize};

/// Gathers the arrivals of a flow's packets.
#[derive(Default)]
pub struct Arrivals {
    /// The lead of the receiver's clock over the sender's, if that is known.
    ahead_ns: Option<i64>,
    sequence: Sequence,
    bytes: u64,
    last_ns: u64,
    delay: Durations,
    variation: Variation,
    jitter: Jitter,
}

/// The fields that a packet carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    /// The packet's number in the flow, from 0.
    pub number: u64,
    /// The time of departure, by the sender's monotonic clock.
    pub departure_ns: u64,
    /// The bytes of the packet's payload.
    pub length: u32,
}

/// The receiver's figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Received {
    /// The bytes of the packets that arrived, each packet counted once.
    pub bytes: u64,
    /// The last arrival, by the receiver's monotonic clock; 0 without any.
    pub last_arrival_ns: u64,
    /// The smallest difference between an arrival and its departure, each by its own host's clock.
    pub smallest_transit_ns: Option<i64>,
    /// The packets received, lost, reordered and duplicated.
    pub packets: PacketCounts,
    /// The one-way delay, if the clocks' offset is known.
    pub owd_us: Option<Distribution>,
    /// All values of the one-way delay.
    pub owd_histogram: Option<Histogram>,
    /// The one-way delay above the smallest.
    pub delay_variation_us: Option<Distribution>,
    /// RFC 3550's jitter.
    pub jitter_rfc3550_us: Option<f64>,
    /// The mean of |D|, the difference between two successive transit times.
    pub delay_difference_mean_us: Option<f64>,
}

impl Arrivals {
    /// Creates the arrivals by a clock that is `ahead_ns` ahead of the departures' clock, if that is known.
    pub fn new(ahead_ns: Option<i64>) -> Self {
        Self { ahead_ns, ..Self::default() }
    }

    /// Notes the arrival of `packet`. A packet that arrives again is only counted.
    pub fn packet(&mut self, packet: Packet, arrival_ns: u64) {
        if self.sequence.arrived(packet.number) != Arrival::First {
            return;
        }
        let transit_ns = arrival_ns.wrapping_sub(packet.departure_ns).cast_signed();
        if let Some(ahead_ns) = self.ahead_ns {
            // The departure is read before the packet is handed over, so a delay below zero comes from the
            // rounding of the stamps or the error of the estimated offset.
            self.delay.record(u64::try_from(transit_ns.wrapping_sub(ahead_ns)).unwrap_or(0));
        }
        self.variation.record(transit_ns);
        self.jitter.record(transit_ns);
        self.bytes += u64::from(packet.length);
        self.last_ns = self.last_ns.max(arrival_ns);
    }

    /// Returns the number of different packets so far.
    pub fn received(&self) -> u64 {
        self.sequence.received()
    }

    /// Returns the figures, given the number of packets that the sender sent, and the number that its kernel
    /// refused.
    pub fn figures(&self, sent: u64, refused: u64) -> Received {
        Received {
            bytes: self.bytes,
            last_arrival_ns: self.last_ns,
            smallest_transit_ns: self.variation.smallest_ns(),
            packets: self.sequence.counts(sent, refused),
            owd_us: Some(self.delay.distribution_us()).filter(|summary| summary.count > 0),
            owd_histogram: self.delay.histogram(),
            delay_variation_us: self.variation.distribution_us(),
            jitter_rfc3550_us: self.jitter.rfc3550_us(),
            delay_difference_mean_us: self.jitter.difference_mean_us(),
        }
    }
}

impl Received {
    /// Returns the time from the first departure to the last departure or arrival, whichever is later, nanoseconds. If
    /// the clocks' offset is not known, the smallest delay is left out, because it can't be distinguished from the
    /// offset.
    pub fn active_ns(&self, first_departure_ns: u64, last_departure_ns: u64, ahead_ns: Option<i64>) -> u64 {
        let sending_ns = last_departure_ns.saturating_sub(first_departure_ns);
        let Some(smallest_ns) = self.smallest_transit_ns else { return sending_ns };
        let offset_ns = ahead_ns.unwrap_or(smallest_ns);
        let active = self.last_arrival_ns.wrapping_sub(first_departure_ns).cast_signed();
        u64::try_from(active.wrapping_sub(offset_ns)).unwrap_or(0).max(sending_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrivals(ahead_ns: Option<i64>, offset_ns: u64) -> Arrivals {
        let mut arrivals = Arrivals::new(ahead_ns);
        for (number, departure_ns, delay_ns) in
            [(0, 1000, 500), (2, 3000, 800), (1, 2000, 2000), (2, 3000, 2500)]
        {
            let packet = Packet { number, departure_ns, length: 100 };
            arrivals.packet(packet, (departure_ns + delay_ns).wrapping_add(offset_ns));
        }
        arrivals
    }

    #[test]
    fn what_arrives_again_counts_as_that_only() {
        let figures = arrivals(Some(0), 0).figures(5, 1);
        assert_eq!(figures.bytes, 300);
        assert_eq!(figures.owd_us.unwrap().count, 3);
        assert_eq!(figures.owd_us.unwrap().maximum, 2.0);
        let packets = figures.packets;
        assert_eq!((packets.sent_pkts, packets.received_pkts, packets.lost_pkts), (5, 3, 2));
        assert_eq!(
            (packets.reordered_pkts, packets.duplicated_pkts, packets.send_errors_pkts),
            (Some(1), Some(1), 1)
        );
        // D is 300 ns, then 1200 ns.
        assert_eq!(figures.delay_difference_mean_us, Some(0.75));
        assert_eq!(figures.active_ns(1000, 3000, Some(0)), 3000);
    }

    #[test]
    fn without_an_offset_there_is_variation_but_no_delay() {
        let (here, there) = (arrivals(Some(0), 0).figures(5, 0), arrivals(None, u64::MAX / 3).figures(5, 0));
        assert_eq!((&there.owd_us, &there.owd_histogram), (&None, &None));
        assert_eq!(there.delay_variation_us, here.delay_variation_us);
        assert_eq!(there.jitter_rfc3550_us, here.jitter_rfc3550_us);
        assert_eq!(there.active_ns(1000, 3000, None), 3000 - 500);
    }

    #[test]
    fn the_time_of_packets_includes_those_that_were_lost_at_the_end() {
        // A rate of the bytes sent would be too high over the time until the last arrival alone.
        assert_eq!(arrivals(Some(0), 0).figures(9, 0).active_ns(1000, 9000, Some(0)), 8000);
        assert_eq!(Arrivals::new(Some(0)).figures(3, 0).active_ns(1000, 5000, Some(0)), 4000);
    }

    #[test]
    fn an_offset_that_is_known_is_taken_off() {
        let (here, there) = (arrivals(Some(0), 0).figures(5, 0), arrivals(Some(7_000), 7_000).figures(5, 0));
        assert_eq!((there.owd_us, there.active_ns(1000, 3000, Some(7_000))), (here.owd_us, 3000));
    }

    #[test]
    fn of_nothing_there_are_no_figures() {
        let figures = Arrivals::new(Some(0)).figures(3, 0);
        assert_eq!(
            (figures.packets.lost_pkts, figures.owd_us, figures.active_ns(7, 7, Some(0))),
            (3, None, 0)
        );
        let line = serde_json::to_string(&figures).unwrap();
        assert_eq!(serde_json::from_str::<Received>(&line).unwrap(), figures);
    }
}
