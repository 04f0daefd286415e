//! Collects the record of a trial after its traffic, with the checks of what happened.

use super::build::Built;
use super::check::{Counters, Watched};
use super::drive::Measured;
use super::machine::MachineUse;
use crate::checks::Findings;
use crate::error::Result;
use crate::interfaces::Observed;
use crate::kernels::KernelRecord;
use crate::layout::Layout;
use crate::processors::Placement;
use crate::programs;
use crate::queue_length::Sampled;
use nettrial_flows::recovery;
use nettrial_scenario::{
    Absence, Flow, HostRecord, InterfaceRecord, MachineRecord, ProcessorRecord, Record, Scenario, Transport,
};
use nettrial_session::{CpuTime, Use, host_records};

/// Returns the record of the traffic, without the times of the trial's phases.
pub fn collect(built: &mut Built, watched: Watched, mut measured: Measured) -> Result<Record> {
    let Watched { mut findings, kernels, before, observation, capturing } = watched;
    let scenario = built.layout.scenario;
    findings.congestion(scenario, &measured.congestion, &measured.flows);
    findings.tools(&built.layout.directory, &measured.flows);
    if let Some(percent) = measured.machine.bystander_percent {
        findings.bystanders(percent);
    }
    findings.clock("the machine", measured.machine.clock_step_ns);
    if let Some(capturing) = capturing {
        let of_channels = measured.channels.iter().filter_map(|(_, _, driven)| driven.captured_pkts);
        findings.warnings.extend(capturing.finish(&of_channels.collect::<Vec<_>>(), built.home.clock)?);
    }
    let Observed { interfaces, absent: unobserved, sampled } =
        observation.finish(&mut built.network, scenario)?;
    check_frames(built, &before, &interfaces, &measured, &mut findings)?;
    check_processors(scenario, built.placement(), &measured.machine, &sampled, &mut findings);
    let (unmeasured, warnings) = recovery::measure(scenario, &measured.events, &mut measured.flows);
    findings.warnings.extend(warnings);
    let (mut hosts, mut absent) = hosts(scenario, &built.placement, &measured);
    for host in &mut hosts {
        match kernels.get(&host.name).cloned() {
            Some(KernelRecord::Guest(guest, _)) => host.guest = Some(guest),
            Some(KernelRecord::Machine(machine)) => {
                host.system = Some(machine.system);
                host.machine = Some(MachineRecord { name: machine.name, kernel: machine.kernel });
            }
            None => {}
        }
        let node = built.layout.directory.node(&host.name);
        host.stack = node.and_then(programs::of).map(programs::describe).transpose()?;
    }
    let controller = measured.controller.map(|outcome| findings.controller(outcome));
    let (controller, without_controller) = controller.unwrap_or_default();
    if let Some(reason) = built.network.fabric().and_then(|fabric| fabric.cramped()) {
        findings.cramped(reason);
    }
    let delays = delays_between_clocks(built.layout);
    let hidden = other_work_absent(&measured.machine);
    let uncounted = programs::uncounted(built.layout);
    absent.extend(
        [without_controller, unobserved, unmeasured, delays, hidden, uncounted].into_iter().flatten(),
    );
    let nettrial_session::Findings { checks, warnings } = findings.into_common();
    Ok(Record {
        hosts,
        processors: processor_records(&measured.machine),
        disturbances: measured.machine.disturbances().into_iter().collect(),
        interfaces,
        channels: measured.channels.into_iter().map(|(_, record, _)| record).collect(),
        flows: measured.flows,
        events: measured.events,
        controller,
        congestion: measured.congestion,
        checks,
        warnings,
        absent,
        ..Record::blank(built.home.clock.backend())
    })
}

/// Verifies that queues, links and kernels carried the frames of the traffic as they should.
fn check_frames(
    built: &mut Built,
    before: &Counters,
    interfaces: &[InterfaceRecord],
    measured: &Measured,
    findings: &mut Findings,
) -> Result<()> {
    let layout = built.layout;
    let scenario = layout.scenario;
    findings.drops(scenario, interfaces);
    if let Some(fabric) = built.network.fabric() {
        findings.looping(scenario, interfaces, fabric.handled());
    }
    let failing: Vec<usize> = scenario.events.iter().flat_map(|outage| outage.links(scenario)).collect();
    let failing: Vec<_> = failing.iter().flat_map(|&link| &scenario.links[link].interfaces).collect();
    let after = Counters::read(built)?;
    findings.refused(&failing, &before.refused, &after.refused);
    findings.host_counters(layout, &before.kernels, &after.kernels);
    for translated in built.network.translated()? {
        findings.translation(&translated);
    }
    for (link, carried) in built.network.carried()? {
        findings.delay_line(link, carried);
    }
    findings.frame_time(layout, &measured.flows, built.home.clock);
    findings.late_timers(layout, &measured.flows, &measured.machine.timer_lateness_us);
    for (link, _, driven) in &measured.channels {
        findings.radio_channel(link, *driven);
    }
    if let Some(reason) = built.network.unheld() {
        findings.unheld(reason);
    }
    Ok(())
}

