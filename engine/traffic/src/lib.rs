//! Generates and measures traffic: the agent that runs on each host of a trial.
//!
//! An agent is controlled over its standard input and output by whoever started it ([`run_agent`]): it
//! has no control port. Data ports are opened for one trial and serve only connections that begin
//! with that trial's secret [`Cookie`]. A flow's figures are put together at its sender; the receiver
//! confirms what it read, stamps the requests it answers, and reports on the packets that arrived.
//!
//! Each transport and each kind of traffic is one module behind [`flow::run`] (the sender's side) and
//! [`listener`] (the receiver's); [`problems`] names what is not carried. Other programs make their own
//! traffic: [`tool`] starts and reads them.

mod agent;
mod clock;
mod cookie;
mod exchange;
mod figures;
mod flow;
mod listener;
mod packets;
mod path_mtu;
mod protocol;
mod sampler;
mod sequence;
mod statistics;
mod tcp;
mod tool;
mod transfer;
mod variate;
mod wire;

pub use agent::run as run_agent;
pub use cookie::Cookie;
pub use protocol::{Command, Connection, Order, PathMtu, Reply, Report, Side};

use nettrial_scenario::{Flow, Problem, Traffic, Transport};

/// What of `flow` the agent cannot carry; empty if it can.
pub fn problems(flow: &Flow) -> Vec<Problem> {
    let object = format!("flow {:?}", flow.name);
    if let Some(tool) = tool::of(flow) {
        return tool::problems(flow, tool);
    }
    let mut problems = Vec::new();
    let is_packets = matches!(flow.traffic, Traffic::Packets(_));
    if flow.transport != Transport::Tcp && !is_packets {
        let value = format!("{:?}", flow.transport).to_lowercase();
        let hint = "this version's agent carries other traffic than packets over TCP only";
        problems.push(Problem::new("transport", &object, value, "tcp", hint));
    }
    if !matches!(flow.traffic, Traffic::Transfer(_) | Traffic::RequestResponse(_) | Traffic::Packets(_)) {
        let legal = "transfer, request_response, packets, tool";
        let hint = "this version's agent carries no other";
        problems.push(Problem::new("traffic", &object, flow.traffic.kind(), legal, hint));
    }
    problems
}
