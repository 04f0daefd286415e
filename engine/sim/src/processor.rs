//! The cost of packets to hosts: each has one CPU, which does one thing after another.
//!
//! A packet that is sent, or has arrived, takes its time on the CPU before it goes on; work that finds it busy
//! waits, however long. The first packet to arrive has the interface interrupt after the coalescing time, or once the
//! CPU is idle; the interrupt begins the work of all that have arrived by then. What a packet makes the host
//! send (an acknowledgment) is worked at before the next packet that has arrived. Unlike on a real host there is no
//! backlog that overflows (net.core.netdev_max_backlog), what applications do costs nothing, and sending never waits
//! for an interrupt. The costs are those of the scenario: where they come from, it has to say.
//!
//! A burst that is sent (TSO, GSO) costs a packet's time once, and so does what the interface has coalesced (GRO);
//! the time of bytes is that of all of them. That is the most the offloads can save. The kernel cuts a burst just
//! before the driver (net/core/dev.c, validate_xmit_skb), so that TCP, IP and the queue are passed once with GSO as
//! with TSO; what cutting, coalescing and the driver take for each segment (skb_segment, skb_gro_receive) is not
//! counted apart, and a scenario can put it into the time of bytes. The first segment of a burst bears what it
//! costs once, and the others follow it after the time of their bytes.

use crate::Time;
use crate::arena::Arena;
use crate::coalescing::{POLL_PKTS, coalesce_waiting};
use nettrial_routing::Interfaces;
use nettrial_scenario::{Duration, HostCost, Node, NodeKind, Scenario};
use std::collections::VecDeque;

/// The CPUs of all hosts whose work costs something, or whose interfaces join segments.
#[derive(Debug)]
pub struct Processors {
    /// The CPU at each interface.
    of_interface: Vec<Option<u32>>,
    /// The CPU of each node, by the node's number.
    of_node: Vec<Option<u32>>,
    all: Vec<Processor>,
}

/// One host's CPU.
#[derive(Debug)]
struct Processor {
    cost: HostCost,
    /// True if the scenario gives a cost.
    is_costly: bool,
    /// True if its interfaces join segments.
    coalesces: bool,
    /// Packets that were coalesced to others.
    coalesced_pkts: u64,
    /// The time when it has done all it was given.
    busy_until: Time,
    /// All its work, done or to be done.
    work: Time,
    /// Packets that have arrived.
    arrived: VecDeque<u32>,
    /// The number of them that the last interrupt was for.
    batch: usize,
    /// The number of these that are of the poll it is at.
    poll: usize,
    /// True if an event will have it look at `arrived`, or is working at one of them.
    is_awake: bool,
    /// The time when the first packet after `batch` arrived.
    first_at: Time,
}

/// The next event of a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// It looks again then.
    Look(Time),
    /// It will have worked at this packet then.
    Finish(u32, Time),
}

impl Processors {
    /// Returns the CPUs of `scenario`, whose interfaces have these numbers; `None` if there are none.
    pub fn new(scenario: &Scenario, interfaces: &Interfaces<'_>) -> Option<Self> {
        let mut all = Vec::new();
        let of_node: Vec<Option<u32>> = scenario
            .nodes
            .iter()
            .map(|node| {
                all.push(Processor::of(node)?);
                Some(all.len() as u32 - 1)
            })
            .collect();
        let node = |name: &str| scenario.nodes.iter().position(|node| node.name == name);
        let ends = interfaces.all().iter();
        let of_interface = (!all.is_empty()).then(|| ends.map(|end| of_node[node(&end.node)?]).collect());
        Some(Self { of_interface: of_interface?, of_node, all })
    }

    /// The CPU of the node that has the interface of this number.
    pub fn at(&self, interface: u32) -> Option<u32> {
        self.of_interface[interface as usize]
    }

    /// Returns how long the CPU of node number `node` has been busy until `now`; `None` if its work costs
    /// nothing.
    pub fn busy(&self, node: usize, now: Time) -> Option<Time> {
        let processor =
            Some(&self.all[self.of_node[node]? as usize]).filter(|processor| processor.is_costly)?;
        Some(processor.work - processor.busy_until.since(now))
    }

