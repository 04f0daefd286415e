//! The radio channels of a network, in a separate namespace.

use super::inside::{Inside, processor_of};
use crate::channel::{Channel, Driven, Held, StationInterface, tap};
use crate::error::{Context, Error, Result};
use crate::layout::Layout;
use crate::messages::{up, veth};
use crate::namespace::Home;
use crate::processors::Placement;
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::LinkMessage;
use nettrial_scenario::{Capture, ChannelRecord, Scenario, chain};

/// The namespace with the inner ends of all channels, and the channels.
pub struct Channels {
    // The order of these fields matters: the channels end before their namespace is removed.
    channels: Vec<Channel>,
    inside: Inside,
    links: Vec<Planned>,
    /// The reason why senders are not held back, if they are not.
    unheld: Option<String>,
}

/// A channel that is being built.
struct Planned {
    /// The number of its link in the scenario.
    number: usize,
    /// The stations, the access point first.
    interfaces: Vec<PlannedInterface>,
}

/// The interface of a station in a channel that is being built.
struct PlannedInterface {
    /// The index of the inner end.
    index: i32,
    /// The Ethernet address of the node's own end.
    address: Vec<u8>,
    /// The index of the macvtap that holds the frames of a host.
    tap: Option<i32>,
}

impl Channels {
    /// Creates the namespace, if a link of `scenario` is a radio channel.
    pub fn create(home: &Home, scenario: &Scenario) -> Result<Option<Self>> {
        if scenario.links.iter().all(|link| link.wlan.is_none()) {
            return Ok(None);
        }
        let inside = Inside::create(home, "radio channels")?;
        Ok(Some(Self { channels: Vec::new(), inside, links: Vec::new(), unheld: None }))
    }

    /// Returns a request for the veth pair of an interface of the scenario's link `number`, whose end at the node
    /// is `own` with that Ethernet address. The inner end has this index, and if the node is a host, `tap` is the
    /// index of the macvtap that holds its frames.
    pub fn pair(
        &mut self,
        number: usize,
        (own, address): (LinkMessage, Vec<u8>),
        index: i32,
        tap: Option<i32>,
    ) -> [LinkMessage; 2] {
        if self.links.last().is_none_or(|link| link.number != number) {
            self.links.push(Planned { number, interfaces: Vec::new() });
        }
        let interfaces = self.links.last_mut().map(|link| &mut link.interfaces);
        interfaces.into_iter().for_each(|interfaces| {
            interfaces.push(PlannedInterface { index, address: address.clone(), tap })
        });
        [own, self.inside.end(index)]
    }

    /// Brings up the inner ends.
    pub fn bring_up(&mut self) -> Result<()> {
        self.inside
            .bring_up(self.links.iter().flat_map(|link| &link.interfaces).map(|interface| &interface.index))
    }

    /// Starts to move frames. Each channel stays on one CPU.
    pub fn start(&mut self, home: &Home, layout: &Layout, placement: Option<&Placement>) -> Result<()> {
        for Planned { number, interfaces } in std::mem::take(&mut self.links) {
            let processor = processor_of(number, placement);
            let indexes: Vec<i32> = interfaces.iter().map(|interface| interface.index).collect();
            self.inside.steer(home, processor, &indexes)?;
            let interfaces = interfaces.into_iter().map(|PlannedInterface { index, address, tap }| {
                let held = tap.and_then(|tap| match self.hold(home, tap, index) {
                    Ok(held) => Some(held),
                    Err(error) => {
                        self.unheld.get_or_insert(chain(&error));
                        None
                    }
                });
                StationInterface { index, address, held }
            });
            let interfaces: Vec<StationInterface> = interfaces.collect();
            let scenario = &layout.scenario;
            let (link, seed) = (&scenario.links[number], scenario.seed);
            let keeps_delays = scenario.measurement.queue_interval.is_some();
            let start = || {
                Channel::start(
                    link,
                    (number, seed),
                    interfaces,
                    keeps_delays,
                    processor,
                    home.clock.early_ns(),
                )
            };
            self.channels.push(home.visit(&self.inside.namespace, start)?);
        }
        Ok(())
    }

    /// Lets a macvtap with the index `number` hold the frames at the inner end `index`.
    fn hold(&mut self, home: &Home, number: i32, index: i32) -> Result<Held> {
        if !home.is_root {
            return Err(Error::NeedsRoot);
        }
        let netlink = &mut self.inside.netlink;
        netlink.create(RouteNetlinkMessage::NewLink(tap(number, index)), "creating a macvtap")?;
        netlink.flush()?;
        netlink.change(RouteNetlinkMessage::SetLink(up(number)), "bringing up a macvtap")?;
        netlink.flush()?;
        home.visit(&self.inside.namespace, || Held::open(number)).context("holding frames at a station")
    }

    /// Captures the channels that `settings` name as soon as they are armed.
    pub fn sniff(&self, settings: &Capture) -> Result<()> {
        self.channels.iter().try_for_each(|channel| channel.sniff(settings))
    }

    /// Begins counting.
    pub fn arm(&self) -> Result<()> {
        self.channels.iter().try_for_each(Channel::arm)
    }

    /// Ends all channels; returns for each its link in words, its record since it was armed, and its work.
    pub fn finish(&mut self) -> Result<Vec<(String, ChannelRecord, Driven)>> {
        std::mem::take(&mut self.channels).into_iter().map(Channel::finish).collect()
    }

    /// Returns the reason why senders are not held back while their frames are at their stations, if they are not.
    pub fn unheld(&self) -> Option<&str> {
        self.unheld.as_deref()
    }
}

/// Fails if the frames of a station can't be held, which is tried in a temporary namespace.
pub fn try_holding(home: &Home) -> Result<()> {
    let [index, other, number] = [100, 101, 102];
    let mut inside = Inside::create(home, "try of a radio channel")?;
    let pair = veth([inside.end(index), inside.end(other)]);
    inside.netlink.create(RouteNetlinkMessage::NewLink(pair), "creating a veth pair")?;
    inside.bring_up([index, other].iter())?;
    let mut channels = Channels { channels: Vec::new(), inside, links: Vec::new(), unheld: None };
    channels.hold(home, number, index).map(drop)
}
