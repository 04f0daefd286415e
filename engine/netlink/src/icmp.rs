//! Routers that send no ICMP messages: they forward packets, and silently drop those that they can't forward.
//!
//! Routing rules discard the ICMP packets that the node itself originates (net/core/fib_rules.c). The rules match
//! packets from the loopback interface, so forwarded ICMP passes. Neighbour discovery does not look up a route
//! (net/ipv6/ndisc.c, icmp6_dst_alloc), so it still works.

use crate::Netlink;
use crate::error::Result;
use netlink_packet_route::route::RouteProtocol;
use netlink_packet_route::rule::{RuleAction, RuleAttribute, RuleMessage};
use netlink_packet_route::{AddressFamily, IpProtocol, RouteNetlinkMessage};

/// The interface from which packets that a node originates count as coming.
const ORIGINATED: &str = "lo";
/// The origin of these rules (FRA_PROTOCOL): a number that /etc/iproute2/rt_protos gives to nobody else.
const OWN: RouteProtocol = RouteProtocol::Other(227);
/// IPPROTO_ICMPV6, which the library does not define.
const ICMPV6: IpProtocol = IpProtocol::Other(58);
/// The address families, and the number of ICMP over each.
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

/// Keeps the node `name`, in whose namespace `netlink` is open, from originating ICMP messages.
///
/// # Errors
/// Fails if the kernel has no support for routing rules (CONFIG_IP_MULTIPLE_TABLES).
pub fn filter_icmp(netlink: &mut Netlink, name: &str) -> Result<()> {
    for (family, protocol) in FAMILIES {
        netlink.create(
            RouteNetlinkMessage::NewRule(rule(family, protocol)),
            format!("turning off ICMP messages from {name} ({family:?})"),
        )?;
    }
    netlink.flush()
}

/// Returns true if rules of [`filter_icmp`] keep this machine from originating ICMP messages.
///
/// # Errors
/// Fails if the kernel does not answer.
pub fn originates_no_icmp() -> Result<bool> {
    Ok(own_rules(&mut Netlink::open()?)?.len() >= FAMILIES.len())
}

/// Keeps this machine from originating ICMP messages if it `filters`, else lets it originate them: removes the
/// rules that [`filter_icmp`] added, if there are any, and adds them anew if they are wanted.
///
/// # Errors
/// Fails if the kernel refuses.
pub fn originate_no_icmp(filters: bool) -> Result<()> {
    let mut netlink = Netlink::open()?;
    for rule in own_rules(&mut netlink)? {
        netlink.change(RouteNetlinkMessage::DelRule(rule), "turning on ICMP messages from this machine")?;
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
