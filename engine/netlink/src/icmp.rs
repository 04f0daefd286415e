//! A router that answers no ICMP: it forwards, and says nothing of what it can't forward.
//!
//! Routing rules send what the node itself originates by ICMP into nowhere (net/core/fib_rules.c). ICMP
//! that it forwards is routed by where it came from, and so passes. Neighbour discovery does not ask for a
//! route (net/ipv6/ndisc.c, icmp6_dst_alloc), and so works.

use crate::Netlink;
use anyhow::Result;
use netlink_packet_route::route::RouteProtocol;
use netlink_packet_route::rule::{RuleAction, RuleAttribute, RuleMessage};
use netlink_packet_route::{AddressFamily, IpProtocol, RouteNetlinkMessage};

/// The interface that what a node originates counts as coming from.
const ORIGINATED: &str = "lo";
/// The origin of these rules (FRA_PROTOCOL): a number that nobody else has in /etc/iproute2/rt_protos.
const OWN: RouteProtocol = RouteProtocol::Other(227);
/// Not in the library: IPPROTO_ICMPV6.
const ICMPV6: IpProtocol = IpProtocol::Other(58);
const FAMILIES: [(AddressFamily, IpProtocol); 2] =
    [(AddressFamily::Inet, IpProtocol::Icmp), (AddressFamily::Inet6, ICMPV6)];

fn rule(family: AddressFamily, protocol: IpProtocol) -> RuleMessage {
    let mut rule = RuleMessage::default();
    rule.header.family = family;
    rule.header.action = RuleAction::Blackhole;
    rule.attributes = vec![
        RuleAttribute::Iifname(ORIGINATED.into()),
        RuleAttribute::Protocol(OWN),
        RuleAttribute::IpProtocol(protocol),
    ];
    rule
}

/// Lets the node `name`, in whose namespace `netlink` is open, originate no ICMP.
///
/// # Errors
/// Fails where the kernel has no routing rules (CONFIG_IP_MULTIPLE_TABLES).
pub fn filter_icmp(netlink: &mut Netlink, name: &str) -> Result<()> {
    for (family, protocol) in FAMILIES {
        netlink.create(
            RouteNetlinkMessage::NewRule(rule(family, protocol)),
            format!("letting {name} answer no ICMP ({family:?})"),
        )?;
    }
    netlink.flush()
}

/// Returns true where this machine originates no ICMP by rules of [`filter_icmp`].
///
/// # Errors
/// Fails if the kernel does not answer.
pub fn originates_no_icmp() -> Result<bool> {
    Ok(own_rules(&mut Netlink::open()?)?.len() >= FAMILIES.len())
}

/// Lets this machine originate ICMP, or none if it `filters`: takes away what [`filter_icmp`] added, as far as it is
/// there, and adds it anew where it is wanted.
///
/// # Errors
/// Fails if the kernel refuses.
pub fn originate_no_icmp(filters: bool) -> Result<()> {
    let mut netlink = Netlink::open()?;
    for found in own_rules(&mut netlink)? {
        netlink.change(RouteNetlinkMessage::DelRule(found), "letting this machine answer by ICMP")?;
    }
    netlink.flush()?;
    if filters { filter_icmp(&mut netlink, "this machine") } else { Ok(()) }
}

fn own_rules(netlink: &mut Netlink) -> Result<Vec<RuleMessage>> {
    let all = netlink.dump(RouteNetlinkMessage::GetRule(RuleMessage::default()))?;
    let own = |answer| match answer {
        RouteNetlinkMessage::NewRule(rule) if rule.attributes.contains(&RuleAttribute::Protocol(OWN)) => {
            Some(rule)
        }
        _ => None,
    };
    Ok(all.into_iter().filter_map(own).collect())
}
