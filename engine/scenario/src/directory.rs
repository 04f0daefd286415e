//! A scenario's nodes by name.

use crate::{Interface, IpVersion, Node, Scenario, Stack};
use std::collections::HashMap;
use std::net::IpAddr;

/// An index of a scenario's nodes and their interfaces by the node's name.
pub struct Directory<'a> {
    /// The scenario itself.
    pub scenario: &'a Scenario,
    entries: HashMap<&'a str, Entry<'a>>,
}

/// A node and its interfaces.
struct Entry<'a> {
    node: &'a Node,
    interfaces: Vec<&'a Interface>,
}

impl<'a> Directory<'a> {
    /// Indexes `scenario`, which may have problems. Of several nodes with one name, the first counts; interfaces
    /// of missing nodes are ignored.
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

    /// Returns the node called `name`.
    pub fn node(&self, name: &str) -> Option<&'a Node> {
        Some(self.entries.get(name)?.node)
    }

    /// Returns the stack of the host called `name`.
    pub fn stack(&self, name: &str) -> Option<&'a Stack> {
        self.node(name)?.stack.as_ref()
    }

    /// Returns the addresses of IP version `version` of the node called `name`, in the order of the links.
    pub fn addresses(&self, name: &str, version: IpVersion) -> impl Iterator<Item = IpAddr> {
        let interfaces = self.entries.get(name).map_or([].as_slice(), |entry| &entry.interfaces);
        let addresses =
            interfaces.iter().flat_map(|interface| &interface.addresses).map(|address| address.address());
        addresses.filter(move |&address| IpVersion::of(address) == version)
    }
}
