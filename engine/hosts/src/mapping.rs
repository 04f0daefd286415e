//! The nodes of a scenario and the machines that stand for them.

use crate::inventory::{Inventory, Place as Machine};
use anyhow::{Context, Result};
use nettrial_routing::Paths;
use nettrial_scenario::{Directory, Interface, IpVersion, NodeKind, Place, Problem, Scenario, Shortfall};
use std::collections::HashMap;
use std::net::IpAddr;

/// A scenario, and the machine of each of its hosts and of those of its routers that the inventory has.
pub struct Mapping<'a> {
    /// The scenario.
    pub scenario: &'a Scenario,
    /// Its nodes by name.
    pub directory: Directory<'a>,
    /// Its paths.
    pub paths: Paths<'a>,
    machines: HashMap<&'a str, (&'a str, &'a Machine)>,
}

impl<'a> Mapping<'a> {
    /// Maps `scenario`, which has passed [`nettrial_scenario::check`], to `inventory`.
    ///
    /// # Errors
    /// A problem for each node without a machine, or with one that has not the interfaces and addresses for it.
    pub fn of(scenario: &'a Scenario, inventory: &'a Inventory) -> Result<Self, Vec<Problem>> {
        let mut problems = Vec::new();
        let mut machines: HashMap<&str, (&str, &Machine)> = HashMap::new();
        for (number, node) in scenario.nodes.iter().enumerate() {
            let place = Place::node(number, node);
            let wanted = node.machine.as_deref();
            match inventory.of(&node.name, wanted) {
                Ok(found) => {
                    if let Some((other, _)) = machines.iter().find(|(_, (name, _))| *name == found.0) {
                        let expected = "a machine for each node";
                        let hint = format!("it stands for {other} already");
                        problems.push(place.problem("machine", found.0, expected, hint));
                    }
                    machines.insert(&node.name, found);
                }
                // Packets pass through a router that the inventory has not, and through every switch.
                Err(_) if wanted.is_none() && node.kind != NodeKind::Host => {}
                Err(why) => {
                    let value = wanted.unwrap_or("none");
                    let expected = format!("a machine of the inventory: {}", inventory.names());
                    problems.push(place.problem("machine", value, expected, why));
                }
            }
        }
        let mapping =
            Self { scenario, directory: Directory::new(scenario), paths: Paths::new(scenario), machines };
        problems.extend(mapping.lacking());
        if problems.is_empty() { Ok(mapping) } else { Err(problems) }
    }

    /// A problem for each machine that has fewer interfaces than its node has links, and for each that has no address
    /// for a flow of its node's.
    fn lacking(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        for (number, node) in self.scenario.nodes.iter().enumerate() {
            let Some((name, machine)) = self.machines.get(node.name.as_str()) else { continue };
            let place = Place::node(number, node);
            let (links, interfaces) = (self.interfaces(&node.name).count(), machine.interfaces.len());
            if interfaces < links {
                let expected =
                    format!("a machine with {links} interfaces in the inventory, one for each link");
                problems.push(place.problem("machine", name, expected, format!("it has {interfaces}")));
            }
            for version in [IpVersion::V4, IpVersion::V6] {
                let mut flows = self.scenario.workload.iter();
                let is_used =
                    flows.any(|flow| flow.ip == version && (flow.from == node.name || flow.to == node.name));
                if is_used && self.address(&node.name, version).is_err() {
                    let expected =
                        format!("a machine with an IPv{} address in the inventory", u8::from(version));
                    problems.push(place.problem("machine", name, expected, "flows of the study use one"));
                }
            }
        }
        problems
    }

    /// The machine that stands for `node`, with its name.
    pub fn machine(&self, node: &str) -> Option<(&'a str, &'a Machine)> {
        self.machines.get(node).copied()
    }

    /// The names of the machines in use, in the order of their nodes.
    pub fn machines(&self) -> Vec<&'a str> {
        let nodes = self.scenario.nodes.iter();
        nodes.filter_map(|node| self.machine(&node.name)).map(|(name, _)| name).collect()
    }

    /// The address of the inventory that flows of `version` use at `node`: the first of that version.
    pub fn address(&self, node: &str, version: IpVersion) -> Result<IpAddr> {
        let (name, machine) = self.machine(node).with_context(|| format!("no machine stands for {node}"))?;
        let addresses = machine.interfaces.iter().flat_map(|interface| &interface.addresses);
        let found = addresses.copied().find(|&address| IpVersion::of(address) == version);
        found.with_context(|| {
            format!("machine {name} has no IPv{} address in the inventory", u8::from(version))
        })
    }

    /// The address that the scenario gives to `node`, by which its paths are found.
    pub fn planned_address(&self, node: &str, version: IpVersion) -> Result<IpAddr> {
        let address = self.directory.addresses(node, version).next();
        address.with_context(|| format!("{node} has no IPv{} address", u8::from(version)))
    }

    /// Returns the interfaces of `node` in the scenario's order, with the link's number and the place within the link.
    pub fn interfaces(&self, node: &str) -> impl Iterator<Item = ((usize, usize), &'a Interface)> {
        let links = self.scenario.links.iter().enumerate();
        let interfaces = links.flat_map(|(link, found)| {
            found.interfaces.iter().enumerate().map(move |(place, found)| ((link, place), found))
        });
        interfaces.filter(move |(_, interface)| interface.node == node)
    }

    /// The problem that a machine of the scenario's was not reached.
    pub fn unreached(&self, shortfall: &Shortfall) -> Problem {
        let expected = "a machine that is reached";
        let hint = format!("{}; {}", shortfall.why, shortfall.remedy);
        Place::new("/nodes", "the nodes")
            .problem_here("machine", &shortfall.what, expected, hint)
            .of_machine()
    }

    /// The problem that the machines could not be asked about the scenario.
    pub fn failed(&self, error: &anyhow::Error) -> Problem {
        let hint = format!("{error:#}");
        Place::new("/nodes", "the nodes")
            .problem_here("machine", "lost", "a machine that answers", hint)
            .of_machine()
    }
}
