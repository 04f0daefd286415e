//! The program `nettrial-stack-lwip`: a host whose TCP/IP is lwIP, the stack of many embedded devices. What it measures and
//! says is the agent's of all such programs (`stacks/agent`).

mod library;
mod stack;

use nettrial_scenario::Fault;
use std::process::ExitCode;

/// The stack's name in studies.
const NAME: &str = "lwip";

fn main() -> ExitCode {
    match nettrial_stack_agent::main(NAME, library::version(), stack::Lwip::start) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("nettrial-stack-{NAME}: {}", error.in_words());
            ExitCode::FAILURE
        }
    }
}
