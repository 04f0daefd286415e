//! Starts the agents of a trial: a process in each host's namespace, on the host's CPU, or in the host's own kernel. The
//! process is this program, or the one whose TCP/IP the host has.

use crate::error::Result;
use crate::kernels::Kernels;
use crate::layout::Layout;
use crate::namespace::Home;
use crate::network::Network;
use crate::processors::Placement;
use crate::{host_order, programs};
use nettrial_session::{Agents, Process, Sink};
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use std::collections::BTreeSet;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Starts an agent in every host of `network` that has traffic.
pub fn start(
    home: &Home,
    network: &Network,
    layout: &Layout,
    placement: Option<&Placement>,
    kernels: &mut dyn Kernels,
) -> Result<Agents> {
    let mut agents = Agents::default();
    let ends = layout.scenario.workload.iter().flat_map(|flow| [&flow.from, &flow.to]);
    for host in ends.collect::<BTreeSet<_>>() {
        if let Some(kernel) = kernels.of(host) {
            agents.start(host, |sink| kernel.agent(sink))?;
            continue;
        }
        let processor = placement.and_then(|placement| placement.of(host));
        let namespace = &network.node(host)?.namespace;
        let mut command = match layout.directory.node(host).and_then(programs::of) {
            Some(name) => host_order::command(name, network, layout, host)?,
            None => own(),
        };
        agents.start(host, |sink| home.visit(namespace, || spawn(&mut command, processor, sink)))?;
    }
    Ok(agents)
}

/// Returns the command of an agent of this program.
fn own() -> Command {
    let mut command = Process::own();
    command.arg0("nettrial-engine").arg("--dies-with-parent");
    command
}

/// Starts an agent in the calling thread's namespace. The agent inherits its settings from this thread, so nothing
/// has to be set between fork and exec, and the process, which is large for a large network, does not have to be
/// copied.
fn spawn(command: &mut Command, processor: Option<usize>, sink: Sink) -> Result<Process> {
    let this_thread = Pid::from_raw(0);
    let before = sched_getaffinity(this_thread)?;
    if let Some(processor) = processor {
        let mut set = CpuSet::new();
        set.set(processor)?;
        sched_setaffinity(this_thread, &set)?;
    }
    let spawned = Process::spawn(command);
    if processor.is_some() {
        sched_setaffinity(this_thread, &before)?;
    }
    // The thread that reads the agent's messages is not kept on the agent's CPU.
    Ok(Process::local(spawned?, move |event| sink.tell(event))?)
}
