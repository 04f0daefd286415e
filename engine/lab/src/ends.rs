//! What is observed at every link end while traffic goes, and the records of it.

use crate::namespace::Home;
use crate::network::{EndCounters, Network};
use crate::packet_sizes::{PacketCounter, Sent};
use crate::processors::Placement;
use crate::queue_length::{Lengths, QueueSampler};
use anyhow::Result;
use nettrial_scenario::{Absence, EndRecord, PacketSize, Scenario};
use std::collections::HashMap;

/// Bytes a packet occupies on the wire beyond its own: header 14, preamble 8, check sequence 4, gap 12.
const FRAME_OVERHEAD_BYTES: u64 = 38;
/// Bytes the smallest frame occupies.
const SMALLEST_BYTES: u64 = 84;

/// What is being observed.
pub struct Observation {
    before: Vec<EndCounters>,
    counter: Option<Result<PacketCounter>>,
    sampler: Option<QueueSampler>,
}

impl Observation {
    /// Begins with what the scenario's measurement asks for.
    pub fn start(
        home: &Home,
        network: &mut Network,
        scenario: &Scenario,
        placement: Option<&Placement>,
    ) -> Result<Self> {
        let measurement = &scenario.measurement;
        let counter = measurement.packet_sizes.then(|| PacketCounter::start(home, network, placement));
        let sampler = measurement
            .queue_interval
            .map(|interval| QueueSampler::start(home, network, interval.as_std(), placement));
        Ok(Self { before: network.counters()?, counter, sampler: sampler.transpose()? })
    }

    /// Ends, and gives a record of each link end that was observed, and what could not be.
    pub fn finish(self, network: &mut Network) -> Result<(Vec<EndRecord>, Vec<Absence>)> {
        let lengths = self.sampler.map_or(Ok(Vec::new()), QueueSampler::finish)?;
        let after = network.counters()?;
        let mut absent = Vec::new();
        let mut note = |object: String, reason: String| {
            absent.push(Absence { metric: "packet_sizes".into(), object, reason });
        };
        let sent = match self.counter.map(|counter| counter.and_then(PacketCounter::finish)) {
            Some(Ok(sent)) => sent,
            Some(Err(error)) => {
                note("every link end".into(), format!("{error:#}"));
                Vec::new()
            }
            None => Vec::new(),
        };
        let lengths: HashMap<(&str, &str), &Lengths> = lengths
            .iter()
            .map(|length| ((length.node.as_str(), length.interface.as_str()), length))
            .collect();
        let counted = EndCounters::difference(&self.before, after);
        let mut ends: Vec<EndRecord> = counted.into_iter().map(|end| shaped(end, &lengths)).collect();
        let key = |end: &EndRecord| (end.node.clone(), end.interface.clone());
        let places: HashMap<(String, String), usize> = ends.iter().map(key).zip(0..).collect();
        for Sent { node, interface, sizes } in sent {
            let sizes = match sizes {
                Ok(sizes) => sizes,
                Err(reason) => {
                    note(format!("{interface} of {node}"), reason);
                    continue;
                }
            };
            match places.get(&(node.clone(), interface.clone())) {
                Some(&place) => ends[place].packet_sizes = Some(sizes),
                None => ends.push(unshaped(node, interface, sizes)),
            }
        }
        Ok((ends, absent))
    }
}

fn shaped(end: EndCounters, lengths: &HashMap<(&str, &str), &Lengths>) -> EndRecord {
    let length = lengths.get(&(end.node.as_str(), end.interface.as_str()));
    EndRecord {
        wire_bytes: end.counters.wire_bytes,
        frames_pkts: end.counters.packets,
        drops_pkts: end.counters.drops,
        queue_pkts: length.map(|length| length.packets),
        queue_bytes: length.map(|length| length.bytes),
        series: Vec::new(),
        packet_sizes: None,
        node: end.node,
        interface: end.interface,
    }
}

/// The record of an end without a queue of its own, from the packets it sent.
fn unshaped(node: String, interface: String, sizes: Vec<PacketSize>) -> EndRecord {
    let occupied =
        |size: &PacketSize| (u64::from(size.size_bytes) + FRAME_OVERHEAD_BYTES).max(SMALLEST_BYTES);
    EndRecord {
        node,
        interface,
        wire_bytes: sizes.iter().map(|size| size.packets * occupied(size)).sum(),
        frames_pkts: sizes.iter().map(|size| size.packets).sum(),
        drops_pkts: 0,
        queue_pkts: None,
        queue_bytes: None,
        series: Vec::new(),
        packet_sizes: Some(sizes),
    }
}