/// Verifies that the CPUs had time for the traffic, and that saturated links carried their rates.
fn check_processors(
    scenario: &Scenario,
    placement: Option<&Placement>,
    machine: &MachineUse,
    sampled: &[Sampled],
    findings: &mut Findings,
) {
    for (processor, spent) in &machine.processors {
        let object = processor_object(scenario, placement, *processor);
        findings.processor(&object, *spent, polls(scenario, placement, *processor));
    }
    for interface in sampled {
        let own = placement.and_then(|placement| placement.of(&interface.node));
        let concerned =
            machine.processors.iter().filter(|(number, _)| own.is_none_or(|processor| *number == processor));
        let steal_percent = concerned.map(|(_, spent)| spent.steal_percent).fold(0.0, f64::max);
        findings.saturated(interface, &machine.timer_lateness_us, steal_percent);
    }
}

/// Returns a CPU in words: its number, and the nodes whose work is kept on it.
fn processor_object(scenario: &Scenario, placement: Option<&Placement>, processor: usize) -> String {
    let here = |name: &&str| placement.is_some_and(|placement| placement.of(name) == Some(processor));
    let nodes: Vec<&str> = scenario.nodes.iter().map(|node| node.name.as_str()).filter(here).collect();
    if nodes.is_empty() {
        format!("CPU {processor}")
    } else {
        format!("CPU {processor} ({})", nodes.join(", "))
    }
}

/// Returns true if a flow's reads poll on this CPU, as far as is known.
fn polls(scenario: &Scenario, placement: Option<&Placement>, processor: usize) -> bool {
    let here = |host: &str| placement.is_none_or(|placement| placement.of(host) == Some(processor));
    let polling = scenario.workload.iter().filter(|flow| flow.socket.busy_poll.is_some());
    polling.flat_map(|flow| [&flow.from, &flow.to]).any(|host| here(host))
}

fn processor_records(machine: &MachineUse) -> Vec<ProcessorRecord> {
    let record = |&(number, spent): &(usize, Use)| ProcessorRecord {
        number: u32::try_from(number).unwrap_or(u32::MAX),
        busy_percent: spent.busy_percent,
        stolen_percent: spent.steal_percent,
        frequency_mhz: machine.frequencies_mhz.get(&number).copied(),
        timer_lateness_us: machine.timer_lateness_us.get(&number).copied(),
    };
    machine.processors.iter().map(record).collect()
}

/// Returns the record of each host with its CPU and its CPU time, and the reasons for absent CPU times.
fn hosts(
    scenario: &Scenario,
    placement: &Result<Placement, String>,
    measured: &Measured,
) -> (Vec<HostRecord>, Vec<Absence>) {
    let processors = &measured.machine.processors;
    let shapers_percent = |processor: usize| -> Option<Result<f64, &str>> {
        let shares = measured.machine.shapers_percent.as_ref()?.as_ref();
        Some(shares.map(|shares| shares[&processor]).map_err(String::as_str))
    };
    let (mut hosts, mut absent) = host_records(scenario, &measured.flows, |host| {
        let own = placement.as_ref()?.of(host).ok_or("it has no CPU of its own")?;
        let spent = processors.iter().find(|(number, _)| *number == own).map(|(_, spent)| spent);
        let spent = spent.ok_or_else(|| format!("the times of CPU {own} are not known"))?;
        let shapers_percent = shapers_percent(own).and_then(Result::ok).unwrap_or(0.0);
        let Use { busy_ns, busy_percent, .. } = spent.without(shapers_percent);
        Ok(CpuTime { busy_ns, busy_percent })
    });
    let Ok(placement) = placement else { return (hosts, absent) };
    for host in &mut hosts {
        let processor = placement.of(&host.name);
        host.processor = processor.and_then(|processor| u32::try_from(processor).ok());
        host.processor_shared_with = placement.neighbours(scenario, &host.name);
        let is_measured = host.cpu_busy_ns.is_some();
        match processor.filter(|_| is_measured).and_then(shapers_percent) {
            Some(Ok(percent)) => host.shaper_percent = Some(percent),
            Some(Err(reason)) => absent.push(Absence {
                metric: "cpu_shaper".into(),
                object: host.name.clone(),
                reason: format!("the shapers' time counts as the host's: {reason}"),
            }),
            None => {}
        }
    }
    (hosts, absent)
}

/// Returns the reason for which the CPU time of other processes is absent, if it is.
fn other_work_absent(machine: &MachineUse) -> Vec<Absence> {
    let hidden = machine.disturbances().filter(|record| record.other_work_percent.is_none());
    let absence = |record: nettrial_scenario::DisturbanceRecord| Absence {
        metric: "other_work".into(),
        object: record.machine,
        reason: "the processes of other users are hidden (proc(5), hidepid)".into(),
    };
    hidden.into_iter().map(absence).collect()
}

/// Returns the one-way delays that are absent because an end of their flow is a guest.
fn delays_between_clocks(layout: &Layout) -> Vec<Absence> {
    let flows = layout.scenario.workload.iter().filter(|flow| flow.transport == Transport::Udp);
    let absence = |flow: &Flow| Absence {
        metric: "owd".into(),
        object: flow.name.clone(),
        reason: "a host has a clock of its own".into(),
    };
    flows.filter(|flow| layout.has_clocks(flow)).map(absence).collect()
}
