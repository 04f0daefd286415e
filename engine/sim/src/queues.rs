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

    /// The records of all ends of links with a rate, until `now`.
    pub fn records(self, scenario: &Scenario, network: &mut Network, now: Time) -> Vec<EndRecord> {
        let is_sampled = self.interval < Time::NEVER;
        let record = |samples: Samples| {
            let link = &scenario.links[samples.direction as usize / 2];
            let end = &link.ends[samples.direction as usize % 2];
            let counters = network.link(samples.direction).counters(now);
            EndRecord {
                node: end.node.clone(),
                interface: end.interface.clone(),
                wire_bytes: counters.wire_bytes,
                frames_pkts: counters.frames_pkts,
                drops_pkts: counters.drops_pkts,
                queue_pkts: is_sampled.then(|| distribution(samples.packets)),
                queue_bytes: is_sampled.then(|| distribution(samples.bytes)),
                packet_sizes: None,
            }
        };
        self.samples.into_iter().map(record).collect()
    }
}