    /// Packets that were coalesced to others, of all hosts.
    pub fn coalesced_pkts(&self) -> u64 {
        self.all.iter().map(|processor| processor.coalesced_pkts).sum()
    }

    /// The same of node number `node`; `None` if its interfaces join none.
    pub fn coalesced_by(&self, node: usize) -> Option<u64> {
        let processor = &self.all[self.of_node[node]? as usize];
        processor.coalesces.then_some(processor.coalesced_pkts)
    }

    /// Returns whether sending takes the CPU of the node that has the interface of this number time.
    pub fn delays(&self, interface: u32) -> bool {
        self.at(interface).is_some_and(|processor| self.all[processor as usize].is_costly)
    }

    /// Has a packet of that size sent, which may go with the one before it; gives when the CPU is done with it,
    /// or `None` if that takes no time.
    pub fn send(&mut self, processor: u32, ip_bytes: u32, goes_with_last: bool, now: Time) -> Option<Time> {
        let processor = Some(&mut self.all[processor as usize]).filter(|processor| processor.is_costly)?;
        let work =
            if goes_with_last { processor.bytes_cost(ip_bytes) } else { processor.packet_cost(ip_bytes) };
        Some(processor.occupy(now, work))
    }

    /// Takes packet `number` as it arrives; gives when the CPU looks at it, unless it will anyway.
    pub fn arrive(&mut self, processor: u32, number: u32, now: Time) -> Option<Time> {
        let processor = &mut self.all[processor as usize];
        if processor.arrived.len() == processor.batch {
            processor.first_at = now;
        }
        processor.arrived.push_back(number);
        let was_awake = std::mem::replace(&mut processor.is_awake, true);
        (!was_awake).then(|| now + time(processor.cost.coalescing))
    }

    /// Looks at what has arrived, and coalesces what can be.
    pub fn look(&mut self, processor: u32, now: Time, arena: &mut Arena) -> Option<Next> {
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
        if processor.coalesces {
            processor.join(number, arena);
        }
        let done = processor.occupy(now, processor.packet_cost(arena.travel(number).ip_bytes));
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
    /// Returns the CPU of a node, if it is a host that needs one.
    fn of(node: &Node) -> Option<Self> {
        let coalesces = node.offloads.gro && node.kind == NodeKind::Host;
        (coalesces || node.cost.is_some()).then(|| Self {
            cost: node.cost.unwrap_or_default(),
            is_costly: node.cost.is_some(),
            coalesces,
            coalesced_pkts: 0,
            busy_until: Time::ZERO,
            work: Time::ZERO,
            arrived: VecDeque::new(),
            batch: 0,
            poll: 0,
            is_awake: false,
            first_at: Time::ZERO,
        })
    }

    /// Joins what can be to a packet that was taken from `arrived`.
    fn join(&mut self, number: u32, arena: &mut Arena) {
        if self.poll == 0 {
            self.poll = POLL_PKTS.min(self.batch + 1);
        }
        self.poll -= 1;
        let coalesced = coalesce_waiting(number, &mut self.arrived, self.poll, arena);
        self.poll -= coalesced;
        self.batch -= coalesced;
        self.coalesced_pkts += coalesced as u64;
    }

    fn occupy(&mut self, now: Time, work: Time) -> Time {
        self.work += work;
        self.busy_until = self.busy_until.max(now) + work;
        self.busy_until
    }

    fn packet_cost(&self, ip_bytes: u32) -> Time {
        time(self.cost.per_packet) + self.bytes_cost(ip_bytes)
    }

    fn bytes_cost(&self, ip_bytes: u32) -> Time {
        // Picoseconds a byte are nanoseconds a kilobyte.
        Time(self.cost.per_kilobyte.0 * u64::from(ip_bytes))
    }
}

fn time(duration: Duration) -> Time {
    Time::from_ns(duration.0)
}
