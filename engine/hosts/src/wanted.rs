//! Finds the settings that a scenario needs on each machine, and the problems that keep them from being set.

use crate::inventory::{MachineEntry, Permission};
use crate::mapping::Mapping;
use crate::settings::{CONGESTION_CONTROL, Change, SMALLEST_MTU, Setting, icmp_value, offloads_value};
use ipnet::IpNet;
use nettrial_scenario::{Buffer, Machine, MachineInterface, NodeKind, Place, Problem, Stack, Traffic};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// A setting that a scenario needs, and the part of the scenario that needs it.
pub struct Wanted {
    /// The setting and its value.
    pub change: Change,
    /// The object in the scenario; `field` is the object's field.
    place: Place,
    field: &'static str,
}

/// Returns all settings that the scenario needs on the machine of `node`.
pub fn of(mapping: &Mapping, node: &str) -> Vec<Wanted> {
    let Some((_, machine)) = mapping.machine(node) else { return Vec::new() };
    let Some((number, scenario_node)) =
        mapping.scenario.nodes.iter().enumerate().find(|(_, each)| each.name == node)
    else {
        return Vec::new();
    };
    let (at, mut wanted) = (Place::node(number, scenario_node), Vec::new());
    for (((link, number), planned), given) in mapping.interfaces(node).zip(&machine.interfaces) {
        let place = Place::link(link, &mapping.scenario.links[link]).within("ends").within(number);
        let setting = Setting::Mtu { interface: given.name.clone() };
        let change = Change { setting, value: planned.mtu.0.to_string() };
        wanted.push(Wanted { change, place, field: "mtu" });
        let setting = Setting::Offloads { interface: given.name.clone() };
        let change = Change { setting, value: offloads_value(scenario_node.offloads) };
        wanted.push(Wanted { change, place: at.clone(), field: "offloads" });
    }
    if !machine.starts.is_empty() {
        wanted.extend(on_the_labs_links(mapping, node, machine, &at));
    }
    if scenario_node.kind == NodeKind::Router {
        let value = icmp_value(scenario_node.filters_icmp).to_owned();
        let change = Change { setting: Setting::Icmp, value };
        wanted.push(Wanted { change, place: at.clone(), field: "filters_icmp" });
    }
    if let (Some(stack), NodeKind::Host) = (&scenario_node.stack, scenario_node.kind) {
        let mut sysctl = |field, name: &str, value: String| {
            let change = Change { setting: Setting::Sysctl { name: name.into() }, value };
            wanted.push(Wanted { change, place: at.within("stack"), field });
        };
        let has_tools =
            mapping.scenario.workload.iter().any(|flow| {
                (flow.from == node || flow.to == node) && matches!(flow.traffic, Traffic::Tool(_))
            });
        // nettrial's own agents choose the congestion control for each connection; other programs may not.
        if has_tools {
            sysctl("congestion_control", CONGESTION_CONTROL, stack.congestion_control.clone());
        }
        for (field, name, value) in sysctls(stack) {
            if !scenario_node.sysctls.contains_key(name) {
                sysctl(field, name, value);
            }
        }
    }
    for (name, value) in &scenario_node.sysctls {
        let change = Change { setting: Setting::Sysctl { name: name.clone() }, value: value.clone() };
        wanted.push(Wanted { change, place: at.clone(), field: "sysctls" });
    }
    wanted
}

/// Returns the addresses and the routes of a machine on the lab's links, which are those of the scenario.
fn on_the_labs_links(mapping: &Mapping, node: &str, machine: &MachineEntry, at: &Place) -> Vec<Wanted> {
    let mut wanted = Vec::new();
    let routes = mapping.paths.routes();
    for ((_, planned), given) in mapping.interfaces(node).zip(&machine.interfaces) {
        let interface = given.name.clone();
        let mut networks: Vec<IpNet> = planned.addresses.iter().map(|address| address.0).collect();
        networks.sort_by_key(|network| (network.addr(), network.prefix_len()));
        let value = networks.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
        let change = Change { setting: Setting::Addresses { interface: interface.clone() }, value };
        wanted.push(Wanted { change, place: at.clone(), field: "machine" });
        let own = routes.iter().filter(|route| route.node == node);
        let through = own.filter_map(|route| {
            let hop = route.next_hops.iter().find(|hop| hop.interface == planned.name)?;
            Some((route.destination, hop.gateway))
        });
        let mut through: Vec<(IpNet, Option<IpAddr>)> = through.collect();
        through.sort_by_key(|(network, gateway)| (network.addr(), network.prefix_len(), *gateway));
        let word = |(network, gateway): &(IpNet, Option<IpAddr>)| match gateway {
            Some(gateway) => format!("{network}>{gateway}"),
            None => network.to_string(),
        };
        let value = through.iter().map(word).collect::<Vec<_>>().join(" ");
        let change = Change { setting: Setting::Routes { interface }, value };
        wanted.push(Wanted { change, place: at.clone(), field: "machine" });
    }
    wanted
}

