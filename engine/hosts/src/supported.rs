//! The capabilities of trials on machines of the user's own.

use nettrial_scenario::{Capabilities, Figure, Medium, Problem, Scenario, Setting, Traffic, Transport};

/// The capabilities on machines that lack nothing.
pub fn capabilities() -> Capabilities {
    Capabilities {
        parallel: false, // other trials would take its network
        deterministic: false,
        estimates: false,
        warm_up: true,
        simulated_time: false,
        modelled_hosts: false,
        shared_kernel: false,
        makes_links: false,
        captures: false,
        kernel_congestion_controls: true,
        congestion_controls: Vec::new(),
        transports: vec![Transport::Tcp, Transport::Udp, Transport::Icmp],
        traffic: Traffic::KINDS.map(str::to_owned).to_vec(),
        media: vec![Medium::Cable],
        disciplines: vec!["drop_tail".to_owned()],
        figures: vec![Figure::Cpu, Figure::OwdError], // links are not nettrial's
        settings: vec![
            Setting::Block,
            Setting::FiltersIcmp,
            Setting::Machine,
            Setting::MtuProbing,
            Setting::UdpGro,
            Setting::UdpGso,
            Setting::Window,
            Setting::Zerocopy,
        ],
    }
}

/// A problem for everything in `scenario` that is not done on machines of the user's own.
pub fn problems(scenario: &Scenario) -> Vec<Problem> {
    capabilities().problems(scenario, "on machines of your own", |setting| match setting {
        "packet_sizes" | "queue_interval" => "queues and links between machines are not nettrial's: use the lab",
        "transport" => "one connection uses one pair of addresses there: use the lab for MPTCP",
        _ => "the network between machines is what it is: run the study with `--backend lab` or `--backend sim`",
    })
}
