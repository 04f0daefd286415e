//! The ways of the datagrams of flows that ask for the times of their parts.

use crate::{Endpoint, Packet, Time};
use std::collections::BTreeMap;

/// The times of a datagram's way from one host to the other. Fragments leave with the first of them, and arrive with
/// the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Way {
    /// The time at which it entered the queue of its host's interface.
    pub queued: Time,
    /// The time at which its transmission began there.
    pub left: Time,
    /// The time at which the other host's interface had received it.
    pub arrived: Time,
}

/// The datagrams of traced flows.
#[derive(Debug)]
pub struct Trace {
    /// True for traced flows, by number.
    flows: Vec<bool>,
    /// The times at which the first fragment of each datagram was queued and left ([`Time::NEVER`] until then), by the
    /// endpoint that receives it and its identification.
    departures: BTreeMap<(Endpoint, u64), [Time; 2]>,
    /// The arrivals of packets that their host has not processed, by the number of the packet.
    arrivals: BTreeMap<u32, Time>,
    /// The datagram of the packet that was delivered last, and its way.
    delivered: Option<((Endpoint, u64), Way)>,
}

impl Trace {
    /// Returns the trace of the flows for which the list has true; `None` if there are none.
    pub fn of(flows: Vec<bool>) -> Option<Self> {
        let has_any = flows.contains(&true);
        has_any.then(|| Self {
            flows,
            departures: BTreeMap::new(),
            arrivals: BTreeMap::new(),
            delivered: None,
        })
    }

    fn is_traced(&self, to: Endpoint) -> bool {
        self.flows.get(to.connection as usize).copied().unwrap_or_default()
    }

    /// Notes that a packet enters a link's queue now. Only the first link of a datagram counts.
    pub fn queued(&mut self, packet: &Packet, now: Time) {
        if self.is_traced(packet.to) && packet.data_sequence == 0 {
            self.departures.entry((packet.to, packet.ack)).or_insert([now, Time::NEVER]);
        }
    }

    /// Notes that a link's transmission of a packet begins at that time. Only the first link of a datagram counts.
    pub fn left(&mut self, packet: &Packet, at: Time) {
        if packet.data_sequence == 0
            && let Some([_, left]) = self.departures.get_mut(&(packet.to, packet.ack))
            && *left == Time::NEVER
        {
            *left = at;
        }
    }

    /// Notes that packet `number` arrives at the end of its path now.
    pub fn arrived(&mut self, number: u32, to: Endpoint, now: Time) {
        if self.is_traced(to) {
            self.arrivals.insert(number, now);
        }
    }

    /// Notes that packet `number` is passed to its endpoint.
    pub fn delivered(&mut self, number: u32, packet: &Packet) {
        let (arrived, key) = (self.arrivals.remove(&number), (packet.to, packet.ack));
        let departure = self.departures.get(&key).filter(|[_, left]| *left != Time::NEVER);
        let way = departure.zip(arrived).map(|(&[queued, left], arrived)| Way { queued, left, arrived });
        self.delivered = way.map(|way| (key, way));
    }

    /// Returns the way of the datagram that the packet completes which was delivered last; `None` if it is not traced.
    /// Datagrams that were sent before it are forgotten: their answers do not count any more.
    pub fn way(&mut self) -> Option<Way> {
        let (key, way) = self.delivered?;
        while let Some((&earlier, _)) = self.departures.range((key.0, 0)..key).next() {
            self.departures.remove(&earlier);
        }
        Some(way)
    }
}
