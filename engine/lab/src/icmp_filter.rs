//! A router that answers no ICMP: it forwards, and says nothing of what it can't forward.
//!
//! Routing rules send what the node itself originates by ICMP into nowhere (net/core/fib_rules.c). ICMP
//! that it forwards is routed by where it came from, and so passes. Neighbour discovery does not ask for a
//! route (net/ipv6/ndisc.c, icmp6_dst_alloc), and so works.

use anyhow::Result;
use netlink_packet_core::DefaultNla;
use netlink_packet_route::rule::{RuleAction, RuleAttribute, RuleMessage};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use nettrial_netlink::Netlink;

/// The interface that what a node originates counts as coming from.
const ORIGINATED: &str = "lo";
/// The attribute for a packet's protocol (include/uapi/linux/fib_rules.h), and the two protocols.
const FRA_IP_PROTO: u16 = 22;
const ICMP: u8 = 1;
const ICMPV6: u8 = 58;

/// Lets the node `name`, in whose namespace `netlink` is open, originate no ICMP.
///
/// # Errors
/// Fails where the kernel has no routing rules (CONFIG_IP_MULTIPLE_TABLES).
pub fn apply(netlink: &mut Netlink, name: &str) -> Result<()> {
    for (family, protocol) in [(AddressFamily::Inet, ICMP), (AddressFamily::Inet6, ICMPV6)] {
        let mut rule = RuleMessage::default();
        rule.header.family = family;
        rule.header.action = RuleAction::Blackhole;
        rule.attributes = vec![
            RuleAttribute::Iifname(ORIGINATED.into()),
            RuleAttribute::Other(DefaultNla::new(FRA_IP_PROTO, vec![protocol])),
        ];
        netlink.create(
            RouteNetlinkMessage::NewRule(rule),
            format!("letting {name} answer no ICMP ({family:?})"),
        )?;
    }
    netlink.flush()
}
