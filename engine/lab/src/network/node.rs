//! A node that has been built.

use crate::bucket::Bucket;
use crate::error::{Context, Error, Result};
use crate::messages::{new_bridge, state_of, up};
use crate::namespace::{Home, Namespace};
use crate::procfs::Procfs;
use crate::queue::TracedWire;
use crate::settings;
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{LinkAttribute, LinkMessage, State};
use nettrial_netlink::Ethtool;
use nettrial_netlink::Netlink;
use nettrial_scenario::{Node, Offloads, Rate};
use std::collections::HashSet;
use std::time::{Duration, Instant};

/// The time that the links of a node may take to get their carrier.
const CARRIER_PATIENCE: Duration = Duration::from_secs(30);
/// The index and name of a switch's bridge.
const BRIDGE_INDEX: i32 = super::FIRST_INTERFACE - 1;
const BRIDGE_NAME: &str = "bridge";
const LOOPBACK_INDEX: i32 = 1;

/// A node's namespace, with a socket in it.
pub struct BuiltNode {
    /// The node's name.
    pub name: String,
    /// The node's namespace.
    pub namespace: Namespace,
    /// A netlink socket of the node's namespace.
    pub(super) netlink: Netlink,
    /// The name and the index of each interface.
    pub(super) interfaces: Vec<(String, i32)>,
    /// The name of each interface whose link has a tunnel, and the index of the tunnel's device.
    pub(super) tunnels: Vec<(String, i32)>,
    /// The interfaces with a shaper.
    pub(super) shaped: Vec<Shaped>,
    /// The wires whose rates or delays follow traces.
    pub(super) traced: Vec<TracedWire>,
    /// True if a guest or a program has the node's addresses and routes, and this namespace only leads to it.
    pub(super) is_bare: bool,
    /// True if its namespace is that of all switches under a controller.
    pub(super) is_shared: bool,
    /// True if it is a host behind NAT64, which has an address of its link alone.
    pub(super) is_translated: bool,
}

/// An interface that is shaped.
#[derive(Debug, Clone)]
pub struct Shaped {
    /// The interface's name.
    pub interface: String,
    /// The interface's index.
    pub index: i32,
    /// The link's rate; `None` if it follows a trace.
    pub rate: Option<Rate>,
    /// The shaper's buckets.
    pub bucket: Bucket,
}

impl BuiltNode {
    /// Creates the namespace of `node`, with the node's settings and without interfaces, which will have IPv6
    /// addresses or not, and links that fail or not.
    pub(super) fn create(
        home: &Home,
        procfs: &mut Procfs,
        node: &Node,
        [has_ipv6, fails]: [bool; 2],
    ) -> Result<Self> {
        let procfs = procfs.next()?;
        let inside = || {
            settings::apply(procfs, node, has_ipv6)?;
            if fails {
                settings::leave_out_dead_routes(has_ipv6)?;
            }
            Ok(Netlink::open()?)
        };
        let (namespace, netlink) =
            home.create(inside).with_context(|| format!("creating node {:?}", node.name))?;
        Ok(Self::without_interfaces(node, namespace, netlink, false))
    }

    /// A switch under a controller, in the namespace of all of them.
    pub(super) fn create_shared(home: &Home, namespace: &Namespace, node: &Node) -> Result<Self> {
        let netlink = home.visit(namespace, || Ok(Netlink::open()?))?;
        Ok(Self::without_interfaces(node, namespace.share()?, netlink, true))
    }

    /// Returns `node` without interfaces.
    fn without_interfaces(node: &Node, namespace: Namespace, netlink: Netlink, is_shared: bool) -> Self {
        Self {
            name: node.name.clone(),
            namespace,
            netlink,
            interfaces: Vec::new(),
            tunnels: Vec::new(),
            shaped: Vec::new(),
            traced: Vec::new(),
            is_bare: false,
            is_shared,
            is_translated: false,
        }
    }

    /// Creates the namespace between the links of `node` and its guest or program. The namespace sends no packets of
    /// its own on the links.
    pub(super) fn create_bare(home: &Home, procfs: &mut Procfs, node: &Node) -> Result<Self> {
        let bare = Node { stack: None, ..node.clone() };
        Ok(Self { is_bare: true, ..Self::create(home, procfs, &bare, [false; 2])? })
    }

    /// Returns the name and index of each of the node's interfaces.
    pub fn interfaces(&self) -> &[(String, i32)] {
        &self.interfaces
    }

    /// Returns the node's shaped interfaces.
    pub fn shaped(&self) -> &[Shaped] {
        &self.shaped
    }

    /// The names that its interfaces have in its namespace.
    pub(super) fn devices(&self) -> impl Iterator<Item = String> {
        self.interfaces.iter().map(|(name, index)| device(self.is_shared, name, *index))
    }

    /// The names of its interfaces and of its tunnels' devices in its namespace.
    fn all_devices(&self) -> impl Iterator<Item = String> {
        self.devices().chain(self.tunnels.iter().map(|(_, index)| tunnel_device(*index)))
    }

