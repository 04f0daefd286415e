//! The lab's capabilities.

use nettrial_scenario::{Capabilities, Figure, Medium, Problem, Scenario, Setting, Traffic, Transport};

/// Returns the lab's capabilities on a machine that lacks nothing.
pub fn capabilities() -> Capabilities {
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
        disciplines: vec!["drop_tail".to_owned()],
        settings: vec![
            Setting::Block,
            Setting::Bursts,
            Setting::Controller,
            Setting::Events,
            Setting::FiltersIcmp,
            Setting::Impairment,
            Setting::MtuProbing,
            Setting::PacketSizes,
            Setting::QueueInterval,
            Setting::Routing,
            Setting::System,
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
            Figure::Retransmissions,
            Figure::RoundTripTimes,
        ],
    }
}

/// Returns a problem for each part of `scenario` that the lab does not support.
pub fn problems(scenario: &Scenario) -> Vec<Problem> {
    capabilities().problems(scenario, "in the lab", |setting| match setting {
        "machine" => "machines of your own are for `--backend hosts`",
        _ => "the lab's hosts and links don't support it: run the study with `--backend sim`",
    })
}
