//! The simulator's capabilities.

use nettrial_scenario::{Capabilities, Figure, Medium, Problem, Scenario, Setting, Transport};

/// Returns the simulator's capabilities, which are the same on any machine.
pub fn capabilities() -> Capabilities {
    Capabilities {
        parallel: true,
        deterministic: true,
        estimates: true,
        warm_up: false,
        simulated_time: true,
        modelled_hosts: true,
        shared_kernel: false,
        makes_links: true,
        captures: true,
        most_nodes: Capabilities::MOST_NODES_WITH_PACKETS,
        most_flows: Capabilities::MOST_FLOWS_WITH_PACKETS,
        kernel_congestion_controls: false,
        congestion_controls: nettrial_congestion::names().map(str::to_owned).collect(),
        transports: vec![Transport::Tcp, Transport::Udp, Transport::Mptcp],
        traffic: ["transfer", "request_response", "packets", "sweep"].map(str::to_owned).to_vec(),
        media: vec![Medium::Cable, Medium::Wlan],
        disciplines: ["drop_tail", "mark", "red", "codel", "fq_codel"].map(str::to_owned).to_vec(),
        settings: vec![
            Setting::Bursts,
            Setting::Cost,
            Setting::DelayTrace,
            Setting::Ecn,
            Setting::Events,
            Setting::FiltersIcmp,
            Setting::Impairment,
            Setting::Mechanisms,
            Setting::MinimumRto,
            Setting::MtuProbing,
            Setting::PacketSizes,
            Setting::Pair,
            Setting::QueueInterval,
            Setting::QueueSeries,
            Setting::RateTrace,
            Setting::Routing,
            Setting::Scheduler,
            Setting::SmallQueues,
            Setting::Tunnel,
            Setting::Window,
        ],
        // All hosts have one clock: no error of one-way delays.
        figures: vec![
            Figure::Channels,
            Figure::Cpu,
            Figure::Interfaces,
            Figure::Marks,
            Figure::Mechanisms,
            Figure::Retransmissions,
            Figure::RoundTripTimes,
        ],
    }
}

/// Returns a problem for every feature of `scenario` that the simulator lacks.
pub fn problems(scenario: &Scenario) -> Vec<Problem> {
    capabilities().problems(scenario, "in the simulator", |setting| match setting {
        "kind" => "programs and files are of real hosts: use the lab, or another kind of traffic",
        "transport" => "only the tool ping sends it",
        "machine" => "machines of your own are for `--backend hosts`",
        "program" => "stacks that are programs are for `--backend lab` and `virtual`",
        _ => "it would have no effect there: the simulator does not model it",
    })
}
