//! Finds what makes links and interfaces impossible.

mod discipline;
mod traces;
mod tunnel;
mod wlan;

use super::{is_name, names};
use crate::{
    Directory, Interface, IpVersion, Link, Medium, NodeKind, Place, Problem, QueueLimit, Scenario, Size,
};
use std::collections::HashSet;
use std::net::IpAddr;

/// The largest size of an IPv4 packet, or of an IPv6 packet that is not a jumbogram, bytes.
const LARGEST_MTU: u64 = 65_535;
/// The kernel's IFNAMSIZ less the closing zero.
const INTERFACE_NAME_BYTES: usize = 15;

/// Adds everything that is wrong with the links and interfaces of a scenario.
pub fn check(directory: &Directory, problems: &mut Vec<Problem>) {
    for (number, link) in directory.scenario.links.iter().enumerate() {
        let place = Place::link(number, link);
        match link.medium {
            Medium::Cable => check_cable(link, &place, problems),
            Medium::Wlan => {
                wlan::check(directory, link, &place, problems);
                continue;
            }
        }
        check_all_interfaces(directory, link, &place, problems);
        tunnel::check(directory, link, &place, problems);
        problems.extend(Place::of_directions(number, link, check_direction));
    }
    check_interfaces(directory.scenario, problems);
}

/// Returns what is wrong with the settings of one direction of a cable.
fn check_direction(link: &Link, place: &Place) -> Vec<Problem> {
    let mut problems = Vec::new();
    if let Some(rate) = link.rate {
        if rate.0 < 8_000 {
            problems.push(place.problem(
                "rate",
                rate,
                "8 kbit/s or more",
                "leave the rate out for a link that is not shaped",
            ));
        }
        if link.queue.is_none() {
            problems.push(place.problem(
                "queue",
                "none",
                "a queue limit",
                "a link with a rate needs a queue",
            ));
        }
    }
    if let Some(trace) = &link.rate_trace {
        if link.rate.is_none() {
            problems.push(place.problem("rate", "none", "the mean of the trace", "a trace has a mean rate"));
        }
        traces::check_rate(trace, place, &mut problems);
    }
    if let Some(trace) = &link.delay_trace {
        traces::check_delay(link, trace, place, &mut problems);
    }
    check_impairment(link, &place.within("impairment"), &mut problems);
    discipline::check(link, place, &mut problems);
    match link.queue {
        Some(QueueLimit::Packets(0) | QueueLimit::Bytes(Size(0))) => problems.push(place.problem(
            "queue",
            "0",
            "1 packet or more",
            "a queue that holds nothing passes nothing",
        )),
        Some(QueueLimit::Bytes(limit)) if u32::try_from(limit.0).is_err() => problems.push(place.problem(
            "queue",
            limit,
            "up to 4294967295 B",
            "the kernel keeps it in 32 bits",
        )),
        Some(limit) if link.rate.is_none() => problems.push(place.problem(
            "queue",
            limit,
            "none",
            "a link without a rate never queues: give it a rate",
        )),
        _ => {}
    }
    problems
}

/// Adds what is wrong with the interfaces of a link.
fn check_all_interfaces(directory: &Directory, link: &Link, place: &Place, problems: &mut Vec<Problem>) {
    let mut nodes = HashSet::new();
    if let Some(interface) = link.interfaces.iter().find(|interface| !nodes.insert(&interface.node)) {
        problems.push(place.problem(
            "ends",
            &interface.node,
            "different nodes",
            "a link joins a node to others",
        ));
    }
    for (number, interface) in link.interfaces.iter().enumerate() {
        check_interface(directory, &place.within("ends").within(number), interface, problems);
    }
}

/// Adds what is wrong with the number of a cable's interfaces.
fn check_cable(link: &Link, place: &Place, problems: &mut Vec<Problem>) {
    if link.interfaces.len() != 2 {
        let value = match link.interfaces.len() {
            1 => "1 interface".to_owned(),
            many => format!("{many} interfaces"),
        };
        problems.push(place.problem("ends", value, "2 interfaces", "a cable joins two interfaces"));
    }
    if link.wlan.is_some() {
        problems.push(place.problem("wlan", "given", "none", "only a link with the medium wlan has it"));
    }
}

