//! What packets cost hosts: each has one processor, which does one thing after another.
//!
//! A packet that is sent, or has arrived, takes its time on the processor before it goes on; work that finds it busy
//! waits, however long. The first packet to arrive has the interface interrupt after the coalescing time, or once the
//! processor is idle; the interrupt begins the work of all that have arrived by then. What a packet makes the host
//! send (an acknowledgment) is worked at before the next packet that has arrived. Unlike on a real host there is no
//! backlog that overflows (net.core.netdev_max_backlog), what applications do costs nothing, and sending never waits
//! for an interrupt. The costs are those of the scenario: where they come from, it has to say.

use crate::Time;
use nettrial_scenario::{Duration, HostCost, Scenario};
use std::collections::VecDeque;

/// The processors of all hosts whose work costs something.
#[derive(Debug)]
pub struct Processors {
    /// The processor at each link direction's beginning.
    of_direction: Vec<Option<u32>>,
    /// By the node's number.
    of_node: Vec<Option<u32>>,
    all: Vec<Processor>,
}

/// One host's processor.
#[derive(Debug)]
struct Processor {
    cost: HostCost,
    /// When it has done all it was given.
    busy_until: Time,
    /// All its work, done or to be done.
    work: Time,
    /// Packets that have arrived.
    arrived: VecDeque<u32>,
    /// How many of them the last interrupt was for.
    batch: usize,
    /// Whether an event will have it look at `arrived`, or is working at one of them.
    is_awake: bool,
    /// When the first packet after `batch` arrived.
    first_at: Time,
}

/// What a processor does at its next event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// It looks again then.
    Look(Time),
    /// It will have worked at this packet then.
    Finish(u32, Time),
}

impl Processors {
    /// Those of `scenario`; `None` if no host has costs.
    pub fn new(scenario: &Scenario) -> Option<Self> {
        let mut all = Vec::new();
        let of_node: Vec<Option<u32>> = scenario
            .nodes
            .iter()
            .map(|node| {
                all.push(Processor::new(node.cost?));
                Some(all.len() as u32 - 1)
            })
            .collect();
        let node = |name: &str| scenario.nodes.iter().position(|node| node.name == name);
        let ends = scenario.links.iter().flat_map(|link| &link.ends);
        let of_direction = (!all.is_empty()).then(|| ends.map(|end| of_node[node(&end.node)?]).collect());
        Some(Self { of_direction: of_direction?, of_node, all })
    }

    /// The processor of the node at which link direction `direction` begins.
    pub fn at(&self, direction: u32) -> Option<u32> {
        self.of_direction[direction as usize]
    }

    /// How long the processor of node number `node` has been busy until `now`; `None` if its work costs nothing.
    pub fn busy(&self, node: usize, now: Time) -> Option<Time> {
        let processor = &self.all[self.of_node[node]? as usize];
        Some(processor.work - processor.busy_until.since(now))
    }

    /// Has a packet of that size sent; gives when the processor is done with it.
    pub fn send(&mut self, processor: u32, ip_bytes: u32, now: Time) -> Time {
        let processor = &mut self.all[processor as usize];
        processor.occupy(now, processor.packet_cost(ip_bytes))
    }

    /// Takes packet `number` as it arrives; gives when the processor looks at it, unless it will anyway.
    pub fn arrive(&mut self, processor: u32, number: u32, now: Time) -> Option<Time> {
        let processor = &mut self.all[processor as usize];
        if processor.arrived.len() == processor.batch {
            processor.first_at = now;
        }
        processor.arrived.push_back(number);
        let was_awake = std::mem::replace(&mut processor.is_awake, true);
        (!was_awake).then(|| now + time(processor.cost.coalescing))
    }

    /// Looks at what has arrived; `ip_bytes` gives the size of a packet.
    pub fn look(&mut self, processor: u32, now: Time, ip_bytes: impl FnOnce(u32) -> u32) -> Option<Next> {
        let processor = &mut self.all[processor as usize];
        if processor.busy_until > now {
            return Some(Next::Look(processor.busy_until));
        }
        if processor.batch == 0 {
            processor.batch = processor.arrived.len();
            processor.occupy(now, time(processor.cost.per_interrupt));
        }
        let number = processor.arrived.pop_front()?;
        processor.batch -= 1;
        let done = processor.occupy(now, processor.packet_cost(ip_bytes(number)));
        Some(Next::Finish(number, done))
    }

    /// It is done with a packet that has arrived; gives when it looks for the next, if one has.
    pub fn finish(&mut self, processor: u32, now: Time) -> Option<Time> {
        let processor = &mut self.all[processor as usize];
        processor.is_awake = !processor.arrived.is_empty();
        let interrupt = processor.first_at + time(processor.cost.coalescing);
        let at = if processor.batch > 0 { now } else { interrupt.max(now) };
        processor.is_awake.then_some(at)
    }
}

impl Processor {
    fn new(cost: HostCost) -> Self {
        Self {
            cost,
            busy_until: Time::ZERO,
            work: Time::ZERO,
            arrived: VecDeque::new(),
            batch: 0,
            is_awake: false,
            first_at: Time::ZERO,
        }
    }

    fn occupy(&mut self, now: Time, work: Time) -> Time {
        self.work += work;
        self.busy_until = self.busy_until.max(now) + work;
        self.busy_until
    }

    fn packet_cost(&self, ip_bytes: u32) -> Time {
        // Picoseconds a byte are nanoseconds a kilobyte.
        time(self.cost.per_packet) + Time(self.cost.per_kilobyte.0 * u64::from(ip_bytes))
    }
}

fn time(duration: Duration) -> Time {
    Time::from_ns(duration.0)
}
