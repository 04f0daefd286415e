//! Sets the congestion control of programs that choose none where a namespace cannot have the stack's as its default.
//!
//! A namespace may only have a default that the machine allows to everyone (net.ipv4.tcp_allowed_congestion_control;
//! net/ipv4/tcp_cong.c, tcp_set_default_congestion_control). A route may name any, and connections over it begin with that one
//! (RTAX_CC_ALGO; tcp_ca_dst_init). So the routes of such hosts do.

use super::Network;
use crate::error::Result;
use crate::namespace::Home;
use crate::settings;
use nettrial_routing::{NextHop, Route};
use nettrial_scenario::{Flow, Interface, IpVersion, Scenario};
use std::collections::HashMap;

/// The congestion control that a host's routes name, by host.
pub type ByRoute<'a> = HashMap<&'a str, &'a str>;

impl Network {
    /// Returns the hosts whose routes have to name their stack's congestion control.
    pub(super) fn controls_by_route<'a>(&self, home: &Home, scenario: &'a Scenario) -> Result<ByRoute<'a>> {
        let mut controls = ByRoute::new();
        for name in flows(scenario).flat_map(|flow| [flow.from.as_str(), flow.to.as_str()]) {
            let node = scenario.nodes.iter().find(|node| node.name == name);
            let Some(stack) = node.and_then(|node| node.stack.as_ref()) else { continue };
            let built = self.node(name)?;
            if !built.is_bare
                && home.visit(&built.namespace, settings::default_congestion_control)?
                    != stack.congestion_control
            {
                controls.insert(name, &stack.congestion_control);
            }
        }
        Ok(controls)
    }
}

/// Returns the entries that such hosts need beside `routes`: one for each peer on a network of their own, to which the
/// kernel's own entry leads, which names no congestion control.
pub fn direct_routes<'a>(
    scenario: &'a Scenario,
    controls: &ByRoute<'a>,
    routes: &[Route<'a>],
) -> Vec<Route<'a>> {
    let mut made: Vec<Route> = Vec::new();
    let ends = flows(scenario).flat_map(|flow| [(flow, &flow.from, &flow.to), (flow, &flow.to, &flow.from)]);
    for (flow, near, far) in ends.filter(|(_, near, _)| controls.contains_key(near.as_str())) {
        for own in interfaces(scenario, near) {
            for peer in interfaces(scenario, far).flat_map(|interface| &interface.addresses) {
                let is_near = |mine: &nettrial_scenario::InterfaceAddress| mine.0.contains(&peer.address());
                if IpVersion::of(peer.address()) != flow.ip || !own.addresses.iter().any(is_near) {
                    continue;
                }
                let route = Route {
                    node: near,
                    source: None,
                    destination: peer.address().into(),
                    preferred_source: None,
                    next_hops: vec![NextHop { gateway: None, interface: &own.name }],
                };
                let is_same = |other: &&Route| {
                    (other.node, other.source, other.destination) == (route.node, None, route.destination)
                };
                if !routes.iter().chain(&made).any(|other| is_same(&other)) {
                    made.push(route);
                }
            }
        }
    }
    made
}

/// The flows whose program chooses no congestion control.
fn flows(scenario: &Scenario) -> impl Iterator<Item = &Flow> {
    scenario.workload.iter().filter(|flow| nettrial_traffic::leaves_congestion_control(flow))
}

fn interfaces<'a>(scenario: &'a Scenario, node: &str) -> impl Iterator<Item = &'a Interface> {
    scenario.links.iter().flat_map(|link| &link.interfaces).filter(move |interface| interface.node == node)
}
