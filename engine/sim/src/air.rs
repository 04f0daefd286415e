//! The radio channels of a network, by [`nettrial_wlan`], which simulated time drives.
//!
//! A packet stays in its channel from the interface that sends it to the one that it is for, over the access point where
//! it crosses the air twice. When it will have left its sender is not known before: senders are told once it has.

use crate::{Endpoint, Time};
use nettrial_routing::Interfaces;
use nettrial_scenario::{ChannelRecord, Interface, Scenario};
use nettrial_wlan::{Medium, Outcome, Packet, Sent};
use std::collections::VecDeque;

/// Bytes of the packet by which a channel's rate is told.
const TYPICAL_BYTES: u64 = 1500;

/// All radio channels.
#[derive(Debug, Default)]
pub struct Air {
    channels: Vec<Channel>,
    /// The channel and the station at each interface, where there is one.
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
    /// The endpoint that is told once a packet has left, of each packet at each station, the oldest first.
    held: Vec<VecDeque<Option<Endpoint>>>,
    /// The time of the earliest event that will look at it.
    scheduled: Time,
    outcomes: Vec<Outcome>,
}

impl Air {
    /// The channels of `scenario`, whose interfaces have these numbers.
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

    /// Returns how many channels there are.
    pub fn len(&self) -> usize {
        self.channels.len()
    }

    /// The channel of an interface, if it is at one.
    pub fn channel(&self, interface: u32) -> Option<usize> {
        Some(self.stations[interface as usize]?.0)
    }

    /// The rate that a channel would have without headers and contention, bits per second.
    pub fn rate_bps(&self, interface: u32) -> Option<u64> {
        let medium = &self.channels[self.channel(interface)?].medium;
        let ps = medium.timing().phy.payload_ps(TYPICAL_BYTES).max(1);
        Some((u128::from(TYPICAL_BYTES) * 8_000_000_000_000 / u128::from(ps)) as u64)
    }

    /// The interface at which a packet leaves the channel of interface `from` that goes on, or arrives, at interface
    /// `at`: the one of its node.
    pub fn receiver(&self, [from, at]: [u32; 2]) -> Option<u32> {
        let interfaces = &self.channels[self.channel(from)?].interfaces;
        let node = self.nodes[at as usize];
        interfaces.iter().find(|interface| self.nodes[**interface] == node).map(|found| *found as u32)
    }

    /// A packet comes to interface `from` for interface `to` of its channel; gives whether the queue takes it. Then
    /// [`Air::take_left`] gives `sender` once it has left.
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

    /// Takes the senders of the packets that have left their stations since the last call, one for each. As in the lab, as
    /// many have left as the station has fewer, the oldest first.
    pub fn take_left(&mut self, channel: usize) -> Vec<Endpoint> {
        let Channel { medium, held, .. } = &mut self.channels[channel];
        let mut left = Vec::new();
        for (station, held) in held.iter_mut().enumerate() {
            let stays = usize::try_from(medium.counters(station).queued_pkts).unwrap_or(usize::MAX);
            left.extend(held.drain(..held.len().saturating_sub(stays)).flatten());
        }
        left
    }

    /// The time at which a channel is to be looked at next, if nothing is under way by which it would be.
    pub fn schedule(&mut self, channel: usize) -> Option<Time> {
        let channel = &mut self.channels[channel];
        let next = Time(channel.medium.next());
        (next < channel.scheduled).then(|| {
            channel.scheduled = next;
            next
        })
    }

    /// Has everything in a channel happen until now; gives what became of packets.
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

    /// Keeps what the stations of a channel send, for [`Air::take_sent`].
    pub fn keep_sent(&mut self, channel: usize) {
        self.channels[channel].medium.keep_sent();
    }

    /// Takes what the stations of a channel have sent since the last call.
    pub fn take_sent(&mut self, channel: usize) -> Vec<Sent> {
        self.channels[channel].medium.take_sent()
    }

    /// The records of all channels until `now`.
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
