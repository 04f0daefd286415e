//! The record of a channel, for every backend that uses the medium.

use crate::Medium;
use crate::counters::DelaySeries;
use nettrial_scenario::{ChannelRecord, DelaySample, Interface, RateSample, RateUse, StationRecord};

impl Medium {
    /// Returns the record of the events until `now_ps` between the stations at these interfaces, the access
    /// point's first.
    pub fn record(&self, interfaces: &[&Interface], now_ps: u64) -> ChannelRecord {
        let (idle_ps, collisions_ps) = self.unused_ps(now_ps);
        let station = |(number, interface): (usize, &&Interface)| {
            let counters = self.counters(number);
            let rate = |(place, ppdus): (usize, u64)| {
                let (streams, mcs) = self.rate(place);
                RateUse { streams, mcs, ppdus }
            };
            let sample = |(at_ps, rate_bps): (u64, u64)| RateSample { at_ns: at_ps / 1000, rate_bps };
            let delays = |(at_ps, [queue_delay_ns, contention_delay_ns]): (u64, [Option<u64>; 2])| {
                DelaySample { at_ns: at_ps / 1000, queue_delay_ns, contention_delay_ns }
            };
            StationRecord {
                node: interface.node.clone(),
                interface: interface.name.clone(),
                airtime: self.airtime(now_ps, number),
                collided_ps: counters.collided_ps,
                exchanges: counters.exchanges,
                beacons: counters.beacons,
                collisions: counters.collisions,
                mpdus_pkts: counters.mpdus_pkts,
                retries_pkts: counters.retries_pkts,
                lost_mpdus_pkts: counters.lost_mpdus_pkts,
                delivered_pkts: counters.delivered_pkts,
                queue_drops_pkts: counters.queue_drops_pkts,
                codel_drops_pkts: counters.codel_drops_pkts,
                codel_marks_pkts: counters.codel_marks_pkts,
                retry_drops_pkts: counters.retry_drops_pkts,
                queued_pkts: counters.queued_pkts,
                aggregates: counters.aggregates.clone(),
                rates: counters.rates.ppdus().map(rate).collect(),
                rate_series: counters.rates.over_time().map(sample).collect(),
                queue_delay_mean_ns: counters.queue_delay.mean_ns(),
                queue_delay_max_ns: counters.queue_delay.max_ns(),
                contention_delay_mean_ns: counters.contention_delay.mean_ns(),
                contention_delay_max_ns: counters.contention_delay.max_ns(),
                delay_series: counters.delays.iter().flat_map(DelaySeries::means).map(delays).collect(),
            }
        };
        ChannelRecord {
            access_point: interfaces.first().map(|interface| interface.node.clone()).unwrap_or_default(),
            elapsed_ps: now_ps,
            idle_ps,
            collisions_ps,
            stations: interfaces.iter().enumerate().map(station).collect(),
        }
    }
}
