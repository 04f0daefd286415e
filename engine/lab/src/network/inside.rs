//! A namespace for the inner ends of links whose frames the engine itself moves.

use crate::error::{Context, Result};
use crate::messages::{SINGLE_QUEUES, up};
use crate::namespace::{Home, Namespace};
use crate::processors::Placement;
use crate::{affinity, settings};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{LinkAttribute, LinkMessage};
use nettrial_netlink::Netlink;
use std::os::fd::AsRawFd;

/// The MTU of an inner end, which accepts all frames that a node's end may send.
const LARGEST_MTU: u32 = 65_535;

/// The namespace, with a socket in it.
pub struct Inside {
    /// A netlink socket of the namespace.
    pub netlink: Netlink,
    /// The namespace.
    pub namespace: Namespace,
}

impl Inside {
    /// Creates a namespace for the inner ends of `purpose`.
    pub fn create(home: &Home, purpose: &str) -> Result<Self> {
        let inside = || {
            if std::fs::exists("/proc/sys/net/ipv6").unwrap_or(false) {
                // Inner ends must not send packets of their own on the links.
                settings::write("net.ipv6.conf.default.disable_ipv6", "1")?;
            }
            Ok(Netlink::open()?)
        };
        let (namespace, netlink) =
            home.create(inside).with_context(|| format!("creating the namespace of the {purpose}"))?;
        Ok(Self { netlink, namespace })
    }

    /// Returns a request for an inner end with this index.
    pub fn end(&self, index: i32) -> LinkMessage {
        let mut message = LinkMessage::default();
        message.header.index = index.unsigned_abs();
        message.attributes = vec![
            LinkAttribute::IfName(name(index)),
            LinkAttribute::NetNsFd(self.namespace.file().as_raw_fd()),
            LinkAttribute::Mtu(LARGEST_MTU),
        ];
        message.attributes.extend(SINGLE_QUEUES);
        message
    }

    /// Brings up the inner ends with these indexes.
    pub fn bring_up<'a>(&mut self, indexes: impl Iterator<Item = &'a i32>) -> Result<()> {
        for index in indexes {
            self.netlink.change(RouteNetlinkMessage::SetLink(up(*index)), "bringing up an inner end")?;
        }
        Ok(self.netlink.flush()?)
    }

    /// Steers the receive work of inner ends to one CPU, because frames in the kernel's receive queues of several
    /// CPUs may overtake each other.
    pub fn steer(&self, home: &Home, processor: usize, indexes: &[i32]) -> Result<()> {
        if !home.is_root {
            return Ok(());
        }
        let names = indexes.iter().map(|index| name(*index));
        Placement::steer_to(processor, home, &self.namespace, names)
    }
}

/// Returns the CPU on which the frames of the link with this number stay: the engine's in `placement`, if there is
/// one.
pub fn processor_of(number: usize, placement: Option<&Placement>) -> usize {
    let usable = affinity::usable();
    let chosen = usable.get(number % usable.len().max(1)).copied().unwrap_or(0);
    placement.map_or(chosen, Placement::engine_processor)
}

fn name(index: i32) -> String {
    format!("line{index}")
}
