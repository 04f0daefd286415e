//! Finds what the user's machines can run by reaching each.

use crate::inventory::Place;
use crate::message::{FromMachine, ToMachine};
use crate::settings::{Change, Setting};
use crate::{Hosts, Permission, capabilities, wanted};
use anyhow::{Context, Result, ensure};
use nettrial_scenario::{Environment, IpVersion, Machine, MachineReach, Preflight, Shortfall};
use nettrial_session::{Agents, Direction, path_mtus};
use nettrial_traffic::Cookie;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// The MTU that most switches and interfaces admit which admit jumbo frames.
const JUMBO: u64 = 9000;

/// Reaches every machine of the inventory; `thorough`: looks how large packets pass between them, too.
pub fn examine(hosts: &mut Hosts, thorough: bool) -> Preflight {
    let names: Vec<String> = hosts.inventory.machines.keys().cloned().collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut missing = hosts.connect(&names);
    let (mut limits, mut reaches) = (Vec::new(), BTreeMap::new());
    for (name, machine) in hosts.found.iter().filter(|(name, _)| hosts.lines.contains_key(*name)) {
        if let Some(place) = hosts.inventory.machines.get(name) {
            missing.extend(lacking(name, place, machine));
        }
    }
    if thorough && missing.is_empty() {
        match between(hosts) {
            Ok(found) => reaches = found,
            Err(error) => missing.push(Shortfall {
                what: "packets between the machines".into(),
                why: format!("{error:#}"),
                remedy:
                    "let UDP and TCP pass between the addresses of the inventory, at every port above 1023"
                        .into(),
            }),
        }
        // A trial begins anew.
        hosts.lines.clear();
    }
    for (name, found) in &reaches {
        limits.extend(found.iter().filter_map(|reach| too_small(name, reach)));
    }
    let mut machines: Vec<Machine> = hosts.found.values().cloned().collect();
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

/// This machine, which drives the others.
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
        machines,
    }
}

/// Returns what a machine that was reached lacks of what the inventory says.
fn lacking(name: &str, place: &Place, machine: &Machine) -> Vec<Shortfall> {
    let mut missing = Vec::new();
    let mut lack = |what: String, why: &str, remedy: String| {
        missing.push(Shortfall { what: format!("machine {name}: {what}"), why: why.into(), remedy });
    };
    for given in &place.interfaces {
        let Some(there) = machine.interfaces.iter().find(|interface| interface.name == given.name) else {
            let remedy = "give the interface that `ip link` shows there in the inventory".into();
            lack(format!("interface {}", given.name), "it is not there", remedy);
            continue;
        };
        for address in given.addresses.iter().filter(|address| !there.addresses.contains(address)) {
            let remedy =
                format!("ip address add {address}/… dev {} there, or mend the inventory", given.name);
            lack(format!("address {address} on {}", given.name), "the interface has it not", remedy);
        }
        if !there.is_up {
            let remedy = format!("ip link set {} up there, and look at the cable", given.name);
            lack(format!("interface {}", given.name), "its link is down", remedy);
        }
    }
    let named = |wanted: &dyn Fn(&Permission) -> bool| {
        let names = place.may_change.iter().filter(|permission| wanted(permission));
        names.map(|permission| permission.name()).collect::<Vec<&str>>()
    };
    let names = named(&|_| true);
    let refused = named(&|permission| !wanted::changes(machine, *permission));
    if !refused.is_empty() {
        let names = refused.join(", ");
        lack(
            format!("a way to change {names}"),
            &format!("this is {}, where nettrial changes the MTU alone", machine.system),
            format!("take {names} out of its may_change, and set there yourself what a study needs"),
        );
    } else if !machine.is_root && !names.is_empty() {
        lack(
            format!("the right to change {}", names.join(", ")),
            if machine.is_linux() {
                "the user there is not root"
            } else {
                "the user there has no right to it"
            },
            format!(
                "reach it as root, such as by `ssh: root@{name}` or `command: [ssh, -T, {name}, sudo, -n]`; or take \
                 may_change out of the inventory"
            ),
        );
    }
    missing
}

/// An address of a machine, and the largest packets that its interface is tried with.
struct Probe<'a> {
    machine: &'a str,
    address: IpAddr,
    largest: u64,
}

/// Measures how large packets reach each machine from each other one. The MTU of an interface that may be changed is raised
/// for it, and restored.
fn between(hosts: &Hosts) -> Result<BTreeMap<String, Vec<MachineReach>>> {
    let mut agents = Agents::default();
    let mut probes = Vec::new();
    for (name, line) in &hosts.lines {
        let (Some(place), Some(machine)) = (hosts.inventory.machines.get(name), hosts.found.get(name)) else {
            continue;
        };
        agents.start(name, |sink| Ok(line.agent(sink)))?;
        let may = place.may_change.contains(&Permission::Mtu);
        let mut settings = Vec::new();
        for given in &place.interfaces {
            let Some(there) = machine.interfaces.iter().find(|interface| interface.name == given.name) else {
                continue;
            };
            let admitted = there.largest_mtu_bytes.unwrap_or(there.mtu_bytes).min(JUMBO);
            let largest = if may { admitted.max(there.mtu_bytes) } else { there.mtu_bytes };
            if largest != there.mtu_bytes {
                let setting = Setting::Mtu { interface: given.name.clone() };
                settings.push(Change { setting, value: largest.to_string() });
            }
            let addresses = given.addresses.iter();
            probes.extend(addresses.map(|&address| Probe { machine: name, address, largest }));
        }
        line.ask(&ToMachine::Begin { settings, agent: true })?;
    }
    for line in hosts.lines.values() {
        let begun = line.answer()?;
        ensure!(matches!(begun, FromMachine::Begun), "{} answers something else", line.name);
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
                    from: (from.machine, from.address),
                    to: (to.machine, to.address),
                    reached: to.address,
                    expected: from.largest.min(to.largest),
                });
            }
        }
    }
    let found = path_mtus(agents, &directions, Cookie(rand::random())).context("probing")?;
    let mut reaches: BTreeMap<String, Vec<MachineReach>> = BTreeMap::new();
    for (direction, found) in directions.iter().zip(found) {
        let reach = MachineReach {
            to: direction.to.0.to_owned(),
            ip: IpVersion::of(direction.reached),
            tried_bytes: direction.expected,
            passed_bytes: found.largest,
        };
        let of = reaches.entry(direction.from.0.to_owned()).or_default();
        // Of several addresses of a machine the one that is reached best counts.
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
        "raise the MTU of every switch and router on the way; `nettrial path` on {name} shows where it is smaller"
    );
    match reach.passed_bytes {
        0 => Some(Shortfall {
            what,
            why: "no packet passes".into(),
            remedy: "join the two machines by a network, give routes to it, and let UDP pass".into(),
        }),
        passed if passed < reach.tried_bytes => {
            Some(Shortfall { what, why: format!("the largest that passes is {passed} B"), remedy })
        }
        _ => None,
    }
}
