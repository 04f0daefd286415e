//! The machines of one trial.

use super::{BOOT, Powered, Stations, Way};
use crate::carrier::Carriers;
use crate::error::{Context, Error, Result};
use crate::kernels::{KernelRecord, Kernels, NodeKernel};
use crate::namespace::Home;
use crate::network::{BuiltNode, Network};
use nettrial_scenario::{Failure, Offloads, Scenario};
use nettrial_session::{Sink, Transport};
use std::time::Instant;

/// The machines of a trial. Dropping them without [`Kernels::finish`] ends them.
pub struct OnLinks<'a> {
    nodes: Vec<OnLink<'a>>,
}

/// A node of the trial that is a machine.
struct OnLink<'a> {
    node: String,
    name: &'a str,
    way: &'a mut dyn Way,
    powered: Powered,
    /// The place to which the machine returns.
    place: &'a mut Option<Powered>,
}

impl Stations {
    /// Takes the machine of each node of `scenario` that is one, which is started unless it runs.
    ///
    /// # Errors
    /// Fails if a machine can't be started or reached.
    pub fn take(&mut self, scenario: &Scenario) -> Result<OnLinks<'_>> {
        let deadline = Instant::now() + BOOT;
        let wanted = |name: &str| scenario.nodes.iter().find(|node| node.machine.as_deref() == Some(name));
        let mut nodes = Vec::new();
        for (number, station) in self.stations.iter_mut().enumerate() {
            let Some(node) = wanted(&station.joining.name) else { continue };
            let started = station.started(number);
            let reached = started.and_then(|started| station.reached(started, deadline));
            reached.map_err(|shortfall| {
                let text = format!("{}: {}; remedy: {}", shortfall.what, shortfall.why, shortfall.remedy);
                Failure::new(shortfall.kind, text)
            })?;
            let lost = || Error::Missing(format!("machine {} does not run", station.joining.name));
            let powered = station.powered.take().ok_or_else(lost)?;
            let (name, way) = (station.joining.name.as_str(), station.joining.way.as_mut());
            nodes.push(OnLink { node: node.name.clone(), name, way, powered, place: &mut station.powered });
        }
        Ok(OnLinks { nodes })
    }
}

impl Kernels for OnLinks<'_> {
    fn without_cpu_time(&self) -> Option<&'static str> {
        Some("a node is a machine of its own, whose CPU time the lab does not read")
    }

    fn begin(&mut self, home: &Home, network: &mut Network, scenario: &Scenario) -> Result<()> {
        for OnLink { node, name, way, powered, .. } in &mut self.nodes {
            let connecting = || format!("connecting machine {name} to the links of {node}");
            network.attach(home, scenario, node, &powered.taps).with_context(connecting)?;
            way.begin(scenario, node).with_context(|| format!("setting up machine {name} as {node}"))?;
        }
        Ok(())
    }

    fn of(&mut self, node: &str) -> Option<&mut dyn NodeKernel> {
        let station = self.nodes.iter_mut().find(|station| station.node == node)?;
        Some(station)
    }

    fn carriers(&self, _: &Scenario) -> Carriers {
        // A machine does not see the carrier of its link, as behind a switch.
        Carriers::new()
    }

    fn finish(self: Box<Self>, home: &Home, _: &Scenario, nodes: &mut [BuiltNode]) -> Result<()> {
        for OnLink { node, name, way, powered, place } in self.nodes {
            way.end().with_context(|| format!("ending the trial on machine {name}"))?;
            let built = nodes.iter_mut().find(|built| built.name == node);
            built.ok_or_else(|| Error::Missing(format!("no node {node}")))?.detach(home, &powered.taps)?;
            *place = Some(powered);
        }
        Ok(())
    }
}

impl NodeKernel for OnLink<'_> {
    fn agent(&mut self, sink: Sink) -> Result<Box<dyn Transport>> {
        self.way.agent(sink)
    }

    fn offloads(&self) -> &[(String, Offloads)] {
        // Its TAP devices offer none, which its system can't change.
        &[]
    }

    fn record(&self) -> KernelRecord {
        KernelRecord::Machine(Box::new(self.powered.machine.clone()))
    }
}
