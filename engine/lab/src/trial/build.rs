//! Builds a trial's network and the nodes in it, and takes them down.

use crate::error::Result;
use crate::kernels::{Kernels, OneKernel};
use crate::layout::Layout;
use crate::mptcp;
use crate::namespace::Home;
use crate::network::Network;
use crate::pools::Pools;
use crate::processors::Placement;
use nettrial_session::Agents;

/// The network of a trial with its nodes.
pub struct Built<'a> {
    /// The engine's namespaces.
    pub home: &'a Home,
    /// The scenario.
    pub layout: &'a Layout<'a>,
    // The order of the next two fields matters: the network ends before the kernels that it leads to.
    /// The network.
    pub network: Network,
    /// The kernels of the nodes.
    pub kernels: Box<dyn Kernels + 'a>,
    /// The CPU of each node, or the reason why hosts have no CPUs of their own.
    pub placement: Result<Placement, String>,
}

impl<'a> Built<'a> {
    /// Builds the network of `layout`, with guests and machines of the `pools`.
    pub fn build(home: &'a Home, layout: &'a Layout<'a>, pools: &'a mut Pools) -> Result<Self> {
        let scenario = layout.scenario;
        let mut kernels: Box<dyn Kernels + 'a> = if scenario.nodes.iter().any(|node| node.system.is_some()) {
            Box::new(pools.guests.take(layout)?)
        } else if scenario.nodes.iter().any(|node| node.machine.is_some()) {
            Box::new(pools.machines.take(scenario)?)
        } else {
            Box::new(OneKernel { clock: home.clock })
        };
        let placement = match kernels.without_cpu_time() {
            Some(reason) => Err(reason.to_owned()),
            None if scenario.measurement.cpu.is_empty() => Err("the study does not ask for it".to_owned()),
            None => Placement::plan(scenario, home),
        };
        match &placement {
            Ok(_) => tracing::debug!("each measured host has a CPU of its own"),
            Err(reason) => tracing::debug!(reason, "no host has a CPU of its own"),
        }
        let mut network = Network::build(home, layout, placement.as_ref().ok())?;
        mptcp::prepare(home, &network, layout)?;
        kernels.begin(home, &mut network, scenario)?;
        Ok(Self { home, layout, network, kernels, placement })
    }

    /// Returns the CPU of each node, if hosts have CPUs of their own.
    pub fn placement(&self) -> Option<&Placement> {
        self.placement.as_ref().ok()
    }

    /// Ends the agents, and takes the network down, in which no socket may be open any more.
    pub fn take_down(self, agents: Agents) -> Result<()> {
        // The kernel removes namespaces one after the other, on a CPU that is free while the agents end.
        let mut hosts = self.network.into_hosts(self.layout.scenario);
        drop(agents);
        self.kernels.finish(self.home, self.layout.scenario, &mut hosts)
    }
}
