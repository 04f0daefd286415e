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
mod datagram;
mod exchange;
mod figures;
mod file_transfer;
mod flow;
mod listener;
mod message;
mod mptcp;
mod options;
mod packets;
mod path_mtu;
mod protocol;
mod sampler;
mod sweep;
mod tcp;
mod tcp_info;
mod tool;
mod transfer;
mod waiting;
mod zerocopy;

#[cfg(test)]
mod tests;

pub use agent::run as run_agent;
pub use cookie::Cookie;
pub use protocol::{ClockOffset, Command, Connection, Order, PathMtu, Reply, Report, Side};

use nettrial_scenario::{Flow, Problem, Traffic};

/// What of `flow` the agent cannot carry; empty if it can.
pub fn problems(flow: &Flow) -> Vec<Problem> {
    let object = format!("flow {:?}", flow.name);
    if let Some(tool) = tool::of(flow) {
        return tool::problems(flow, tool);
    }
    let mut problems = Vec::new();
    if let Traffic::FileTransfer(transfer) = &flow.traffic
        && let Err(error) = file_transfer::open(transfer)
    {
        let legal = "a regular file that can be read";
        problems.push(Problem::new("file", &object, &transfer.file, legal, format!("{error:#}")));
    }
    problems
}
