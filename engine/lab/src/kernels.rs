//! The kernels of a trial's nodes.
//!
//! The network of a trial is built in one kernel: that of this machine, or one in virtual time. In it are also the
//! settings and the agents of most nodes. A node may have a kernel of its own; its namespace in the network then only
//! leads to that kernel. This module's traits are all that the rest of the lab knows of such kernels.

use crate::carrier::Carriers;
use crate::clock::Clock;
use crate::error::Result;
use crate::namespace::Home;
use crate::network::{BuiltNode, Network};
use nettrial_scenario::{GuestRecord, Machine, Offloads, Scenario};
use nettrial_session::{Sink, Transport};

/// The kernels of a trial's nodes. Dropping them without [`Kernels::finish`] ends those that are not the network's.
pub trait Kernels {
    /// Returns the reason why the CPU times of hosts are not measured, if the kernels allow no such measurement.
    fn without_cpu_time(&self) -> Option<&'static str>;

    /// Connects each node that has a kernel of its own to its interfaces in `network`, and builds the node there.
    ///
    /// # Errors
    /// Fails if a node can't be connected or built.
    fn begin(&mut self, home: &Home, network: &mut Network, scenario: &Scenario) -> Result<()>;

    /// Returns the kernel of `node`; `None` if it is the network's.
    fn of(&mut self, node: &str) -> Option<&mut dyn NodeKernel>;

    /// Returns the carriers of interfaces that do not see the state of their link.
    fn carriers(&self, scenario: &Scenario) -> Carriers;

    /// Ends the nodes that have kernels of their own, and disconnects them from `nodes`.
    ///
    /// # Errors
    /// Fails if a node can't be disconnected.
    fn finish(self: Box<Self>, home: &Home, scenario: &Scenario, nodes: &mut [BuiltNode]) -> Result<()>;
}

/// The kernel of one node.
pub trait NodeKernel {
    /// Returns the node's agent, which passes its reports to `sink`.
    ///
    /// # Errors
    /// Fails if it does not start.
    fn agent(&mut self, sink: Sink) -> Result<Box<dyn Transport>>;

    /// Returns the name and the offloads of each of the node's interfaces.
    fn offloads(&self) -> &[(String, Offloads)];

    /// Returns the description of the kernel.
    fn record(&self) -> KernelRecord;
}

/// The description of the kernel of one node.
#[derive(Debug, Clone)]
pub enum KernelRecord {
    /// A guest's, and the release with which it was added, if that is known.
    Guest(GuestRecord, Option<String>),
    /// A machine's of the user's.
    Machine(Box<Machine>),
}

impl KernelRecord {
    /// Returns true if the node's congestion control and TCP options are those of its system, because nettrial sets
    /// them only on Linux.
    pub fn has_own_settings(&self) -> bool {
        matches!(self, Self::Machine(machine) if !machine.is_linux())
    }
}

/// The network's kernel, if it is the only one of the trial.
pub struct OneKernel {
    /// The clock of the kernel.
    pub clock: Clock,
}

impl Kernels for OneKernel {
    fn without_cpu_time(&self) -> Option<&'static str> {
        match self.clock {
            Clock::Real => None,
            Clock::Virtual => Some("computing takes no time in virtual time: `--backend lab` measures it"),
        }
    }

    fn begin(&mut self, _: &Home, _: &mut Network, _: &Scenario) -> Result<()> {
        Ok(())
    }

    fn of(&mut self, _: &str) -> Option<&mut dyn NodeKernel> {
        None
    }

    fn carriers(&self, _: &Scenario) -> Carriers {
        Carriers::new()
    }

    fn finish(self: Box<Self>, _: &Home, _: &Scenario, _: &mut [BuiltNode]) -> Result<()> {
        Ok(())
    }
}
