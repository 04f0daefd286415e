//! The links of a scenario and the paths over them.

use crate::PathId;
use crate::link::Link;
use crate::paths::PathTable;
use nettrial_routing::{FiveTuple, Paths};
use nettrial_scenario::Scenario;

/// Links and paths.
#[derive(Debug)]
pub struct Network {
    /// Link `n` of the scenario has the directions `2 n`, from its first end, and `2 n + 1`.
    pub(crate) links: Vec<Link>,
    pub(crate) paths: PathTable,
}

impl Network {
    /// The network of `scenario`, which has passed [`nettrial_scenario::check`].
    pub fn new(scenario: &Scenario) -> Self {
        let directions = scenario.links.iter().flat_map(|link| [0, 1].map(|end| Link::new(link, end)));
        Self { links: directions.collect(), paths: PathTable::default() }
    }

    /// The way of a flow's packets, by the scenario's routing; `None` if there is none.
    pub fn path(&mut self, routing: &Paths<'_>, flow: &FiveTuple) -> Option<PathId> {
        let ends: Vec<u32> = routing.flow_path(flow)?.into_iter().map(|end| end as u32).collect();
        Some(self.paths.number(&ends))
    }

    /// The links of a path, by direction: twice the link's number in the scenario, and one more from its second
    /// end.
    pub fn links_of(&self, path: PathId) -> &[u32] {
        self.paths.links(path)
    }

    /// A link direction.
    pub fn link(&mut self, direction: u32) -> &mut Link {
        &mut self.links[direction as usize]
    }

    /// The smallest MTU on the path, bytes.
    pub fn path_mtu(&self, path: PathId) -> u32 {
        let mtus = self.paths.links(path).iter().map(|&link| self.links[link as usize].mtu_bytes());
        mtus.min().unwrap_or(u32::MAX)
    }
}
