//! Finds what makes an OpenFlow controller impossible.

use crate::{
    ControllerApplication, ControllerMode, Directory, NodeKind, Offloads, Place, Problem, RoutingPolicy,
};

/// Adds everything that is wrong with the controller of a scenario.
pub fn check(directory: &Directory, problems: &mut Vec<Problem>) {
    let scenario = directory.scenario;
    let Some(controller) = &scenario.controller else { return };
    let place = Place::new("/controller", "the controller");
    if controller.paths == 0 {
        problems.push(place.problem("paths", 0, "1 or more", "a pair of addresses needs a path"));
    }
    if controller.application == ControllerApplication::Learning
        && controller.mode == ControllerMode::Proactive
    {
        let hint = "a switch learns where a host is from the host's first frame";
        problems.push(place.problem("mode", "proactive", "reactive with learning", hint));
    }
    if scenario.routing != (RoutingPolicy::ShortestPath {}) {
        let hint = "the controller's application chooses the paths";
        let routing = Place::new("/routing", "the routing");
        problems.push(routing.problem("policy", "given", "shortest_path with a controller", hint));
    }
    let is_switch = |name: &str| directory.node(name).is_some_and(|node| node.kind == NodeKind::Switch);
    if !scenario.nodes.iter().any(|node| node.kind == NodeKind::Switch) {
        let hint = "a controller has switches to control";
        problems.push(place.problem_here("controller", "given", "none without switches", hint));
    }
    for (number, link) in scenario.links.iter().enumerate() {
        if link.wlan.is_some() && link.interfaces.iter().any(|interface| is_switch(&interface.node)) {
            let hint = "an access point under a controller is not there yet";
            let expected = "cable, at switches under a controller";
            problems.push(Place::link(number, link).problem("medium", "wlan", expected, hint));
        }
    }
    for (number, node) in scenario.nodes.iter().enumerate() {
        if node.offloads != Offloads::default() {
            let hint = "Open vSwitch takes frames from its interfaces, not GSO packets";
            let place = Place::node(number, node);
            problems.push(place.problem("offloads", "given", "all off with a controller", hint));
        }
    }
}
