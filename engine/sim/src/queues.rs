//! What the ends of links did, and how long their queues were.

use crate::{Network, Time};
use nettrial_figures::statistics::distribution;
use nettrial_scenario::{EndRecord, Scenario};

/// Looks at the queues of all links with a rate.
pub struct Queues {
    /// When they are looked at next.
    pub next: Time,
    interval: Time,
    /// By direction: packets and bytes in the queue.
    samples: Vec<Samples>,
}

struct Samples {
    direction: u32,
    packets: Vec<u32>,
    bytes: Vec<u32>,
}

impl Queues {
    /// Those of `scenario`, not looked at if it does not ask for that.
    pub fn of(scenario: &Scenario) -> Self {
        let links = (0..).zip(&scenario.links).filter(|(_, link)| link.rate.is_some());
        let directions = links.flat_map(|(number, _)| [2 * number, 2 * number + 1]);
        let samples = |direction| Samples { direction, packets: Vec::new(), bytes: Vec::new() };
        let interval =
            scenario.measurement.queue_interval.map_or(Time::NEVER, |interval| Time::from_ns(interval.0));
        Self { next: interval, interval, samples: directions.map(samples).collect() }
    }

    /// Looks at them `now`.
    pub fn sample(&mut self, network: &mut Network, now: Time) {
        for samples in &mut self.samples {
            let length = network.link(samples.direction).queue(now);
            samples.packets.push(length.packets);
            samples.bytes.push(u32::try_from(length.bytes).unwrap_or(u32::MAX));
        }
        self.next += self.interval;
    }

    /// The records, until `now`, of all ends of links with a rate, and of the others where packets are counted
    /// by size.
    pub fn records(self, scenario: &Scenario, network: &mut Network, now: Time) -> Vec<EndRecord> {
        let is_sampled = self.interval < Time::NEVER;
        let mut samples = self.samples.into_iter().peekable();
        let mut records = Vec::new();
        for (direction, end) in (0..).zip(scenario.links.iter().flat_map(|link| &link.ends)) {
            let lengths = samples.next_if(|samples| samples.direction == direction);
            if lengths.is_none() && !scenario.measurement.packet_sizes {
                continue;
            }
            let link = network.link(direction);
            let counters = link.counters(now);
            let (packets, bytes) = lengths.map(|samples| (samples.packets, samples.bytes)).unzip();
            records.push(EndRecord {
                node: end.node.clone(),
                interface: end.interface.clone(),
                wire_bytes: counters.wire_bytes,
                frames_pkts: counters.frames_pkts,
                drops_pkts: counters.drops_pkts,
                queue_pkts: packets.filter(|_| is_sampled).map(distribution),
                queue_bytes: bytes.filter(|_| is_sampled).map(distribution),
                packet_sizes: link.packet_sizes(now),
            });
        }
        records
    }
}
