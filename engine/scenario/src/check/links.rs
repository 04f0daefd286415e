//! What makes links and interfaces impossible.

mod discipline;

use super::{Problem, is_name, names};
use crate::{Directory, End, IpVersion, Link, NodeKind, QueueLimit, Scenario, Size};
use std::collections::HashSet;
use std::net::IpAddr;

/// The largest packet an IPv4 or non-jumbogram IPv6 packet can be, bytes.
const LARGEST_MTU: u64 = 65_535;
/// The kernel's IFNAMSIZ less the closing zero.
const INTERFACE_NAME_BYTES: usize = 15;

/// Adds everything that is wrong with the links and interfaces of a scenario.
pub fn check(directory: &Directory, problems: &mut Vec<Problem>) {
    for link in &directory.scenario.links {
        check_link(directory, link, problems);
    }
    check_interfaces(directory.scenario, problems);
}

/// A link in words: its two nodes.
fn describe(link: &Link) -> String {
    format!("link {} - {}", link.ends[0].node, link.ends[1].node)
}

fn check_link(directory: &Directory, link: &Link, problems: &mut Vec<Problem>) {
    let object = describe(link);
    if link.ends[0].node == link.ends[1].node {
        problems.push(Problem::new(
            "ends",
            &object,
            &link.ends[0].node,
            "two different nodes",
            "a link joins two nodes",
        ));
    }
    if let Some(rate) = link.rate {
        if rate.0 < 8_000 {
            problems.push(Problem::new(
                "rate",
                &object,
                rate,
                "8 kbit/s or more",
                "leave the rate out for a link that is not shaped",
            ));
        }
        if link.queue.is_none() {
            problems.push(Problem::new(
                "queue",
                &object,
                "none",
                "a queue limit",
                "a link with a rate needs a queue",
            ));
        }
    }
    check_impairment(link, &object, problems);
    discipline::check(link, &object, problems);
    match link.queue {
        Some(QueueLimit::Packets(0) | QueueLimit::Bytes(Size(0))) => problems.push(Problem::new(
            "queue",
            &object,
            "0",
            "1 packet or more",
            "a queue that holds nothing passes nothing",
        )),
        Some(QueueLimit::Bytes(limit)) if u32::try_from(limit.0).is_err() => problems.push(Problem::new(
            "queue",
            &object,
            limit,
            "up to 4294967295 B",
            "the kernel keeps it in 32 bits",
        )),
        Some(limit) if link.rate.is_none() => problems.push(Problem::new(
            "queue",
            &object,
            limit,
            "none",
            "a link without a rate never queues: give it a rate",
        )),
        _ => {}
    }
    for end in &link.ends {
        check_end(directory, &object, end, problems);
    }
}

fn check_end(directory: &Directory, link: &str, end: &End, problems: &mut Vec<Problem>) {
    let object = format!("interface {} of {}", end.interface, end.node);
    if !is_name(&end.interface) || end.interface.len() > INTERFACE_NAME_BYTES || end.interface == "lo" {
        problems.push(Problem::new(
            "interface",
            &object,
            &end.interface,
            "1 to 15 letters, digits, - and _, and not lo",
            "rename the interface",
        ));
    }
    let has_ipv6 = end.addresses.iter().any(|address| address.address().is_ipv6());
    let (smallest, why) = if has_ipv6 {
        (IpVersion::V6.minimum_mtu(), "IPv6's smallest MTU (RFC 8200 section 5)")
    } else {
        (IpVersion::V4.minimum_mtu(), "IPv4's smallest MTU (RFC 791 section 3.2)")
    };
    if !(smallest..=LARGEST_MTU).contains(&end.mtu.0) {
        problems.push(Problem::new(
            "mtu",
            link,
            end.mtu,
            format!("{smallest} B to {LARGEST_MTU} B"),
            format!("{smallest} is {why}"),
        ));
    }
    match directory.node(&end.node).map(|node| node.kind) {
        None => problems.push(Problem::new(
            "node",
            link,
            &end.node,
            names(directory.scenario),
            "the link names a node that is not there",
        )),
        Some(NodeKind::Switch) if !end.addresses.is_empty() => problems.push(Problem::new(
            "address",
            &object,
            end.addresses[0].0,
            "none",
            "a switch has no addresses",
        )),
        _ => {}
    }
}

fn check_impairment(link: &Link, object: &str, problems: &mut Vec<Problem>) {
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
            problems.push(Problem::new(
                setting,
                object,
                probability,
                "0 to 1",
                "it is a probability: 0.01 is one frame in a hundred",
            ));
        }
    }
    if impairment.reordering > 0.0 && impairment.reordering_delay.0 == 0 {
        problems.push(Problem::new(
            "reordering_delay",
            object,
            impairment.reordering_delay,
            "above 0",
            "a frame must be held back for later ones to overtake it",
        ));
    }
}

fn check_interfaces(scenario: &Scenario, problems: &mut Vec<Problem>) {
    let mut interfaces = HashSet::new();
    let mut addresses: HashSet<IpAddr> = HashSet::new();
    for end in scenario.links.iter().flat_map(|link| &link.ends) {
        let object = format!("interface {} of {}", end.interface, end.node);
        if !interfaces.insert((&end.node, &end.interface)) {
            problems.push(Problem::new(
                "interface",
                &object,
                &end.interface,
                "a name the node has once",
                "rename one of the two",
            ));
        }
        for address in &end.addresses {
            if !addresses.insert(address.address()) {
                problems.push(Problem::new(
                    "address",
                    &object,
                    address.0,
                    "an address no other interface has",
                    "two interfaces have it",
                ));
            }
        }
    }
}
