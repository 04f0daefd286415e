//! The counters of interfaces, and samples of their queues.

use crate::{Length, Link, Network, Time};
use nettrial_flows::statistics::distribution;
use nettrial_routing::Interfaces;
use nettrial_scenario::{InterfaceRecord, InterfaceSample, Scenario};

/// The sampler of the queues of all links with a rate.
pub struct Queues {
    /// The time of the next sample.
    pub next: Time,
    interval: Time,
    /// The samples of each direction's queue.
    samples: Vec<Samples>,
}

/// The samples of the queue of one direction.
#[derive(Default)]
struct Samples {
    direction: u32,
    /// The link's rate in bits per second.
    rate_bps: u64,
    at_ns: Vec<u64>,
    packets: Vec<u32>,
    bytes: Vec<u32>,
    /// The bytes sent up to each sample.
    sent: Vec<u64>,
}

impl Samples {
    fn series(&self) -> Vec<InterfaceSample> {
        let mut before = (0, 0);
        let sample = |at: usize| {
            let now = (self.at_ns[at], self.sent[at]);
            let (from, already) = std::mem::replace(&mut before, now);
            let wire_bytes = now.1 - already;
            let allowed = self.rate_bps as f64 * (now.0 - from) as f64 / 8e9;
            InterfaceSample {
                at_ns: now.0,
                queue_pkts: self.packets[at],
                queue_bytes: self.bytes[at],
                wire_bytes,
                utilisation_percent: wire_bytes as f64 / allowed * 100.0,
            }
        };
        (0..self.at_ns.len()).map(sample).collect()
    }
}

impl Queues {
    /// Creates the sampler of `network`, which belongs to `scenario`; it takes no samples unless the scenario asks
    /// for them.
    pub fn new(scenario: &Scenario, network: &Network) -> Self {
        let directions = (0..).zip(&network.links);
        let samples = |(direction, link): (u32, &Link)| {
            Some(Samples { direction, rate_bps: link.rate_bps()?, ..Samples::default() })
        };
        let interval =
            scenario.measurement.queue_interval.map_or(Time::NEVER, |interval| Time::from_ns(interval.0));
        Self { next: interval, interval, samples: directions.filter_map(samples).collect() }
    }

    /// Takes a sample of all queues at `now`. The function returns the length of a direction's queue at that time,
    /// and the bytes that the direction has sent.
    pub fn sample(&mut self, now: Time, mut look: impl FnMut(u32) -> (Length, u64)) {
        for samples in &mut self.samples {
            let (length, sent) = look(samples.direction);
            samples.at_ns.push(now.as_ns());
            samples.sent.push(sent);
            samples.packets.push(length.packets);
            samples.bytes.push(u32::try_from(length.bytes).unwrap_or(u32::MAX));
        }
        self.next += self.interval;
    }

    /// Returns the records up to `now` of all interfaces of links with a rate and, if packets are counted by size,
    /// of all others.
    pub fn records(
        self,
        scenario: &Scenario,
        interfaces: &Interfaces<'_>,
        network: &mut Network,
        now: Time,
    ) -> Vec<InterfaceRecord> {
        let is_sampled = self.interval < Time::NEVER;
        let mut samples = self.samples.into_iter().peekable();
        let mut records = Vec::new();
        for (direction, interface) in (0..).zip(interfaces.all()) {
            let lengths = samples.next_if(|samples| samples.direction == direction);
            let is_on_air = network.link(direction).is_on_air();
            if is_on_air || (lengths.is_none() && !scenario.measurement.packet_sizes) {
                continue;
            }
            let link = network.link(direction);
            let counters = link.counters(now);
            let is_kept = scenario.measurement.queue_series;
            let series = lengths.as_ref().filter(|_| is_kept).map_or_else(Vec::new, Samples::series);
            let (packets, bytes) = lengths.map(|samples| (samples.packets, samples.bytes)).unzip();
            records.push(InterfaceRecord {
                node: interface.node.clone(),
                interface: interface.name.clone(),
                wire_bytes: counters.wire_bytes,
                frames_pkts: counters.frames_pkts,
                drops_pkts: counters.drops_pkts,
                burst_bytes: None,
                queue_pkts: packets.filter(|_| is_sampled).map(distribution),
                queue_bytes: bytes.filter(|_| is_sampled).map(distribution),
                series,
                packet_sizes: link.packet_sizes(now),
            });
        }
        records
    }
}