fn sysctls(stack: &Stack) -> [(&'static str, &'static str, String); 6] {
    let switch = |on: bool| if on { "1" } else { "0" }.to_owned();
    let triple = |buffer: &Buffer| format!("{} {} {}", buffer.minimum.0, buffer.initial.0, buffer.maximum.0);
    [
        ("window_scaling", "net.ipv4.tcp_window_scaling", switch(stack.window_scaling)),
        ("sack", "net.ipv4.tcp_sack", switch(stack.sack)),
        ("timestamps", "net.ipv4.tcp_timestamps", switch(stack.timestamps)),
        ("mtu_probing", "net.ipv4.tcp_mtu_probing", switch(stack.mtu_probing)),
        ("receive_buffer", "net.ipv4.tcp_rmem", triple(&stack.receive_buffer)),
        ("send_buffer", "net.ipv4.tcp_wmem", triple(&stack.send_buffer)),
    ]
}

/// Returns a problem for each setting that the scenario needs and that can't be set: for lack of a permission in
/// the inventory or of privileges on the machine, or because the machine does not support it. `machines` has the
/// descriptions of the machines.
pub fn problems(mapping: &Mapping, machines: &BTreeMap<String, Machine>) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (number, node) in mapping.scenario.nodes.iter().enumerate() {
        let Some((name, given)) = mapping.machine(&node.name) else {
            if node.filters_icmp {
                let expected = "false for a router that is not in the inventory";
                let hint = format!("assign the node {:?} to a machine of the inventory", node.name);
                let problem = Place::node(number, node).problem("filters_icmp", "true", expected, hint);
                problems.push(problem.of_machine());
            }
            continue;
        };
        let Some(machine) = machines.get(name) else { continue };
        problems.extend(problems_of(mapping, &node.name, machine, &given.may_change));
    }
    problems
}

/// Returns the same for `node` alone, whose machine has this description.
pub fn problems_of(
    mapping: &Mapping,
    node: &str,
    machine: &Machine,
    may_change: &[Permission],
) -> Vec<Problem> {
    of(mapping, node).iter().filter_map(|wanted| wanted.problem(machine, may_change)).collect()
}

/// Returns a problem for each host whose machine's kernel does not have the congestion control of its stack.
/// `without` has the missing ones by the names of the machines.
pub fn absent_controls(
    mapping: &Mapping,
    machines: &BTreeMap<String, Machine>,
    without: &BTreeMap<String, Vec<String>>,
) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (number, node) in mapping.scenario.nodes.iter().enumerate() {
        let (Some((name, _)), Some(stack)) = (mapping.machine(&node.name), &node.stack) else { continue };
        let control = &stack.congestion_control;
        if !without.get(name).is_some_and(|absent| absent.contains(control)) {
            continue;
        }
        let place = Place::node(number, node).within("stack");
        let expected =
            machines.get(name).map_or_else(String::new, |there| there.congestion_controls.join(", "));
        let hint = format!(
            "machine {name} does not have it, or its user may not choose it: run modprobe tcp_{control} as \
             root there; nettrial's own congestion controls exist only in the lab and the simulator"
        );
        problems.push(place.problem("congestion_control", control, expected, hint).of_machine());
    }
    problems
}

/// Returns the value of [`Setting::Addresses`] of an interface whose addresses have no prefixes: that of `value` if all
/// addresses in it are there.
fn addresses_there(there: &MachineInterface, value: &str) -> String {
    let is_there = |network: &str| {
        let address = network.split('/').next().and_then(|address| address.parse::<IpAddr>().ok());
        address.is_some_and(|address| there.addresses.contains(&address))
    };
    if value.split_whitespace().all(is_there) {
        return value.to_owned();
    }
    let named: Vec<String> = there.addresses.iter().map(ToString::to_string).collect();
    if named.is_empty() { "none".to_owned() } else { named.join(" ") }
}

