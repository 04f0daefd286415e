//! Finds the routing features of this kernel.

use super::shortfall;
use crate::error::{Context, Result};
use crate::network::{HASH_POLICIES, HASH_SEED};
use crate::settings;
use netlink_packet_route::rule::RuleMessage;
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use nettrial_netlink::Netlink;
use nettrial_routing::Paths;
use nettrial_scenario::{Place, Problem, RoutingPolicy, Scenario, Shortfall, chain};

/// Returns the routing features that this kernel lacks and that most trials do not need.
pub fn limits() -> Vec<Shortfall> {
    let mut limits = Vec::new();
    if let Err(error) = try_rules() {
        limits.push(shortfall(
            "routes by source address",
            &error,
            "a kernel with CONFIG_IP_MULTIPLE_TABLES and CONFIG_IPV6_MULTIPLE_TABLES; hosts with several \
             interfaces and the routing policy k_shortest_paths need it",
        ));
    }
    let mut lacks = |what: &str, setting: &str, remedy: &str| {
        if !settings::is_there(setting) {
            let why = format!("this kernel has no {setting}");
            limits.push(Shortfall::new(what, why, remedy));
        }
    };
    lacks(
        "several equal paths (ECMP)",
        HASH_POLICIES[0],
        "a kernel with CONFIG_IP_ROUTE_MULTIPATH; studies with the routing policy ecmp cannot run without",
    );
    lacks(
        "the seed of the choice among equal paths (ECMP)",
        HASH_SEED,
        "Linux 6.11 or later; without it the kernel draws a seed itself, and the scenario's has no effect",
    );
    limits
}

/// Fails if the kernel has no rules that choose a table.
fn try_rules() -> Result<()> {
    let mut netlink = Netlink::open()?;
    let mut families = vec![AddressFamily::Inet];
    families.extend(settings::is_there("net.ipv6").then_some(AddressFamily::Inet6));
    for family in families {
        let mut every = RuleMessage::default();
        every.header.family = family;
        netlink.dump(RouteNetlinkMessage::GetRule(every)).with_context(|| format!("rules of {family:?}"))?;
    }
    Ok(())
}

/// Returns the problems that keep this kernel from the routing of `scenario`, which has passed
/// [`nettrial_scenario::check`].
pub fn problems(scenario: &Scenario) -> Vec<Problem> {
    let mut problems = Vec::new();
    let routing = Place::new("/routing", "the routing");
    if matches!(scenario.routing, RoutingPolicy::Ecmp { .. }) && !settings::is_there(HASH_POLICIES[0]) {
        problems.push(routing.problem(
            "policy",
            "ecmp",
            "shortest_path, k_shortest_paths, spanning_tree",
            "this kernel uses a single path: it was built without CONFIG_IP_ROUTE_MULTIPATH",
        ));
    }
    if let Err(error) = try_rules()
        && let Some(route) = Paths::new(scenario).routes().iter().find(|route| route.source.is_some())
    {
        let place = routing.called(route.node);
        problems.push(place.problem_here(
            "routing",
            "a route by source address",
            "hosts with one interface, and another policy than k_shortest_paths",
            format!("this kernel routes by destination only: {}", chain(&error)),
        ));
    }
    problems
}
