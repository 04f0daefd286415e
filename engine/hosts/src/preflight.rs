//! Finds the capabilities of the user's machines by connecting to each of them.

use crate::error::{Context, Error, Result};
use crate::inventory::MachineEntry;
use crate::message::{FromMachine, ToMachine};
use crate::settings::{Change, Setting};
use crate::{Hosts, Permission, capabilities, wanted};
use nettrial_scenario::{Environment, Fault, IpVersion, Machine, MachineReach, Preflight, Shortfall};
use nettrial_session::{Agents, Direction, path_mtus};
use nettrial_traffic::Cookie;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// The MTU that most switches and interfaces with jumbo frames support.
const JUMBO: u64 = 9000;

/// Connects to every machine of the inventory; if `thorough`, also measures the size of packets that pass between
/// them.
pub fn examine(hosts: &mut Hosts, thorough: bool) -> Preflight {
    let names: Vec<String> = hosts.inventory.machines.keys().cloned().collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut missing = hosts.connect(&names);
    let (mut limits, mut reaches) = (Vec::new(), BTreeMap::new());
    for (name, machine) in hosts.machines.iter().filter(|(name, _)| hosts.lines.contains_key(*name)) {
        if let Some(entry) = hosts.inventory.machines.get(name) {
            missing.extend(lacking(name, entry, machine));
        }
    }
    if thorough && missing.is_empty() {
        match between(hosts) {
            Ok(of_machines) => reaches = of_machines,
            Err(error) => missing.push(
                Shortfall::new(
                    "packets between the machines",
                    nettrial_scenario::chain(&error),
                    "let UDP and TCP pass between the addresses in the inventory, on all ports above 1023",
                )
                .of_kind(error.kind()),
            ),
        }
        // A trial connects to the machines anew.
        hosts.lines.clear();
    }
    for (name, of_machines) in &reaches {
        limits.extend(of_machines.iter().filter_map(|reach| too_small(name, reach)));
    }
    let mut machines: Vec<Machine> = hosts.machines.values().cloned().collect();
    for machine in &mut machines {
        machine.reaches = reaches.remove(&machine.name).unwrap_or_default();
    }
    Preflight {
        missing,
        limits,
        capabilities: Some(Box::new(capabilities())),
        environment: environment(machines),
    }
}

/// Describes this machine, which drives the others.
fn environment(machines: Vec<Machine>) -> Environment {
    let here = crate::describe::describe(&[]).ok();
    let text = |part: fn(&Machine) -> String| here.as_ref().map_or_else(|| "unknown".into(), part);
    Environment {
        engine_version: env!("CARGO_PKG_VERSION").into(),
        kernel: text(|machine| machine.kernel.clone()),
        processor: text(|machine| machine.processor.clone()),
        processors: here.as_ref().map_or(1, |machine| machine.processors),
        privileges: "none".into(),
        congestion_controls: Vec::new(),
        sysctls: BTreeMap::new(),
        timer_lateness: None,
        apparatus: BTreeMap::new(),
        machines,
    }
}

/// Returns what a machine lacks compared with its entry in the inventory.
fn lacking(name: &str, entry: &MachineEntry, machine: &Machine) -> Vec<Shortfall> {
    let mut missing = Vec::new();
    let mut lack = |what: String, why: &str, remedy: String| {
        missing.push(Shortfall::new(format!("machine {name}: {what}"), why, remedy));
    };
    for interface in &entry.interfaces {
        let Some(there) = machine.interfaces.iter().find(|reported| reported.name == interface.name) else {
            let remedy = "name an interface in the inventory that `ip link` shows there".into();
            lack(format!("interface {}", interface.name), "the machine has no such interface", remedy);
            continue;
        };
        for address in interface.addresses.iter().filter(|address| !there.addresses.contains(address)) {
            let remedy = format!(
                "run `ip address add {address}/… dev {}` there, or correct the inventory",
                interface.name
            );
            lack(
                format!("address {address} on {}", interface.name),
                "the interface does not have it",
                remedy,
            );
        }
        if !there.is_up {
            let remedy = format!("run `ip link set {} up` there, and check the cable", interface.name);
            lack(format!("interface {}", interface.name), "its link is down", remedy);
        }
    }
    let named = |wanted: &dyn Fn(&Permission) -> bool| {
        let names = entry.may_change.iter().filter(|permission| wanted(permission));
        names.map(|permission| permission.name()).collect::<Vec<&str>>()
    };
    let names = named(&|_| true);
    let refused = named(&|permission| !wanted::changes(machine, *permission));
    if !refused.is_empty() {
        let names = refused.join(", ");
        lack(
            format!("a way to change {names}"),
            &format!("on {} nettrial can only change the MTU", machine.system),
            format!("remove {names} from its may_change, and set there yourself what a study needs"),
        );
    } else if !machine.is_root && !names.is_empty() {
        lack(
            format!("the right to change {}", names.join(", ")),
            if machine.is_linux() {
                "the user there is not root"
            } else {
                "the user there does not have the privileges"
            },
            format!(
                "reach it as root, for example with `ssh: root@{name}` or `command: [ssh, -T, {name}, sudo, \
                 -n]`; or remove may_change from the inventory"
            ),
        );
    }
    missing
}

