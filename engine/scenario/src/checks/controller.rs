//! Finds what makes an OpenFlow controller impossible.

use crate::{
    Controller, ControllerApplication, ControllerMode, Directory, NodeKind, Offloads, Place, Problem,
    RoutingPolicy,
};

/// The longest that a trial may wait for a controller.
const LONGEST_NS: u64 = 3_600_000_000_000;

/// Adds everything that is wrong with the controller of a scenario.
pub fn check(directory: &Directory, problems: &mut Vec<Problem>) {
    let scenario = directory.scenario;
    let Some(controller) = &scenario.controller else { return };
    let place = Place::new("/controller", "the controller");
    kind(controller, &place, problems);
    if controller.paths == 0 {
        problems.push(place.problem("paths", 0, "1 or more", "a pair of addresses needs a path"));
    }
    if controller.application == Some(ControllerApplication::Learning)
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

/// Adds what is wrong with the choice of one of an application, a command and an address.
fn kind(controller: &Controller, place: &Place, problems: &mut Vec<Problem>) {
    let given = [
        ("application", controller.application.is_some()),
        ("command", !controller.command.is_empty()),
        ("address", controller.address.is_some()),
    ];
    let given: Vec<&str> =
        given.into_iter().filter(|(_, is_given)| *is_given).map(|(name, _)| name).collect();
    if given.len() != 1 {
        let value = if given.is_empty() { "none of them".to_owned() } else { given.join(" and ") };
        let hint =
            "the controller is one of nettrial's, a program that is started, or one that listens already";
        problems.push(place.problem_here("controller", value, "application, command or address", hint));
    }
    if controller.command.first().is_some_and(String::is_empty) {
        let hint = "the first word is the program: a path, or a name that PATH leads to";
        problems.push(place.problem("command", "\"\"", "a program and its arguments", hint));
    }
    if let Some(address) = controller.address.as_ref().filter(|_| controller.host_and_port().is_none()) {
        let expected = "tcp:HOST:PORT, such as tcp:192.0.2.1:6653 or tcp:[2001:db8::1]:6653";
        problems.push(place.problem("address", address, expected, "as Open vSwitch names a controller"));
    }
    for (name, limit) in [("connect_limit", controller.connect_limit), ("settle", controller.settle)] {
        if limit.0 == 0 || limit.0 > LONGEST_NS {
            let hint = "a controller takes some time, and a trial must end";
            problems.push(place.problem(name, limit, "1 ns to 60 min", hint));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::Scenario;
    use serde_json::{Value, json};

    /// Returns the problems of a scenario with this controller and one switch.
    fn settings_at_fault(controller: Value) -> Vec<String> {
        let scenario = Scenario::try_from(json!({
            "format": 1,
            "nodes": [{"name": "s", "kind": "switch"}],
            "links": [],
            "routing": {"policy": "shortest_path"},
            "controller": controller,
            "workload": [],
            "measurement": {"interval": "100 ms", "queue_drops": "allowed"},
        }))
        .unwrap();
        let problems =
            crate::check(&scenario).into_iter().filter(|problem| problem.pointer.contains("controller"));
        problems.map(|problem| format!("{}: {}", problem.setting, problem.value)).collect()
    }

    #[test]
    fn a_controller_is_an_application_a_command_or_an_address() {
        for one in [
            json!({"application": "ecmp"}),
            json!({"command": ["./own", "{port}"]}),
            json!({"address": "tcp:192.0.2.1:6653", "settle": "40 s"}),
            json!({"address": "tcp:[2001:db8::1]:6653"}),
            json!({"address": "tcp:onos.example:6653"}),
        ] {
            assert_eq!(settings_at_fault(one), Vec::<String>::new());
        }
        assert_eq!(settings_at_fault(json!({})), ["controller: none of them"]);
        let both = json!({"command": ["a"], "address": "tcp:a:1"});
        assert_eq!(settings_at_fault(both), ["controller: command and address"]);
        assert_eq!(settings_at_fault(json!({"command": [""]})), ["command: \"\""]);
        for address in ["192.0.2.1:6653", "tcp:192.0.2.1", "tcp::6653", "tcp:a:0", "tcp:a:65536", "ssl:a:1"] {
            assert_eq!(settings_at_fault(json!({"address": address})), [format!("address: {address}")]);
        }
        let limits = json!({"application": "ecmp", "connect_limit": "0 ns", "settle": "61 min"});
        assert_eq!(settings_at_fault(limits).len(), 2);
    }
}
