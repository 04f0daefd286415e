//! The capabilities of the lab, in real and in virtual time.

use crate::clock::Clock;
use crate::queue::discipline;
use nettrial_scenario::{
    Capabilities, Figure, Flow, Medium, Place, Problem, Scenario, Setting, ToolName, Traffic, Transport,
};

/// Returns the capabilities, on a machine that lacks nothing, of the backend whose trials run by `clock`.
pub fn capabilities(clock: Clock) -> Capabilities {
    match clock {
        Clock::Real => of_the_lab(),
        Clock::Virtual => in_virtual_time(of_the_lab()),
    }
}

/// Returns those of the lab's capabilities that remain in virtual time, where trials depend on nothing but their
/// scenarios, and computing takes no time. Open vSwitch and machines of the user's
/// do not run in that kernel. Its systems are kernels
/// in virtual time, one for each trial.
fn in_virtual_time(lab: Capabilities) -> Capabilities {
    let is_left = |setting: &Setting| !matches!(setting, Setting::Controller | Setting::Machine);
    Capabilities {
        parallel: true,
        deterministic: true,
        simulated_time: true,
        warm_up: false,
        settings: lab.settings.into_iter().filter(is_left).collect(),
        // CPU time is absent from every record, with the reason. Studies that ask for it beside other figures run as
        // they are.
        figures: lab.figures.into_iter().filter(|figure| *figure != Figure::Controller).collect(),
        ..lab
    }
}

/// Returns the capabilities of the lab in real time.
fn of_the_lab() -> Capabilities {
    Capabilities {
        parallel: false, // other trials would take CPU time
        deterministic: false,
        estimates: false,
        warm_up: true,
        simulated_time: false,
        modelled_hosts: false,
        shared_kernel: true,
        makes_links: true,
        captures: true,
        most_nodes: Capabilities::MOST_NODES_WITH_PACKETS,
        most_flows: Capabilities::MOST_FLOWS_WITH_PACKETS,
        kernel_congestion_controls: true,
        congestion_controls: nettrial_bpf::algorithms().map(str::to_owned).collect(),
        transports: vec![Transport::Tcp, Transport::Udp, Transport::Mptcp, Transport::Icmp],
        traffic: Traffic::KINDS.map(str::to_owned).to_vec(),
        media: vec![Medium::Cable, Medium::Wlan],
        disciplines: discipline::NAMES.map(str::to_owned).to_vec(),
        settings: vec![
            Setting::Block,
            Setting::Bursts,
            Setting::Controller,
            Setting::DelayTrace,
            Setting::Ecn,
            Setting::Events,
            Setting::FiltersIcmp,
            Setting::Impairment,
            Setting::Machine,
            Setting::Mechanisms,
            Setting::MtuProbing,
            Setting::Nagle,
            Setting::PacketSizes,
            Setting::Program,
            Setting::QueueInterval,
            Setting::QuickAck,
            Setting::RateTrace,
            Setting::Routing,
            Setting::Sysctls,
            Setting::System,
            Setting::Tunnel,
            Setting::UdpGro,
            Setting::UdpGso,
            Setting::Window,
            Setting::Zerocopy,
        ],
        // All hosts have one clock: no error of one-way delays.
        figures: vec![
            Figure::Channels,
            Figure::Controller,
            Figure::Cpu,
            Figure::Interfaces,
            Figure::Marks,
            Figure::Mechanisms,
            Figure::Retransmissions,
            Figure::RoundTripTimes,
        ],
    }
}

/// Returns a problem for each part of `scenario` that the backend whose trials run by `clock` does not support.
pub fn problems(scenario: &Scenario, clock: Clock) -> Vec<Problem> {
    let here = match clock {
        Clock::Real => "in the lab",
        Clock::Virtual => "in virtual time",
    };
    let mut problems = capabilities(clock).problems(scenario, here, |setting| match (setting, clock) {
        ("machine", _) => "machines of your own are for `--backend lab` and `--backend hosts`",
        ("controller" | "program", Clock::Virtual) => "run the study with `--backend lab`",
        _ => "its hosts and links don't support it: run the study with `--backend sim`",
    });
    match clock {
        Clock::Virtual => problems.extend(tools_with_another_clock(scenario)),
        Clock::Real => problems.extend(traced_queues(scenario)),
    }
    problems
}

/// Returns a problem for each link that follows a trace and whose queue, which is not the kernel's, would have to be more
/// than a drop-tail queue, and one if the lengths of queues are requested.
fn traced_queues(scenario: &Scenario) -> Vec<Problem> {
    let hint =
        "the kernel's shapers follow no trace, so the engine has the queue: run it with `--backend virtual`";
    let expected = "drop_tail in the lab, where the rate follows a trace";
    let mut is_traced = false;
    let mut problems = Vec::new();
    for (number, link) in scenario.links.iter().enumerate() {
        problems.extend(Place::of_directions(number, link, |direction, place| {
            let has_trace = direction.rate_trace.is_some();
            is_traced |= has_trace;
            let is_other = has_trace && !direction.discipline.is_drop_tail();
            let refused = || place.problem("discipline", direction.discipline.name(), expected, hint);
            is_other.then(refused).into_iter().collect()
        }));
    }
    if scenario.measurement.queue_interval.is_some() && is_traced {
        let expected = "none in the lab, where a rate follows a trace";
        let place = Place::new("/measurement", "the measurement");
        problems.push(place.problem("queue_interval", "given", expected, hint));
    }
    problems
}

/// Returns a problem for each tool that takes its times from the CPU instead of the kernel's clock. (sockperf 3.7 has an
/// option for the clock, `--no-rdtsc`, but then finds no valid observations.)
fn tools_with_another_clock(scenario: &Scenario) -> Vec<Problem> {
    let flows = scenario.workload.iter().enumerate();
    let others = flows
        .filter(|(_, flow)| matches!(&flow.traffic, Traffic::Tool(tool) if tool.tool == ToolName::Sockperf));
    let refuse = |(number, flow): (usize, &Flow)| {
        let hint = "it reads the CPU's counter of cycles, which is not virtual: run it with `--backend lab`";
        Place::flow(number, flow).within("traffic").problem(
            "tool",
            "sockperf",
            "another tool in virtual time",
            hint,
        )
    };
    others.map(refuse).collect()
}
