//! Observes the interfaces of all links during the traffic, and creates their records.

use crate::error::Result;
use crate::namespace::Home;
use crate::network::{InterfaceCounters, Network};
use crate::packet_sizes::{PacketCounter, Sent};
use crate::processors::Placement;
use crate::queue::Length;
use crate::queue_length::{QueueSampler, Sampled};
use nettrial_flows::statistics::distribution;
use nettrial_scenario::{Absence, Distribution, InterfaceRecord, PacketSize, Scenario, chain, ethernet};
use std::collections::HashMap;

/// A running observation of interfaces.
pub struct Observation {
    before: Vec<InterfaceCounters>,
    counter: Option<Result<PacketCounter>>,
    sampler: QueueSampler,
    /// True if the measurement requests the lengths of queues.
    with_lengths: bool,
}

/// The observations of a trial.
pub struct Observed {
    /// The record of each interface.
    pub interfaces: Vec<InterfaceRecord>,
    /// The figures that could not be observed.
    pub absent: Vec<Absence>,
    /// The readings of each shaped interface's queue.
    pub sampled: Vec<Sampled>,
}

impl Observation {
    /// Starts the observations that the scenario's measurement requests.
    pub fn start(
        home: &Home,
        network: &mut Network,
        scenario: &Scenario,
        placement: Option<&Placement>,
    ) -> Result<Self> {
        let measurement = &scenario.measurement;
        let counter = measurement.packet_sizes.then(|| PacketCounter::start(home, network, placement));
        let interval = measurement.queue_interval.map(|interval| interval.as_std());
        let sampler = QueueSampler::start(home, network, interval, placement)?;
        Ok(Self { before: network.counters(scenario)?, counter, sampler, with_lengths: interval.is_some() })
    }

    /// Ends the observation, and returns its results.
    pub fn finish(self, network: &mut Network, scenario: &Scenario) -> Result<Observed> {
        let sampled = self.sampler.finish()?;
        let after = network.counters(scenario)?;
        let mut absent = Vec::new();
        let mut note = |object: String, reason: String| {
            absent.push(Absence { metric: "packet_sizes".into(), object, reason });
        };
        let sent = match self.counter.map(|counter| counter.and_then(PacketCounter::finish)) {
            Some(Ok(sent)) => sent,
            Some(Err(error)) => {
                note("every interface".into(), chain(&error));
                Vec::new()
            }
            None => Vec::new(),
        };
        let key = |sampled: &Sampled| (sampled.node.clone(), sampled.shaped.interface.clone());
        let with_lengths = sampled.iter().filter(|_| self.with_lengths);
        let lengths: Lengths = with_lengths.map(|sampled| (key(sampled), sampled)).collect();
        let counted = InterfaceCounters::difference(&self.before, after);
        let mut interfaces: Vec<InterfaceRecord> =
            counted.into_iter().map(|counted| shaped(counted, &lengths)).collect();
        let key = |record: &InterfaceRecord| (record.node.clone(), record.interface.clone());
        let places: HashMap<(String, String), usize> = interfaces.iter().map(key).zip(0..).collect();
        for Sent { node, interface, sizes } in sent {
            let sizes = match sizes {
                Ok(sizes) => sizes,
                Err(reason) => {
                    note(format!("{interface} of {node}"), reason);
                    continue;
                }
            };
            match places.get(&(node.clone(), interface.clone())) {
                Some(&place) => interfaces[place].packet_sizes = Some(sizes),
                None => interfaces.push(unshaped(node, interface, sizes)),
            }
        }
        Ok(Observed { interfaces, absent, sampled })
    }
}

/// The readings of each interface whose queue lengths are requested, by node and interface.
type Lengths<'a> = HashMap<(String, String), &'a Sampled>;

fn shaped(counted: InterfaceCounters, lengths: &Lengths) -> InterfaceRecord {
    let sampled = lengths.get(&(counted.node.clone(), counted.interface.clone()));
    let of = |value: fn(&Length) -> u32| -> Option<Distribution> {
        Some(distribution(sampled?.lengths.iter().map(value).collect()))
    };
    InterfaceRecord {
        wire_bytes: counted.counters.wire_bytes,
        frames_pkts: counted.counters.packets,
        drops_pkts: counted.counters.drops,
        burst_bytes: Some(counted.burst_bytes),
        queue_pkts: of(|length| length.packets),
        queue_bytes: of(|length| length.bytes),
        series: Vec::new(),
        packet_sizes: None,
        node: counted.node,
        interface: counted.interface,
    }
}

/// Returns the record of an interface without its own queue, from the packets that it sent.
fn unshaped(node: String, interface: String, sizes: Vec<PacketSize>) -> InterfaceRecord {
    let occupied = |size: &PacketSize| ethernet::wire_bytes(size.size_bytes.into());
    InterfaceRecord {
        node,
        interface,
        wire_bytes: sizes.iter().map(|size| size.packets * occupied(size)).sum(),
        frames_pkts: sizes.iter().map(|size| size.packets).sum(),
        drops_pkts: 0,
        burst_bytes: None,
        queue_pkts: None,
        queue_bytes: None,
        series: Vec::new(),
        packet_sizes: Some(sizes),
    }
}
