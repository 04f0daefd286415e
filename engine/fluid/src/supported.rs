//! The capabilities of a backend without packets.

use crate::coupled::Coupling;
use nettrial_scenario::{Capabilities, Medium, Problem, Scenario, Setting, Transport};

/// Returns the capabilities of this backend, which are the same on any machine.
pub fn capabilities() -> Capabilities {
    Capabilities {
        parallel: true,
        deterministic: true,
        estimates: false,
        warm_up: false,
        simulated_time: true,
        modelled_hosts: true,
        shared_kernel: false,
        makes_links: true,
        captures: false,
        most_nodes: 120_000,
        most_flows: 120_000,
        kernel_congestion_controls: false,
        congestion_controls: Coupling::CONTROLS.iter().map(|(name, _)| (*name).to_owned()).collect(),
        transports: vec![Transport::Tcp, Transport::Mptcp],
        traffic: vec!["transfer".to_owned()],
        media: vec![Medium::Cable],
        disciplines: vec!["drop_tail".to_owned()],
        // Subflows always have data to send, whatever the scheduler.
        settings: vec![Setting::Pair, Setting::Routing, Setting::Scheduler],
        figures: Vec::new(),
    }
}

/// Returns a problem for each setting of `scenario` that the model can't represent.
pub fn problems(scenario: &Scenario) -> Vec<Problem> {
    capabilities().problems(scenario, "in the fluid model", |setting| match setting {
        "kind" | "transport" => {
            "it computes the rates of transfers; the simulator has packets: `--backend sim`"
        }
        "machine" => "machines of your own are for `--backend hosts`",
        "program" => "stacks that are programs are for `--backend lab` and `virtual`",
        "policy" => "the simulator and the fluid model take the same paths",
        _ => "it would have no effect there; the simulator has most settings: `--backend sim`",
    })
}
