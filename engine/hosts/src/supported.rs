//! The capabilities of trials on machines of the user's own.

use nettrial_scenario::{Capabilities, Figure, Medium, Problem, Scenario, Setting, Traffic, Transport};

/// Returns the capabilities of machines that lack nothing.
pub fn capabilities() -> Capabilities {
    Capabilities {
        parallel: false, // other trials would share the network
        deterministic: false,
        estimates: false,
        warm_up: true,
        simulated_time: false,
        modelled_hosts: false,
        shared_kernel: false,
        makes_links: false,
        captures: false,
        most_nodes: Capabilities::MOST_NODES_WITH_PACKETS,
        most_flows: Capabilities::MOST_FLOWS_WITH_PACKETS,
        kernel_congestion_controls: true,
        congestion_controls: Vec::new(),
        transports: vec![Transport::Tcp, Transport::Udp, Transport::Icmp],
        traffic: Traffic::KINDS.map(str::to_owned).to_vec(),
        media: vec![Medium::Cable],
        disciplines: vec!["drop_tail".to_owned()],
        // Links are not nettrial's: no figures of interfaces.
        figures: vec![
            Figure::Cpu,
            Figure::Marks,
            Figure::OwdError,
            Figure::Radio,
            Figure::Retransmissions,
            Figure::RoundTripTimes,
        ],
        settings: vec![
            Setting::Block,
            Setting::FiltersIcmp,
            Setting::Machine,
            Setting::MtuProbing,
            Setting::Sysctls,
            Setting::UdpGro,
            Setting::UdpGso,
            Setting::Window,
            Setting::Zerocopy,
        ],
    }
}

/// Returns a problem for each part of `scenario` that can't run on machines of the user's own.
pub fn problems(scenario: &Scenario) -> Vec<Problem> {
    capabilities().problems(scenario, "on machines of your own", |setting| match setting {
        "packet_sizes" | "queue_interval" => "nettrial does not control the queues and links between machines: use the lab",
        "transport" => "one connection uses one pair of addresses there: use the lab for MPTCP",
        _ => "nettrial can't change the network between machines: run the study with `--backend lab` or `--backend sim`",
    })
}