/// Returns `place` with the interface, and not its link, as the object.
fn called(interface: &Interface, place: &Place) -> Place {
    place.clone().called(format!("interface {} of {}", interface.name, interface.node))
}

fn check_interface(
    directory: &Directory,
    of_link: &Place,
    interface: &Interface,
    problems: &mut Vec<Problem>,
) {
    let place = called(interface, of_link);
    if !is_name(&interface.name) || interface.name.len() > INTERFACE_NAME_BYTES || interface.name == "lo" {
        problems.push(place.problem(
            "interface",
            &interface.name,
            "1 to 15 letters, digits, - and _, and not lo",
            "rename the interface",
        ));
    }
    let has_ipv6 = interface.addresses.iter().any(|address| address.address().is_ipv6());
    let (smallest, why) = if has_ipv6 {
        (IpVersion::V6.minimum_mtu(), "IPv6's smallest MTU (RFC 8200 section 5)")
    } else {
        (IpVersion::V4.minimum_mtu(), "IPv4's smallest MTU (RFC 791 section 3.2)")
    };
    if !(smallest..=LARGEST_MTU).contains(&interface.mtu.0) {
        problems.push(of_link.problem(
            "mtu",
            interface.mtu,
            format!("{smallest} B to {LARGEST_MTU} B"),
            format!("{smallest} is {why}"),
        ));
    }
    match directory.node(&interface.node).map(|node| node.kind) {
        None => problems.push(of_link.problem(
            "node",
            &interface.node,
            names(directory.scenario),
            "the link names a node that is not there",
        )),
        Some(NodeKind::Switch) if !interface.addresses.is_empty() => {
            problems.push(place.within("addresses").problem_here(
                "address",
                interface.addresses[0].0,
                "none",
                "a switch has no addresses",
            ))
        }
        _ => {}
    }
}

fn check_impairment(link: &Link, place: &Place, problems: &mut Vec<Problem>) {
    let impairment = &link.impairment;
    let mut probabilities = vec![
        ("loss", impairment.loss),
        ("duplication", impairment.duplication),
        ("reordering", impairment.reordering),
    ];
    if let Some(bursts) = impairment.bursts {
        let of_bursts =
            [("bursts.enter", bursts.enter), ("bursts.leave", bursts.leave), ("bursts.loss", bursts.loss)];
        probabilities.extend(of_bursts);
    }
    for (setting, probability) in probabilities {
        if !(0.0..=1.0).contains(&probability) {
            problems.push(place.problem(
                setting,
                probability,
                "0 to 1",
                "it is a probability: 0.01 is one frame in a hundred",
            ));
        }
    }
    if impairment.reordering > 0.0 && impairment.reordering_delay.0 == 0 {
        problems.push(place.problem(
            "reordering_delay",
            impairment.reordering_delay,
            "above 0",
            "a frame must be held back for later ones to overtake it",
        ));
    }
}

fn check_interfaces(scenario: &Scenario, problems: &mut Vec<Problem>) {
    let mut interfaces = HashSet::new();
    let mut addresses: HashSet<IpAddr> = HashSet::new();
    let places = scenario.links.iter().enumerate().flat_map(|(number, link)| {
        let place = Place::link(number, link).within("ends");
        link.interfaces.iter().enumerate().map(move |(number, interface)| (interface, place.within(number)))
    });
    for (interface, place) in places {
        let place = called(interface, &place);
        if !interfaces.insert((&interface.node, &interface.name)) {
            problems.push(place.problem(
                "interface",
                &interface.name,
                "a name the node has once",
                "rename one of the two",
            ));
        }
        for (number, address) in interface.addresses.iter().enumerate() {
            if !addresses.insert(address.address()) {
                problems.push(place.within("addresses").within(number).problem_here(
                    "address",
                    address.0,
                    "an address no other interface has",
                    "two interfaces have it",
                ));
            }
        }
    }
}
