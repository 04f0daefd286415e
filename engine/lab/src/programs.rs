//! Hosts whose TCP/IP is a program's and not their kernel's.
//!
//! The program `nettrial-stack-NAME` runs in the host's namespace, whose interfaces have no addresses there, and takes
//! their frames from packet sockets. It is the host's agent: it has the host's addresses, routes and TCP settings from its
//! argument, and takes orders as any agent does.

mod preflight;
mod table;

use crate::error::{Context, Error, Result};
use crate::layout::Layout;
use nettrial_scenario::{Absence, Flow, Node, Scenario, Stack, StackRecord};
pub use preflight::problems;
use std::path::PathBuf;
use std::process::Command;
use table::Program;

/// The environment variable with the directory of the programs. Without it, they are beside the engine.
const DIRECTORY: &str = "NETTRIAL_STACKS";

/// Returns the name of the program whose TCP/IP `node` has; `None` if it has its kernel's.
pub fn of(node: &Node) -> Option<&str> {
    node.stack.as_ref()?.program.as_deref()
}

/// Returns true if a host of `scenario` has a program's TCP/IP.
pub fn are_in(scenario: &Scenario) -> bool {
    scenario.nodes.iter().any(|node| of(node).is_some())
}

/// Returns the bytes that segments of a connection between hosts with these stacks, the sender's first, have less than the
/// MTU allows.
pub fn spare_bytes(from: &Stack, to: &Stack) -> u64 {
    let program = from.program.as_deref().and_then(Program::named);
    program.map_or(0, |program| program.spare_bytes(from, to))
}

/// Returns the record of the program called `name`, which it is asked for.
///
/// # Errors
/// Fails if the program is not there, or does not print its version.
pub fn describe(name: &str) -> Result<StackRecord> {
    let path = path(name)?;
    let asking = || format!("asking {} for its version", path.display());
    let output = Command::new(&path).arg("--version").output().with_context(asking)?;
    serde_json::from_slice(&output.stdout).with_context(asking)
}

/// Returns the figures of flows that are absent because the stack of their first host does not have them.
pub fn uncounted(layout: &Layout) -> Vec<Absence> {
    let from = |flow: &Flow| {
        let program = layout.directory.node(&flow.from).and_then(of).and_then(Program::named)?;
        Some((flow.name.clone(), program))
    };
    let absences = |(object, program): (String, &Program)| {
        let absent = |metrics: &'static [&str], what: &str| {
            let (object, reason) = (object.clone(), format!("{} {what}", program.name));
            metrics.iter().map(move |metric| Absence {
                metric: (*metric).into(),
                object: object.clone(),
                reason: reason.clone(),
            })
        };
        let bytes = absent(&["ip_rate", "wire_rate"], "does not count the bytes of a connection's packets");
        let state = absent(
            &["cwnd", "srtt", "min_rtt"],
            "does not tell the congestion window and the round-trip times of its connections",
        );
        let bytes = bytes.filter(|_| !program.counts_bytes);
        bytes.chain(state.filter(|_| !program.tells_state)).collect::<Vec<_>>()
    };
    layout.scenario.workload.iter().filter_map(from).flat_map(absences).collect()
}

/// Returns the path of the program called `name`.
///
/// # Errors
/// Fails if it is not there.
pub fn path(name: &str) -> Result<PathBuf> {
    let directory = match std::env::var_os(DIRECTORY).filter(|directory| !directory.is_empty()) {
        Some(directory) => PathBuf::from(directory),
        None => std::env::current_exe()
            .context("finding the engine")?
            .parent()
            .map(PathBuf::from)
            .unwrap_or_default(),
    };
    let path = directory.join(format!("nettrial-stack-{name}"));
    if !path.is_file() {
        return Err(Error::Unsupported(format!("there is no {}", path.display())));
    }
    Ok(path)
}
