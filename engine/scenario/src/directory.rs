//! A scenario's nodes by name.

use crate::{Interface, IpVersion, Node, Scenario, Stack};
use std::collections::HashMap;
use std::net::IpAddr;

/// A scenario's nodes and their interfaces by the node's name, found at once however many there are.
pub struct Directory<'a> {
    /// The scenario itself.
    pub scenario: &'a Scenario,
    entries: HashMap<&'a str, Entry<'a>>,
}

struct Entry<'a> {
    node: &'a Node,
    interfaces: Vec<&'a Interface>,
}

impl<'a> Directory<'a> {
    /// Indexes `scenario`, which may be wrong: of several nodes with one name the first counts, and interfaces of
    /// nodes that are not there don't.
    pub fn new(scenario: &'a Scenario) -> Self {
        let mut entries: HashMap<&str, Entry> = HashMap::with_capacity(scenario.nodes.len());
        for node in &scenario.nodes {
            entries.entry(&node.name).or_insert(Entry { node, interfaces: Vec::new() });
        }
        for interface in scenario.links.iter().flat_map(|link| &link.interfaces) {
            if let Some(entry) = entries.get_mut(interface.node.as_str()) {
                entry.interfaces.push(interface);
            }
        }
        Self { scenario, entries }
    }

    /// The node called `name`.
    pub fn node(&self, name: &str) -> Option<&'a Node> {
        Some(self.entries.get(name)?.node)
    }

    /// The stack of the host called `name`.
    pub fn stack(&self, name: &str) -> Option<&'a Stack> {
        self.node(name)?.stack.as_ref()
    }

    /// The addresses of IP version `version` that the node called `name` has, in the order of the links.
    pub fn addresses(&self, name: &str, version: IpVersion) -> impl Iterator<Item = IpAddr> {
        let interfaces = self.entries.get(name).map_or([].as_slice(), |entry| &entry.interfaces);
        let addresses =
            interfaces.iter().flat_map(|interface| &interface.addresses).map(|address| address.address());
        addresses.filter(move |&address| IpVersion::of(address) == version)
    }
}
