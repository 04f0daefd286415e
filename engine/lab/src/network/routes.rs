//! Creates forwarding tables, and the rules that choose among them by a packet's source.

use super::Network;
use super::defaults::direct_routes;
use crate::error::{Context, Result};
use crate::messages::{new_route, source_rule};
use crate::namespace::Home;
use crate::settings;
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::route::RouteHeader;
use nettrial_routing::{NextHop, Route, node_seed};
use nettrial_scenario::{NodeKind, RoutingPolicy, Scenario};
use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

/// The number of a node's first table for packets from one address. The kernel's own tables have lower numbers
/// (rt_tables(5)).
const FIRST_TABLE: u32 = 1000;
/// The sysctl with the seed of the kernel's hash (Linux 6.11 and later).
pub const HASH_SEED: &str = "net.ipv4.fib_multipath_hash_seed";
/// The sysctls that decide, for each version of IP, the parts of a packet that are hashed
/// (CONFIG_IP_ROUTE_MULTIPATH).
pub const HASH_POLICIES: [&str; 2] =
    ["net.ipv4.fib_multipath_hash_policy", "net.ipv6.fib_multipath_hash_policy"];
/// The value of these sysctls for addresses, protocol and ports.
const FIVE_TUPLE: &str = "1";
/// The sysctl by which an interface answers ARP requests for the node's other addresses; with 1 it does not.
const ARP_IGNORE: &str = "net.ipv4.conf.all.arp_ignore";

impl Network {
    /// Adds these entries to the nodes' tables.
    pub(super) fn route(&mut self, home: &Home, scenario: &Scenario, routes: &[Route]) -> Result<()> {
        let mut tables: HashMap<&str, HashMap<IpAddr, u32>> = HashMap::new();
        let controls = self.controls_by_route(home, scenario)?;
        for route in routes.iter().chain(&direct_routes(scenario, &controls, routes)) {
            let Route { node: name, source, destination, .. } = route;
            let Some(node) = self.configured(name) else { continue };
            let table = match source {
                None => u32::from(RouteHeader::RT_TABLE_MAIN),
                Some(source) => {
                    let known = tables.entry(name).or_default();
                    let next = FIRST_TABLE + u32::try_from(known.len())?;
                    let table = *known.entry(*source).or_insert(next);
                    if table == next {
                        let purpose = format!("adding a table for packets from {source} to {name}");
                        let rule = source_rule(*source, table);
                        node.netlink.create(RouteNetlinkMessage::NewRule(rule), purpose)?;
                    }
                    table
                }
            };
            let index = |hop: &NextHop| Ok((u32::try_from(node.index_of_ip(hop.interface)?)?, hop.gateway));
            let next_hops = route.next_hops.iter().map(index).collect::<Result<Vec<_>>>()?;
            let message = new_route(route, table, &next_hops, controls.get(route.node).copied());
            let purpose = format!("adding a route to {destination} to {name}");
            node.netlink.create(RouteNetlinkMessage::NewRoute(message), purpose)?;
        }
        self.nodes.iter_mut().try_for_each(|node| node.netlink.flush())?;
        let several = routes.iter().filter(|route| route.next_hops.len() > 1).map(|route| route.node);
        let several: HashSet<&str> = several.collect();
        for (number, node) in scenario.nodes.iter().enumerate() {
            let hashes = several.contains(node.name.as_str());
            let answers_by_source = node.kind == NodeKind::Host && tables.contains_key(node.name.as_str());
            if (hashes || answers_by_source) && self.configured(&node.name).is_some() {
                home.visit(&self.node(&node.name)?.namespace, || {
                    if hashes {
                        hash_flows(scenario.routing, number)?;
                    }
                    if answers_by_source { settings::write(ARP_IGNORE, "1") } else { Ok(()) }
                })
                .with_context(|| format!("configuring the choice of paths on {}", node.name))?;
            }
        }
        Ok(())
    }
}

/// Lets the node, in whose namespace the thread is, choose among equal next hops by its own hash.
fn hash_flows(routing: RoutingPolicy, node: usize) -> Result<()> {
    for policy in HASH_POLICIES {
        if settings::is_there(policy) {
            settings::write(policy, FIVE_TUPLE)?;
        }
    }
    match routing {
        RoutingPolicy::Ecmp { seed } if settings::is_there(HASH_SEED) => {
            settings::write(HASH_SEED, &node_seed(seed, node).to_string())
        }
        _ => Ok(()),
    }
}
