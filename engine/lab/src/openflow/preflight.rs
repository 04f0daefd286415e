//! Finds the reasons why this machine can't run switches under a controller.

use super::{PYTHON, SCHEMA, python, search_path};
use nettrial_scenario::{Link, NodeKind, Place, Problem, Rate, Scenario, Shortfall};
use std::path::Path;

/// The programs of Open vSwitch that nettrial uses.
const PROGRAMS: [&str; 5] = ["ovsdb-tool", "ovsdb-server", "ovs-vswitchd", "ovs-vsctl", "ovs-ofctl"];
/// The device through which a bridge of the user-space datapath has its own interface.
const TUN: &str = "/dev/net/tun";

/// The highest rate of a link at a switch. Open vSwitch's user-space datapath carried 745 Mbit/s of TCP through
/// one bridge, and 317 Mbit/s through eight, on a virtual machine with two CPUs (`benches/openflow.py`). In a trial, the frames that it can't carry are counted and lead
/// to a warning.
const CEILING: Rate = Rate(500_000_000);

/// A missing requirement, and its remedy.
struct Lack {
    what: String,
    remedy: &'static str,
}

/// Returns the missing requirements of switches under a controller. os-ken is required only by nettrial's own
/// applications.
fn lacks(with_application: bool) -> Vec<Lack> {
    let mut lacks = Vec::new();
    let path = search_path();
    let is_there = |name: &&str| std::env::split_paths(&path).any(|directory| directory.join(name).is_file());
    let missing: Vec<&str> = PROGRAMS.into_iter().filter(|name| !is_there(name)).collect();
    let has_schema = Path::new(SCHEMA).is_file();
    if !missing.is_empty() || !has_schema {
        let what = if missing.is_empty() { SCHEMA.to_owned() } else { missing.join(", ") };
        let remedy = "install Open vSwitch: apt-get install openvswitch-switch";
        lacks.push(Lack { what, remedy });
    }
    if with_application && python().is_none() {
        let what = format!("os-ken ({PYTHON} names no Python that has it)");
        lacks.push(Lack {
            what,
            remedy: "install the controllers' library: pip install 'nettrial[openflow]'",
        });
    }
    if !Path::new(TUN).exists() {
        let remedy = "modprobe tun; a container needs --device /dev/net/tun";
        lacks.push(Lack { what: TUN.to_owned(), remedy });
    }
    lacks
}

/// Returns the missing requirements of switches under a controller, which most trials do not need.
pub fn limits() -> Vec<Shortfall> {
    let limit = |lack: Lack| {
        Shortfall::new(
            "switches under an OpenFlow controller",
            format!("there is no {}", lack.what),
            lack.remedy,
        )
    };
    lacks(true).into_iter().map(limit).collect()
}

/// Returns the reasons why the switches of `scenario` can't be under its controller on this machine. `can_return`
/// is true if the engine can return to its original network namespace.
pub fn problems(scenario: &Scenario, can_return: bool) -> Vec<Problem> {
    let Some(controller) = &scenario.controller else { return Vec::new() };
    let place = Place::new("/controller", "the controller");
    let problem = |lack: Lack| {
        let expected = format!("none, because {} is not there", lack.what);
        place.problem_here("controller", "given", expected, lack.remedy).of_machine()
    };
    let mut problems: Vec<Problem> =
        lacks(controller.application.is_some()).into_iter().map(problem).collect();
    if let Some(program) =
        controller.command.first().filter(|program| !nettrial_traffic::is_installed(program))
    {
        let hint = "the first word is the program: a path, or a name that PATH leads to";
        problems.push(place.problem("command", program, "an installed program", hint).of_machine());
    }
    if controller.address.is_some() && !can_return {
        let hint = "only root can return from the lab's network to the machine's: run as root";
        problems.push(place.problem("address", "given", "none for this user", hint).of_machine());
    }
    if !scenario.measurement.cpu.is_empty() {
        let hint = "the work of Open vSwitch and of the controller is on any CPU, those of hosts among them";
        let measurement = Place::new("/measurement", "the measurement");
        let hosts = scenario.measurement.cpu.join(", ");
        problems.push(measurement.problem("cpu", hosts, "none with a controller", hint));
    }
    let is_switch = |name: &str| scenario.node(name).is_some_and(|node| node.kind == NodeKind::Switch);
    for (number, link) in scenario.links.iter().enumerate() {
        let is_at_switch = link.interfaces.iter().any(|interface| is_switch(&interface.node));
        let is_fast = |direction: &Link| is_at_switch && direction.rate.is_none_or(|rate| rate > CEILING);
        problems.extend(Place::of_directions(number, link, |direction, place| {
            let value = direction.rate.map_or("none".to_owned(), |rate| rate.to_string());
            let expected = format!("up to {CEILING}, at a switch under a controller");
            let hint = "Open vSwitch's user-space datapath carries no more";
            let refused = || place.problem("rate", value, expected, hint);
            is_fast(direction).then(refused).into_iter().collect()
        }));
    }
    for (number, node) in scenario.nodes.iter().enumerate() {
        if node.kind == NodeKind::Host && node.system.is_some() {
            let hint = "a guest leaves checksums to its interface, and Open vSwitch takes frames as they are";
            let expected = "none with a controller";
            problems.push(Place::node(number, node).problem("system", "given", expected, hint));
        }
    }
    problems
}
