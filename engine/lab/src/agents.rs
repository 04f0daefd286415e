//! Starts the agents of a trial: a process in each host's namespace, on the host's CPU, or in the host's own kernel.

use crate::error::Result;
use crate::kernels::Kernels;
use crate::namespace::Home;
use crate::network::Network;
use crate::processors::Placement;
use nettrial_scenario::Scenario;
use nettrial_session::{Agents, Process, Sink};
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use std::collections::BTreeSet;
use std::os::unix::process::CommandExt;

/// Starts an agent in every host of `network` that has traffic.
pub fn start(
    home: &Home,
    network: &Network,
    scenario: &Scenario,
    placement: Option<&Placement>,
    kernels: &mut dyn Kernels,
) -> Result<Agents> {
    let mut agents = Agents::default();
    let ends = scenario.workload.iter().flat_map(|flow| [&flow.from, &flow.to]);
    for host in ends.collect::<BTreeSet<_>>() {
        if let Some(kernel) = kernels.of(host) {
            agents.start(host, |sink| kernel.agent(sink))?;
            continue;
        }
        let processor = placement.and_then(|placement| placement.of(host));
        let namespace = &network.node(host)?.namespace;
        agents.start(host, |sink| home.visit(namespace, || spawn(processor, sink)))?;
    }
    Ok(agents)
}

/// Starts an agent in the calling thread's namespace. The agent inherits its settings from this thread, so nothing
/// has to be set between fork and exec, and the process, which is large for a large network, does not have to be
/// copied.
fn spawn(processor: Option<usize>, sink: Sink) -> Result<Process> {
    let mut command = Process::own();
    command.arg0("nettrial-engine").arg("--dies-with-parent");
    let this_thread = Pid::from_raw(0);
    let before = sched_getaffinity(this_thread)?;
    if let Some(processor) = processor {
        let mut set = CpuSet::new();
        set.set(processor)?;
        sched_setaffinity(this_thread, &set)?;
    }
    let spawned = Process::spawn(&mut command);
    if processor.is_some() {
        sched_setaffinity(this_thread, &before)?;
    }
    // The thread that reads the agent's messages is not kept on the agent's CPU.
    Ok(Process::local(spawned?, move |event| sink.tell(event))?)
}
