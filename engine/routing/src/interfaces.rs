//! Numbers a scenario's interfaces in the same way for every backend.

use nettrial_scenario::{Interface, Scenario};
use std::ops::Range;

/// The interfaces of a scenario by number: those of the first link in their order, then those of the second, and
/// so on. A link may have any number of interfaces.
#[derive(Debug, Clone)]
pub struct Interfaces<'a> {
    interfaces: Vec<&'a Interface>,
    /// The link of each interface.
    links: Vec<usize>,
    /// The first interface of each link, and after the last link the number of interfaces.
    first: Vec<usize>,
}

impl<'a> Interfaces<'a> {
    /// Numbers the interfaces of `scenario`.
    pub fn new(scenario: &'a Scenario) -> Self {
        let mut all = Self { interfaces: Vec::new(), links: Vec::new(), first: vec![0] };
        for (number, link) in scenario.links.iter().enumerate() {
            all.interfaces.extend(&link.interfaces);
            all.links.resize(all.interfaces.len(), number);
            all.first.push(all.interfaces.len());
        }
        all
    }

    /// Returns all interfaces in the order of their numbers.
    pub fn all(&self) -> &[&'a Interface] {
        &self.interfaces
    }

    /// Returns the interface with this number.
    pub fn get(&self, interface: usize) -> &'a Interface {
        self.interfaces[interface]
    }

    /// Returns the number of the link of `interface`.
    pub fn link(&self, interface: usize) -> usize {
        self.links[interface]
    }

    /// Returns the interfaces of the link with this number.
    pub fn of_link(&self, link: usize) -> Range<usize> {
        self.first[link]..self.first[link + 1]
    }

    /// Returns the other interfaces of the link of `interface`; a cable has one other.
    pub fn others(&self, interface: usize) -> impl Iterator<Item = usize> + Clone {
        self.of_link(self.link(interface)).filter(move |&other| other != interface)
    }
}
