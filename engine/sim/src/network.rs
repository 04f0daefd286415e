//! The links of a scenario and the paths over them.

use crate::link::Link;
use crate::paths::PathTable;
use crate::processor::Processors;
use crate::{PathId, Time};
use nettrial_routing::{FiveTuple, Paths};
use nettrial_scenario::Scenario;

/// Links and paths.
#[derive(Debug)]
pub struct Network {
    /// Link `n` of the scenario has the directions `2 n`, from its first end, and `2 n + 1`.
    pub(crate) links: Vec<Link>,
    pub(crate) paths: PathTable,
    /// `None` where work costs nothing and nothing is joined.
    pub(crate) processors: Option<Processors>,
}

impl Network {
    /// The network of `scenario`, which has passed [`nettrial_scenario::check`].
    pub fn new(scenario: &Scenario) -> Self {
        let links = (0..2 * scenario.links.len()).map(|direction| Link::new(scenario, direction));
        Self { links: links.collect(), paths: PathTable::default(), processors: Processors::new(scenario) }
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

    /// How long the processor of node number `node` has been busy until `now`; `None` if its work costs nothing.
    pub fn busy(&self, node: usize, now: Time) -> Option<Time> {
        self.processors.as_ref()?.busy(node, now)
    }

    /// Segments that hosts' interfaces have joined to others.
    pub fn coalesced_pkts(&self) -> u64 {
        self.processors.as_ref().map_or(0, Processors::coalesced_pkts)
    }

    /// The same of node number `node`; `None` if its interfaces join none.
    pub fn coalesced_by(&self, node: usize) -> Option<u64> {
        self.processors.as_ref()?.coalesced_by(node)
    }

    /// The smallest MTU on the path, bytes.
    pub fn path_mtu(&self, path: PathId) -> u32 {
        let mtus = self.paths.links(path).iter().map(|&link| self.links[link as usize].mtu_bytes());
        mtus.min().unwrap_or(u32::MAX)
    }
}
