//! The CPU cost of packets: each host has one CPU, which does one thing at a time.
//! A packet that is sent or has arrived takes its time on the CPU before it continues; work that finds the CPU busy
//! waits, however long. The first packet to arrive makes the interface interrupt after the coalescing time, or once
//! the CPU is idle; the interrupt starts the processing of all packets that have arrived by then. A packet that the
//! host sends in response (an acknowledgment) is processed before the next packet that has arrived. Unlike on a
//! real host, there is no backlog that overflows (net.core.netdev_max_backlog), the work of applications costs
//! nothing, and sending never waits for an interrupt. The scenario gives the costs, and has to justify them.
//! A burst that is sent (TSO, GSO) costs the time of one packet, and so does a coalesced packet (GRO); the time for
//! bytes is that of all segments. This is the largest possible saving by offloads. The kernel segments a burst just
//! before the driver (net/core/dev.c, validate_xmit_skb), so that a burst passes TCP, IP and the queue once with
//! GSO as with TSO; the work of segmenting, coalescing and the driver for each segment (skb_segment,
//! skb_gro_receive) is not modelled separately, and a scenario can include it in the time for bytes. The first
//! segment of a burst bears the time of the packet, and the others follow it after the time of their bytes.

use crate::Time;
use crate::network::coalescing::{POLL_PKTS, coalesce_waiting};
use crate::packets::arena::Arena;
use nettrial_routing::Interfaces;
use nettrial_scenario::{Duration, HostCost, Node, NodeKind, Scenario};
use std::collections::VecDeque;

/// The CPUs of all hosts whose work costs time, or whose interfaces coalesce segments.
#[derive(Debug)]
pub struct Processors {
    /// The CPU of each interface.
    of_interface: Vec<Option<u32>>,
    /// The CPU of each node, by the node's number.
    of_node: Vec<Option<u32>>,
    all: Vec<Processor>,
}

/// The CPU of a host.
#[derive(Debug)]
struct Processor {
    cost: HostCost,
    /// True if the scenario gives a cost.
    is_costly: bool,
    /// True if its interfaces coalesce segments.
    coalesces: bool,
    /// The number of packets that were coalesced with others.
    coalesced_pkts: u64,
    /// The time at which all of its work is done.
    busy_until: Time,
    /// The total of its past and pending work.
    work: Time,
    /// The packets that have arrived.
    arrived: VecDeque<u32>,
    /// The number of these packets that belong to the last interrupt.
    batch: usize,
    /// The number of these packets that belong to the current poll.
    poll: usize,
    /// True if an event is scheduled for `arrived`, or if one of these packets is being processed.
    is_awake: bool,
    /// The arrival time of the first packet after `batch`.
    first_at: Time,
}

/// The next event of a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// The CPU looks for packets again at this time.
    Look(Time),
    /// The CPU will have processed this packet at this time.
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

    /// Returns the CPU of the node with this interface.
    pub fn at(&self, interface: u32) -> Option<u32> {
        self.of_interface[interface as usize]
    }

    /// Returns the busy time of the CPU of node `node` up to `now`; `None` if its work costs nothing.
    pub fn busy(&self, node: usize, now: Time) -> Option<Time> {
        let processor =
            Some(&self.all[self.of_node[node]? as usize]).filter(|processor| processor.is_costly)?;
        Some(processor.work - processor.busy_until.since(now))
    }

    /// The number of packets that were coalesced with others, of all hosts.
    pub fn coalesced_pkts(&self) -> u64 {
        self.all.iter().map(|processor| processor.coalesced_pkts).sum()
    }

    /// Returns the same number for node `node`; `None` if its interfaces do not coalesce segments.
    pub fn coalesced_by(&self, node: usize) -> Option<u64> {
        let processor = &self.all[self.of_node[node]? as usize];
        processor.coalesces.then_some(processor.coalesced_pkts)
    }

    /// Returns whether sending takes CPU time on the node with this interface.
    pub fn delays(&self, interface: u32) -> bool {
        self.at(interface).is_some_and(|processor| self.all[processor as usize].is_costly)
    }

    /// Sends a packet of that size, which may belong to the same burst as the previous one; returns the time at
    /// which the CPU has processed it, or `None` if that takes no time.
    pub fn send(&mut self, processor: u32, ip_bytes: u32, goes_with_last: bool, now: Time) -> Option<Time> {
        let processor = Some(&mut self.all[processor as usize]).filter(|processor| processor.is_costly)?;
        let work =
            if goes_with_last { processor.bytes_cost(ip_bytes) } else { processor.packet_cost(ip_bytes) };
        Some(processor.occupy(now, work))
    }

    /// Accepts packet `number`, which arrives now; returns the time at which the CPU looks at it, unless an event
    /// for that is already scheduled.
    pub fn arrive(&mut self, processor: u32, number: u32, now: Time) -> Option<Time> {
        let processor = &mut self.all[processor as usize];
        if processor.arrived.len() == processor.batch {
            processor.first_at = now;
        }
        processor.arrived.push_back(number);
        let was_awake = std::mem::replace(&mut processor.is_awake, true);
        (!was_awake).then(|| now + time(processor.cost.coalescing))
    }

    /// Looks at the packets that have arrived, and coalesces them if possible.
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

    /// Finishes the processing of a packet that has arrived; returns the time at which the CPU looks for the next,
    /// if there is one.
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

    /// Coalesces a packet taken from `arrived` with all suitable packets.
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
        // Picoseconds per byte equal nanoseconds per kilobyte.
        Time(self.cost.per_kilobyte.0 * u64::from(ip_bytes))
    }
}

fn time(duration: Duration) -> Time {
    Time::from_ns(duration.0)
}