    /// Returns the index of an interface by its name. Fails if the node does not have it.
    pub(super) fn index_of(&self, interface: &str) -> Result<i32> {
        let numbered = self.interfaces.iter().find(|(name, _)| name == interface);
        Ok(numbered.ok_or_else(|| Error::Missing(format!("{} has no interface {interface}", self.name)))?.1)
    }

    /// Returns the index of the device that has the addresses and routes of an interface: the tunnel's if its link has one.
    pub(super) fn index_of_ip(&self, interface: &str) -> Result<i32> {
        let tunnel = self.tunnels.iter().find(|(name, _)| name == interface);
        tunnel.map_or_else(|| self.index_of(interface), |(_, index)| Ok(*index))
    }

    /// Sets the offloads of every interface.
    pub(super) fn set_offloads(&self, home: &Home, offloads: Offloads) -> Result<()> {
        home.visit(&self.namespace, || {
            let ethtool = Ethtool::open()?;
            Ok(self.all_devices().try_for_each(|interface| ethtool.set(&interface, offloads))?)
        })
    }

    /// Makes the kernel compute the checksums of frames that leave through each interface.
    pub(super) fn compute_checksums(&self, home: &Home) -> Result<()> {
        home.visit(&self.namespace, || {
            let ethtool = Ethtool::open()?;
            Ok(self.devices().try_for_each(|interface| ethtool.compute_checksums(&interface))?)
        })
    }

    /// Returns the offloads in force on every interface, by its name.
    pub fn offloads(&self, home: &Home) -> Result<Vec<(String, Offloads)>> {
        home.visit(&self.namespace, || {
            let ethtool = Ethtool::open()?;
            let names = self.interfaces.iter().map(|(name, _)| name.clone());
            names.zip(self.devices()).map(|(name, device)| Ok((name, ethtool.get(&device)?))).collect()
        })
    }

    /// Connects the interfaces by a bridge, except for those with an index in `blocked`, which forward nothing,
    /// like ports that a spanning tree blocks.
    pub(super) fn create_bridge(&mut self, blocked: &HashSet<u32>) -> Result<()> {
        let Self { name, netlink, interfaces, .. } = self;
        let message = new_bridge(BRIDGE_INDEX, BRIDGE_NAME);
        netlink.create(RouteNetlinkMessage::NewLink(message), format!("creating the bridge of {name}"))?;
        for (interface, index) in interfaces {
            let mut port = LinkMessage::default();
            port.header.index = index.unsigned_abs();
            if blocked.contains(&port.header.index) {
                continue;
            }
            port.attributes = vec![LinkAttribute::Controller(BRIDGE_INDEX.unsigned_abs())];
            netlink.change(
                RouteNetlinkMessage::SetLink(port),
                format!("connecting {interface} to the bridge of {name}"),
            )?;
        }
        netlink.change(
            RouteNetlinkMessage::SetLink(up(BRIDGE_INDEX)),
            format!("bringing up the bridge of {name}"),
        )?;
        Ok(netlink.flush()?)
    }

    /// Brings up every interface.
    pub(super) fn bring_up(&mut self) -> Result<()> {
        let Self { name, netlink, interfaces, tunnels, .. } = self;
        netlink.change(
            RouteNetlinkMessage::SetLink(up(LOOPBACK_INDEX)),
            format!("bringing up the loopback interface of {name}"),
        )?;
        for (interface, index) in interfaces.iter().chain(&*tunnels) {
            let purpose = format!("bringing up {interface} of {name}");
            netlink.change(RouteNetlinkMessage::SetLink(up(*index)), purpose)?;
        }
        Ok(netlink.flush()?)
    }

    /// Waits until every interface is in the operational state "up" (RFC 2863), because the kernel drops packets
    /// that are sent over it earlier.
    ///
    /// Each interface is requested separately. Since Linux 6.9 such a request makes the kernel process the
    /// interface's carrier at once, which it otherwise postpones for up to a second if many links come up together
    /// (net/core/link_watch.c, linkwatch_sync_dev).
    pub(super) fn await_carrier(&mut self) -> Result<()> {
        let deadline = Instant::now() + CARRIER_PATIENCE;
        for (interface, index) in &self.interfaces {
            loop {
                let answer = self.netlink.get(RouteNetlinkMessage::GetLink(state_of(*index)))?;
                if let RouteNetlinkMessage::NewLink(message) = answer
                    && message.attributes.contains(&LinkAttribute::OperState(State::Up))
                {
                    break;
                }
                if Instant::now() >= deadline {
                    return Err(Error::NoCarrier(format!("{interface} of {} has no carrier", self.name)));
                }
                std::thread::sleep(Duration::from_micros(200));
            }
        }
        Ok(())
    }
}

/// The name of the device of a tunnel with this index.
pub(super) fn tunnel_device(index: i32) -> String {
    format!("tunnel{index}")
}

/// The name that interface `name`, with this index, has in its namespace: one of its own where that is shared.
pub(super) fn device(is_shared: bool, name: &str, index: i32) -> String {
    if is_shared { format!("p{index}") } else { name.to_owned() }
}
