//! The radio channels of a network, by [`nettrial_wlan`], which simulated time drives.
//!
//! A packet stays in its channel from the interface that sends it to the one that it is for, over the access point where
//! it crosses the air twice. When it will have left its sender is not known before; what senders are told is a guess
//! from how long their packets took of late.

use crate::Time;
use nettrial_routing::Interfaces;
use nettrial_scenario::{ChannelRecord, Interface, Scenario};
use nettrial_wlan::{Medium, Outcome, Packet, Sent};

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
    /// The time when the last packet of each station was told to leave.
    told: Vec<Time>,
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

    /// A packet comes to interface `from` for interface `to` of its channel; gives about when it will have left, or `None`
    /// if the queue is full.
    pub fn offer(&mut self, now: Time, [from, to]: [u32; 2], packet: Packet) -> Option<Time> {
        let (channel, sender) = self.stations[from as usize]?;
        let (_, receiver) = self.stations[to as usize]?;
        let channel = &mut self.channels[channel];
        let is_taken = channel.medium.offer(now.0, [sender, receiver], packet);
        is_taken.then(|| channel.tell(now, sender))
    }

    /// Returns about when a packet will have left that comes to interface `from` then.
    pub fn leaves_at_best(&mut self, comes: Time, from: u32) -> Option<Time> {
        let (channel, sender) = self.stations[from as usize]?;
        Some(self.channels[channel].tell(comes, sender))
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
            told: vec![Time::ZERO; interfaces.len()],
            interfaces,
            scheduled: Time::NEVER,
            outcomes: Vec::new(),
        }
    }

    /// Returns about when what a station has by then will have left: no earlier than what came before it.
    fn tell(&mut self, now: Time, station: usize) -> Time {
        let told = &mut self.told[station];
        *told = (*told).max(Time(self.medium.leaves_ps(now.0, station)));
        *told
    }
}
