//! The program `nettrial-stack-smoltcp`: a host whose TCP/IP is smoltcp, a stack in Rust for devices without an operating
//! system. What it measures and says is the agent's of all such programs (`stacks/agent`).

mod device;
mod listeners;
mod stack;

use nettrial_scenario::Fault;
use std::process::ExitCode;

/// The stack's name in studies.
const NAME: &str = "smoltcp";
/// The versions of all crates that this program is built of.
const LOCK: &str = include_str!("../../../Cargo.lock");

fn main() -> ExitCode {
    let version = nettrial_stack_agent::locked_version(LOCK, NAME);
    match nettrial_stack_agent::main(NAME, version, stack::Smoltcp::start) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("nettrial-stack-{NAME}: {}", error.in_words());
            ExitCode::FAILURE
        }
    }
}