/// Returns the settings of `wanted` that nettrial can change on the system of `machine`. The system keeps its own
/// values of the others, of which a trial warns.
pub fn had(wanted: Vec<Wanted>, machine: &Machine) -> Vec<Change> {
    let has = |change: &Change| changes(machine, change.setting.permission());
    wanted.into_iter().map(|wanted| wanted.change).filter(has).collect()
}

/// Returns true if nettrial can change settings of that kind on the system of `machine`: all of them on Linux,
/// only the MTU on other systems.
pub fn changes(machine: &Machine, permission: Permission) -> bool {
    machine.is_linux() || permission == Permission::Mtu
}

impl Wanted {
    fn problem(&self, machine: &Machine, may_change: &[Permission]) -> Option<Problem> {
        let (name, Change { setting, value }) = (&machine.name, &self.change);
        let machine_name = name;
        let interface = |called: &str| machine.interfaces.iter().find(|interface| interface.name == *called);
        let refuse = |value: &str, expected: String, hint: String| {
            Some(self.place.problem(self.field, value, expected, hint).of_machine())
        };
        let there = match setting {
            Setting::Mtu { interface: called } => {
                let there = interface(called)?;
                if let Some(problem) = self.unfit_mtu(machine, there) {
                    return Some(problem);
                }
                there.mtu_bytes.to_string()
            }
            Setting::Offloads { interface: called } => offloads_value(interface(called)?.offloads?),
            // A session that filtered ICMP messages has restored the setting by the time that the next session
            // begins.
            Setting::Icmp => icmp_value(false).to_owned(),
            Setting::Addresses { interface: called } => addresses_there(interface(called)?, value),
            // The system is not asked for its routes. Without the right ones, no path is found before the traffic.
            Setting::Routes { .. } => return None,
            Setting::Sysctl { name } => match machine.sysctls.get(name) {
                Some(value) => value.clone(),
                None if self.field == "sysctls" && machine.is_linux() => {
                    let hint = format!("the kernel of machine {machine_name} has no {name}");
                    return refuse(&format!("{name} {value}"), "a sysctl of that kernel".into(), hint);
                }
                None => return None,
            },
        };
        if there == *value {
            return None;
        }
        let (what, permission) = (setting.in_words(), setting.permission());
        if !changes(machine, permission) {
            let expected = format!("{there}, as machine {name} has it");
            let hint =
                format!("on {} nettrial can only change the MTU: set {what} there yourself", machine.system);
            return refuse(value, expected, hint);
        }
        let has = |value: &str| if value == "offloads" { "no offloads".to_owned() } else { value.to_owned() };
        if !may_change.contains(&permission) {
            let expected = format!("{}, as machine {name} has it", has(&there));
            let hint = format!(
                "the inventory does not permit changing {what}: add `{}` to may_change of {name}, or set it \
                 there yourself",
                permission.name()
            );
            return refuse(&has(value), expected, hint);
        }
        if !machine.is_root {
            let expected = format!("{}, as machine {name} has it", has(&there));
            let hint = format!(
                "the user there may not change {what}: reach {name} as root (on Windows as an \
                 administrator), for example with `command: [ssh, -T, {name}, sudo, -n]`"
            );
            return refuse(&has(value), expected, hint);
        }
        None
    }

    fn unfit_mtu(&self, machine: &Machine, there: &MachineInterface) -> Option<Problem> {
        let value: u64 = self.change.value.parse().ok()?;
        let in_words = format!("{value} B");
        if let Some(largest) = there.largest_mtu_bytes.filter(|largest| value > *largest) {
            let expected = format!("up to {largest} B on {} of machine {}", there.name, machine.name);
            let hint = "its driver does not support a larger MTU";
            return Some(self.place.problem(self.field, in_words, expected, hint).of_machine());
        }
        let hint = "below that, Linux removes the interface's IPv6 addresses";
        let expected = format!("{SMALLEST_MTU} B or more on machines of your own");
        (value < SMALLEST_MTU && value != there.mtu_bytes)
            .then(|| self.place.problem(self.field, in_words, expected, hint))
    }
}
