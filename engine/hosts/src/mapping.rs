//! The mapping from the nodes of a scenario to the machines that stand for them.

use crate::error::{Error, Result};
use crate::inventory::{Inventory, MachineEntry};
use nettrial_routing::Paths;
use nettrial_scenario::{
    Directory, Interface, IpVersion, Machine, NodeKind, Place, Problem, Scenario, Shortfall,
};
use std::collections::HashMap;
use std::net::IpAddr;

/// A scenario, with a machine for each of its hosts and for those of its routers that are in the inventory.
pub struct Mapping<'a> {
    /// The scenario.
    pub scenario: &'a Scenario,
    /// The scenario's nodes by name.
    pub directory: Directory<'a>,
    /// The paths between the scenario's nodes.
    pub paths: Paths<'a>,
    machines: HashMap<&'a str, (&'a str, &'a MachineEntry)>,
}

impl<'a> Mapping<'a> {
    /// Maps `scenario`, which has passed [`nettrial_scenario::check`], to `inventory`.
    ///
    /// # Errors
    /// Returns a problem for each node without a machine, and for each whose machine lacks interfaces or
    /// addresses.
    pub fn of(scenario: &'a Scenario, inventory: &'a Inventory) -> Result<Self, Vec<Problem>> {
        let mut problems = Vec::new();
        let mut machines: HashMap<&str, (&str, &MachineEntry)> = HashMap::new();
        for (number, node) in scenario.nodes.iter().enumerate() {
            let place = Place::node(number, node);
            let wanted = node.machine.as_deref();
            match inventory.of(&node.name, wanted) {
                Ok(machine) => {
                    if let Some((other, _)) = machines.iter().find(|(_, (name, _))| *name == machine.0) {
                        let expected = "a machine for each node";
                        let hint = format!("this machine already stands for {other}");
                        problems.push(place.problem("machine", machine.0, expected, hint));
                    }
                    machines.insert(&node.name, machine);
                }
                // Packets pass through switches, and through routers that are not in the inventory.
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

    /// Maps `node` alone, which is on the lab's links, to a machine.
    ///
    /// # Errors
    /// Returns a problem if the machine has another number of interfaces than the node has links.
    pub fn of_node(
        scenario: &'a Scenario,
        node: &'a str,
        machine: (&'a str, &'a MachineEntry),
    ) -> Result<Self, Box<Problem>> {
        let (directory, paths) = (Directory::new(scenario), Paths::new(scenario));
        let machines = std::iter::once((node, machine)).collect();
        let mapping = Self { scenario, directory, paths, machines };
        let (links, interfaces) = (mapping.interfaces(node).count(), machine.1.interfaces.len());
        match scenario.nodes.iter().enumerate().find(|(_, own)| own.name == node) {
            Some((number, own)) if links != interfaces => {
                let expected = format!("a machine with an interface for each link, of which it has {links}");
                let hint = format!("the inventory has {interfaces} interfaces of this machine");
                Err(Box::new(Place::node(number, own).problem("machine", machine.0, expected, hint)))
            }
            _ => Ok(mapping),
        }
    }

    /// Returns a problem for each machine that has fewer interfaces than its node has links, and for each that has
    /// no address for a flow of its node.
    fn lacking(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        for (number, node) in self.scenario.nodes.iter().enumerate() {
            let Some((name, machine)) = self.machines.get(node.name.as_str()) else { continue };
            let place = Place::node(number, node);
            let (links, interfaces) = (self.interfaces(&node.name).count(), machine.interfaces.len());
            if interfaces < links {
                let expected =
                    format!("a machine with {links} interfaces in the inventory, one for each link");
                problems.push(place.problem(
                    "machine",
                    name,
                    expected,
                    format!("this machine has {interfaces}"),
                ));
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

    /// Returns the machine that stands for `node`, with its name.
    pub fn machine(&self, node: &str) -> Option<(&'a str, &'a MachineEntry)> {
        self.machines.get(node).copied()
    }

    /// Returns the names of the machines in use, in the order of their nodes.
    pub fn machines(&self) -> Vec<&'a str> {
        let nodes = self.scenario.nodes.iter();
        nodes.filter_map(|node| self.machine(&node.name)).map(|(name, _)| name).collect()
    }

    /// Returns the address in the inventory that flows of `version` use at `node`, which is the first of that
    /// version.
    pub fn address(&self, node: &str, version: IpVersion) -> Result<IpAddr> {
        let (name, machine) =
            self.machine(node).ok_or_else(|| Error::NotMapped(format!("no machine stands for {node}")))?;
        let addresses = machine.interfaces.iter().flat_map(|interface| &interface.addresses);
        let address = addresses.copied().find(|&address| IpVersion::of(address) == version);
        address.ok_or_else(|| {
            Error::NotMapped({
                format!("machine {name} has no IPv{} address in the inventory", u8::from(version))
            })
        })
    }

    /// Returns the address that the scenario assigns to `node`, by which its paths are found.
    pub fn planned_address(&self, node: &str, version: IpVersion) -> Result<IpAddr> {
        let address = self.directory.addresses(node, version).next();
        address.ok_or_else(|| Error::NotMapped(format!("{node} has no IPv{} address", u8::from(version))))
    }

    /// Returns the interfaces of `node` in the scenario's order, with the link's number and the place within the link.
    pub fn interfaces(&self, node: &str) -> impl Iterator<Item = ((usize, usize), &'a Interface)> {
        let links = self.scenario.links.iter().enumerate();
        let interfaces = links.flat_map(|(number, link)| {
            link.interfaces.iter().enumerate().map(move |(place, interface)| ((number, place), interface))
        });
        interfaces.filter(move |(_, interface)| interface.node == node)
    }

    /// Returns the problem of a machine that could not be reached.
    pub fn unreached(&self, shortfall: &Shortfall) -> Problem {
        let expected = "a machine that can be reached";
        let hint = format!("{}; {}", shortfall.why, shortfall.remedy);
        Place::new("/nodes", "the nodes")
            .problem_here("machine", &shortfall.what, expected, hint)
            .of_machine()
    }

    /// Returns the problem of a machine that does not have the interface called `name`, which is to be on a link of `node`.
    pub fn without_interface(&self, node: &str, name: &str, machine: &Machine) -> Problem {
        let numbered = self.scenario.nodes.iter().enumerate().find(|(_, own)| own.name == node);
        let place =
            numbered.map_or(Place::new("/nodes", "the nodes"), |(number, node)| Place::node(number, node));
        let hint = format!("{} has no interface {name}", machine.system);
        place
            .problem_here("machine", &machine.name, "a machine with the interfaces of the inventory", hint)
            .of_machine()
    }

    /// Returns the problem of machines that could not be asked about the scenario.
    pub fn failed(&self, error: &Error) -> Problem {
        let hint = nettrial_scenario::chain(error);
        Place::new("/nodes", "the nodes")
            .problem_here("machine", "lost", "a machine that answers", hint)
            .of_machine()
    }
}
