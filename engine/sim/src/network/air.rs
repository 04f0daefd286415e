//! The radio channels of a network, modelled by [`nettrial_wlan`] in simulated time.
//! A packet stays in its channel from the sending interface to the destination's, and passes the access point if it
//! crosses the air twice. The time at which it leaves its sender is not known beforehand, so senders are notified
//! once it has left.

use crate::{Endpoint, Time};
use nettrial_routing::Interfaces;
use nettrial_scenario::{ChannelRecord, Interface, Scenario};
use nettrial_wlan::{Medium, Outcome, Packet, Sent};
use std::collections::VecDeque;

/// The size in bytes of the packet from which a channel's rate is computed.
const TYPICAL_BYTES: u64 = 1500;

/// All radio channels.
#[derive(Debug, Default)]
pub struct Air {
    channels: Vec<Channel>,
    /// The channel and the station of each interface that has them.
    stations: Vec<Option<(usize, usize)>>,
    /// The node of each interface, by number.
    nodes: Vec<usize>,
}

/// A channel.
#[derive(Debug)]
struct Channel {
    medium: Medium,
    /// The interface of each station, the access point's first.
    interfaces: Vec<usize>,
    /// The endpoint to notify when a packet has left, for each packet at each station, the oldest first.
    held: Vec<VecDeque<Option<Endpoint>>>,
    /// The time of the earliest event at which the channel is processed.
    scheduled: Time,
    outcomes: Vec<Outcome>,
}

impl Air {
    /// Creates the channels of `scenario`, whose interfaces have these numbers.
    pub fn new(scenario: &Scenario, interfaces: &Interfaces<'_>) -> Self {
        let number =
            |interface: &&Interface| scenario.nodes.iter().position(|node| node.name == interface.node);
        let mut air =
            Self { channels: Vec::new(), stations: vec![None; interfaces.all().len()], nodes: Vec::new() };
        for (link, wlan) in
            scenario.links.iter().enumerate().filter_map(|(at, link)| Some((at, link.wlan.as_ref()?)))
        {
            let of_link: Vec<usize> = interfaces.of_link(link).collect();
            for (station, interface) in of_link.iter().enumerate() {
                air.stations[*interface] = Some((air.channels.len(), station));
            }
            let random = nettrial_wlan::random(scenario.seed, link);
            let mut medium = Medium::new(wlan, &scenario.links[link].stations(), random);
            if scenario.measurement.queue_interval.is_some() {
                medium.keep_delays();
            }
            air.channels.push(Channel::new(medium, of_link));
        }
        if !air.channels.is_empty() {
            air.nodes = interfaces.all().iter().map(|end| number(end).unwrap_or(usize::MAX)).collect();
        }
        air
    }

    /// Returns the number of channels.
    pub fn len(&self) -> usize {
        self.channels.len()
    }

    /// Returns the channel of an interface, if it belongs to one.
    pub fn channel(&self, interface: u32) -> Option<usize> {
        Some(self.stations[interface as usize]?.0)
    }

    /// Returns the rate that a channel would have without headers and contention, in bits per second.
    pub fn rate_bps(&self, interface: u32) -> Option<u64> {
        let medium = &self.channels[self.channel(interface)?].medium;
        let ps = medium.timing().phy.payload_ps(TYPICAL_BYTES).max(1);
        Some((u128::from(TYPICAL_BYTES) * 8_000_000_000_000 / u128::from(ps)) as u64)
    }

    /// Returns the interface at which a packet from interface `from` leaves the channel, if it continues or
    /// arrives at interface `at`: the interface of the same node.
    pub fn receiver(&self, [from, at]: [u32; 2]) -> Option<u32> {
        let interfaces = &self.channels[self.channel(from)?].interfaces;
        let node = self.nodes[at as usize];
        interfaces.iter().find(|interface| self.nodes[**interface] == node).map(|interface| *interface as u32)
    }

    /// Offers a packet at interface `from` for interface `to` of its channel; returns whether the queue accepts
    /// it. If so, [`Air::take_left`] returns `sender` once the packet has left.
    pub fn offer(
        &mut self,
        now: Time,
        [from, to]: [u32; 2],
        packet: Packet,
        sender: Option<Endpoint>,
    ) -> bool {
        let station = |interface: u32| self.stations[interface as usize];
        let (Some((channel, from)), Some((_, to))) = (station(from), station(to)) else { return false };
        let channel = &mut self.channels[channel];
        let is_taken = channel.medium.offer(now.0, [from, to], packet);
        if is_taken {
            channel.held[from].push_back(sender);
        }
        is_taken
    }

    /// Returns the senders of the packets that have left their stations since the last call, one for each packet.
    /// The number of packets that have left is the decrease of the queue of the station, as in the lab; they are
    /// the oldest.
    pub fn take_left(&mut self, channel: usize) -> Vec<Endpoint> {
        let Channel { medium, held, .. } = &mut self.channels[channel];
        let mut left = Vec::new();
        for (station, held) in held.iter_mut().enumerate() {
            let stays = usize::try_from(medium.counters(station).queued_pkts).unwrap_or(usize::MAX);
            left.extend(held.drain(..held.len().saturating_sub(stays)).flatten());
        }
        left
    }

    /// Returns the time at which a channel must be processed next, unless an event for it is already scheduled.
    pub fn schedule(&mut self, channel: usize) -> Option<Time> {
        let channel = &mut self.channels[channel];
        let next = Time(channel.medium.next());
        (next < channel.scheduled).then(|| {
            channel.scheduled = next;
            next
        })
    }

    /// Processes everything in a channel up to now, and returns the outcomes of packets.
    pub fn look(&mut self, now: Time, channel: usize) -> Vec<Outcome> {
        let channel = &mut self.channels[channel];
        if channel.scheduled <= now {
            channel.scheduled = Time::NEVER;
        }
        while channel.medium.next() <= now.0 {
            channel.medium.advance(channel.medium.next(), &mut channel.outcomes);
        }
        std::mem::take(&mut channel.outcomes)
    }

    /// Records the transmissions of a channel's stations for [`Air::take_sent`].
    pub fn keep_sent(&mut self, channel: usize) {
        self.channels[channel].medium.keep_sent();
    }

    /// Returns the transmissions of a channel's stations since the last call.
    pub fn take_sent(&mut self, channel: usize) -> Vec<Sent> {
        self.channels[channel].medium.take_sent()
    }

    /// Returns the records of all channels up to `now`.
    pub fn records(&self, interfaces: &Interfaces<'_>, now: Time) -> Vec<ChannelRecord> {
        let ends = |channel: &Channel| -> Vec<&Interface> {
            channel.interfaces.iter().map(|interface| interfaces.get(*interface)).collect()
        };
        self.channels.iter().map(|channel| channel.medium.record(&ends(channel), now.0)).collect()
    }
}

impl Channel {
    fn new(medium: Medium, interfaces: Vec<usize>) -> Self {
        Self {
            medium,
            held: vec![VecDeque::new(); interfaces.len()],
            interfaces,
            scheduled: Time::NEVER,
            outcomes: Vec::new(),
        }
    }
}