/// An address of a machine, and the size of the largest packets with which its interface is tried.
struct Probe<'a> {
    machine: &'a str,
    address: IpAddr,
    largest: u64,
}

/// Measures the size of the packets that reach each machine from each of the others. The MTU of an interface is
/// raised for the measurement if it may be changed, and restored afterwards.
fn between(hosts: &Hosts) -> Result<BTreeMap<String, Vec<MachineReach>>> {
    let mut agents = Agents::default();
    let mut probes = Vec::new();
    for (name, line) in &hosts.lines {
        let (Some(entry), Some(machine)) = (hosts.inventory.machines.get(name), hosts.machines.get(name))
        else {
            continue;
        };
        agents.start(name, |sink| Ok::<_, Error>(line.agent(sink)))?;
        let may = entry.may_change.contains(&Permission::Mtu);
        let mut settings = Vec::new();
        for interface in &entry.interfaces {
            let Some(there) = machine.interfaces.iter().find(|reported| reported.name == interface.name)
            else {
                continue;
            };
            let admitted = there.largest_mtu_bytes.unwrap_or(there.mtu_bytes).min(JUMBO);
            let largest = if may { admitted.max(there.mtu_bytes) } else { there.mtu_bytes };
            if largest != there.mtu_bytes {
                let setting = Setting::Mtu { interface: interface.name.clone() };
                settings.push(Change { setting, value: largest.to_string() });
            }
            let addresses = interface.addresses.iter();
            probes.extend(addresses.map(|&address| Probe { machine: name, address, largest }));
        }
        line.ask(&ToMachine::Begin { settings, agent: true })?;
    }
    for line in hosts.lines.values() {
        let begun = line.answer()?;
        if !matches!(begun, FromMachine::Begun) {
            return Err(Error::Answer(format!("{} sent an unexpected answer", line.name)));
        }
    }
    probe(&mut agents, &probes)
}

fn probe(agents: &mut Agents, probes: &[Probe]) -> Result<BTreeMap<String, Vec<MachineReach>>> {
    let mut directions = Vec::new();
    for from in probes {
        for to in probes {
            let same_version = from.address.is_ipv4() == to.address.is_ipv4();
            if from.machine != to.machine && same_version {
                directions.push(Direction {
                    from: (from.machine, from.address.into()),
                    to: (to.machine, to.address.into()),
                    reached: to.address,
                    expected: from.largest.min(to.largest),
                    round_trip: None,
                });
            }
        }
    }
    let mtus = path_mtus(agents, &directions, Cookie(rand::random())).context("probing")?;
    let mut reaches: BTreeMap<String, Vec<MachineReach>> = BTreeMap::new();
    for (direction, mtu) in directions.iter().zip(mtus) {
        let reach = MachineReach {
            to: direction.to.0.to_owned(),
            ip: IpVersion::of(direction.reached),
            tried_bytes: direction.expected,
            passed_bytes: mtu.largest,
        };
        let of = reaches.entry(direction.from.0.to_owned()).or_default();
        // If a machine has several addresses, the one that receives the largest packets counts.
        match of.iter_mut().find(|other| other.to == reach.to && other.ip == reach.ip) {
            Some(other) if other.passed_bytes < reach.passed_bytes => *other = reach,
            Some(_) => {}
            None => of.push(reach),
        }
    }
    Ok(reaches)
}

fn too_small(name: &str, reach: &MachineReach) -> Option<Shortfall> {
    let what =
        format!("packets of {} B from {name} to {}, IPv{}", reach.tried_bytes, reach.to, u8::from(reach.ip));
    let remedy = format!(
        "raise the MTU of every switch and router on the path; `nettrial path` on {name} shows where it is \
         smaller"
    );
    match reach.passed_bytes {
        0 => Some(Shortfall::new(
            what,
            "no packet passes",
            "connect the two machines by a network, set up routes, and let UDP pass",
        )),
        passed if passed < reach.tried_bytes => {
            Some(Shortfall::new(what, format!("the largest packet that passes has {passed} B"), remedy))
        }
        _ => None,
    }
}
