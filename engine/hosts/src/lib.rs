//! Runs trials between machines of the user's own.
//!
//! ```text
//! Hosts (here) ── a command such as ssh, a question a line ──> serve (there) ── an order a line ──> agent
//!              <── an answer a line ──                            └─ guard: restores settings, whatever ends serve
//! ```
//!
//! Nodes of a scenario are mapped to machines of an [`Inventory`]. The traffic uses the addresses in the
//! inventory, and no others. The network between the machines can't be set: links' rates and delays are
//! expectations. Settings of a machine that a study needs are changed if the inventory permits it, and restored:
//! the old value is written to a journal on the machine's disk before the change, and a process on the machine
//! that outlives the connection restores it.
//!
//! Nothing listens on a machine while no trial runs. Data ports are opened for one trial and accept only its
//! cookie.

#![forbid(unsafe_code)]

#[cfg(target_os = "linux")]
mod addressing;
#[cfg(target_os = "linux")]
mod describe;
mod disturbances;
#[cfg(not(target_os = "linux"))]
mod elsewhere;
mod error;
mod expectations;
mod far;
#[cfg(fuzzing)]
pub mod fuzzing;
mod guard;
mod inventory;
mod journal;
mod line;
mod lock;
mod mapping;
mod message;
mod own_machine;
mod pace;
#[cfg(target_os = "linux")]
mod pci;
#[cfg(target_os = "linux")]
mod ports;
mod preflight;
#[cfg(any(not(target_os = "linux"), test, fuzzing))]
mod radio;
mod settings;
mod state;
mod station;
mod supported;
mod trial;
mod wanted;

#[cfg(not(target_os = "linux"))]
use elsewhere::describe;

pub use error::{Error, Result};
pub use far::serve;
pub use guard::guard;
pub use inventory::{InterfaceEntry, Inventory, MachineEntry, Permission};
pub use journal::{Kept, Restored};
pub use line::Leaver;
pub use own_machine::OwnMachine;
pub use station::Station;
pub use supported::capabilities;

use line::Line;
use mapping::Mapping;
use message::{FromMachine, ToMachine};
use nettrial_scenario::{Fault, Flow, Machine, Preflight, Problem, Record, Scenario, Shortfall};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Handles with which another thread ends all sessions of a backend.
pub type Leavers = Arc<Mutex<Vec<Leaver>>>;

/// The backend, with the machines that it has reached.
pub struct Hosts {
    inventory: Inventory,
    lines: BTreeMap<String, Line>,
    /// The descriptions of the machines, by their names.
    machines: BTreeMap<String, Machine>,
    leavers: Leavers,
}

impl Hosts {
    /// Creates a backend for trials on the machines of `inventory`, without connecting to any of them.
    pub fn new(inventory: Inventory) -> Self {
        Self { inventory, lines: BTreeMap::new(), machines: BTreeMap::new(), leavers: Arc::default() }
    }

    /// Returns handles with which another thread ends all sessions of this backend.
    pub fn leavers(&self) -> Leavers {
        Arc::clone(&self.leavers)
    }

    /// Returns the capabilities of the machines; if `thorough`, also the size of packets that pass between them.
    pub fn preflight(&mut self, thorough: bool) -> Preflight {
        preflight::examine(self, thorough)
    }

    /// Returns all problems that keep `scenario` from running on these machines; empty if there are none. If the
    /// inventory has no machines, returns the problems that keep it from running on any machine.
    pub fn check(&mut self, scenario: &Scenario) -> Vec<Problem> {
        let mut problems = nettrial_scenario::check(scenario);
        problems.extend(supported::problems(scenario));
        if !problems.is_empty() || self.inventory.machines.is_empty() {
            return problems;
        }
        let inventory = self.inventory.clone();
        let mapping = match Mapping::of(scenario, &inventory) {
            Ok(mapping) => mapping,
            Err(problems) => return problems,
        };
        let names = mapping.machines();
        let unreached = self.connect(&names);
        if !unreached.is_empty() {
            let problems = unreached.iter().map(|shortfall| mapping.unreached(shortfall));
            return problems.collect();
        }
        match self.reported_problems(&mapping) {
            Ok((reported, machines)) => {
                problems.extend(wanted::problems(&mapping, &machines));
                problems.extend(reported);
            }
            Err(error) => problems.push(mapping.failed(&error)),
        }
        problems
    }

    /// Runs one trial.
    ///
    /// # Errors
    /// Fails if the scenario does not pass [`Hosts::check`], if a machine can't be reached or its settings can't
    /// be changed, or if the traffic is not completed.
    pub fn run(&mut self, scenario: &Scenario) -> Result<Record> {
        let inventory = self.inventory.clone();
        let mapping = Mapping::of(scenario, &inventory).map_err(|problems| first(&problems))?;
        if let Some(shortfall) = self.connect(&mapping.machines()).first() {
            return Err(Error::Shortfall(Box::new(shortfall.clone())));
        }
        if let Some(problem) = self.check(scenario).first() {
            return Err(Error::Scenario(Box::new(problem.clone())));
        }
        let record = trial::run(scenario, &mapping, &self.lines, &self.machines);
        if record.is_err() {
            // The last questions may not be answered yet, so the next trial connects to the machines anew.
            for name in mapping.machines() {
                self.lines.remove(name);
            }
        }
        record.map(|record| Record { set: self.inventory.set.clone(), ..record })
    }

    /// Connects to the machines called `names` that are not connected yet, all at the same time. Returns the
    /// reasons why some could not be reached.
    fn connect(&mut self, names: &[&str]) -> Vec<Shortfall> {
        self.lines.retain(|_, line| line.is_open());
        let entries = &self.inventory.machines;
        let missing: Vec<(&String, &MachineEntry)> = entries
            .iter()
            .filter(|(name, _)| names.contains(&name.as_str()) && !self.lines.contains_key(*name))
            .collect();
        let reached: Vec<Result<(Line, Machine), Shortfall>> = std::thread::scope(|scope| {
            let threads: Vec<_> =
                missing.iter().map(|(name, entry)| scope.spawn(|| reach(name, entry))).collect();
            threads.into_iter().filter_map(|thread| thread.join().ok()).collect()
        });
        let mut shortfalls = Vec::new();
        let mut leavers = self.leavers.lock().unwrap_or_else(PoisonError::into_inner);
        for outcome in reached {
            match outcome {
                Ok((line, machine)) => {
                    leavers.push(line.leaver());
                    self.machines.insert(line.name.clone(), machine);
                    self.lines.insert(line.name.clone(), line);
                }
                Err(shortfall) => shortfalls.push(shortfall),
            }
        }
        shortfalls
    }

    /// Returns the flows and congestion controls that the machines report as impossible, and the descriptions of the
    /// machines with the values of the sysctls that hosts are to have.
    fn reported_problems(&self, mapping: &Mapping) -> Result<(Vec<Problem>, BTreeMap<String, Machine>)> {
        let mut machines = self.machines.clone();
        let mut asked_lines = Vec::new();
        for name in mapping.machines() {
            let is_here = |node: &str| mapping.machine(node).is_some_and(|(machine, _)| machine == name);
            let flows = mapping.scenario.workload.iter().enumerate();
            let flows: Vec<(usize, Flow)> = flows
                .filter(|(_, flow)| is_here(&flow.from) || is_here(&flow.to))
                .map(|(number, flow)| (number, flow.clone()))
                .collect();
            let line = self
                .lines
                .get(name)
                .ok_or_else(|| Error::Lost { machine: name.to_owned(), why: "it is not connected".into() })?;
            let nodes = || mapping.scenario.nodes.iter().filter(|node| is_here(&node.name));
            let controls = nodes().filter_map(|node| Some(node.stack.as_ref()?.congestion_control.clone()));
            let sysctls = nodes().flat_map(|node| node.sysctls.keys().cloned()).collect();
            line.ask(&ToMachine::Problems { flows, controls: controls.collect(), sysctls })?;
            asked_lines.push(line);
        }
        let (mut problems, mut absent) = (Vec::new(), BTreeMap::new());
        for line in asked_lines {
            let FromMachine::Problems { flows, without, sysctls } = line.answer()? else {
                return Err(Error::Answer(format!("{} sent an unexpected answer", line.name)));
            };
            if let Some(machine) = machines.get_mut(&line.name) {
                machine.sysctls.extend(sysctls);
            }
            absent.insert(line.name.clone(), without);
            problems.extend(flows.into_iter().map(|problem| Problem {
                hint: format!("on machine {}: {}", line.name, problem.hint),
                ..problem
            }));
        }
        problems.extend(wanted::absent_controls(mapping, &self.machines, &absent));
        Ok((problems, machines))
    }
}

/// Connects to a machine and requests its description.
fn reach(name: &str, entry: &MachineEntry) -> Result<(Line, Machine), Shortfall> {
    let line = Line::open(name, entry)?;
    let described = (|| {
        let interfaces = entry.interfaces.iter().map(|interface| interface.name.clone()).collect();
        line.ask(&ToMachine::Describe { interfaces })?;
        let FromMachine::Described(machine) = line.answer()? else {
            return Err(Error::Answer(format!("{name} does not describe itself")));
        };
        let (offset, wall_ns) = line.clock()?;
        Ok(Machine {
            name: name.to_owned(),
            clock_ahead_ns: wall_ns,
            clock_error_ns: offset.error_ns.unsigned_abs(),
            ..*machine
        })
    })();
    match described {
        Ok(machine) => Ok((line, machine)),
        Err(error) => Err(Shortfall::new(
            format!("machine {name} ({})", entry.reached_by),
            nettrial_scenario::chain(&error),
            "install the engine there again: `nettrial machines install`",
        )
        .of_kind(error.kind())),
    }
}

fn first(problems: &[Problem]) -> Error {
    let problem = problems.first().cloned().map(Box::new);
    problem.map_or_else(|| Error::NotMapped("the scenario can't run".into()), Error::Scenario)
}

/// Restores the settings of this machine that an earlier session left changed.
///
/// # Errors
/// Fails if a running session uses the machine, or if the journal can't be read or written.
pub fn restore() -> Result<Restored> {
    forget(&[])
}

/// Restores the settings of this machine that an earlier session left changed, and discards the entries with these
/// keys ([`Kept::key`]) that can't be carried out.
///
/// # Errors
/// Fails if a running session uses the machine, if the journal can't be read or written, or if no entry that can't be
/// carried out has one of the keys.
pub fn forget(keys: &[String]) -> Result<Restored> {
    const PATIENCE: Duration = Duration::from_secs(2);
    let lock = match lock::Lock::take(PATIENCE)? {
        lock::Taken::Lock(lock) => lock,
        lock::Taken::By(holder) => {
            return Err(Error::Busy(format!(
                "a nettrial session uses this machine ({holder}): the settings that it changed are restored when it \
             ends"
            )));
        }
    };
    if !lock.has_directory() && journal::former()?.is_none() && keys.is_empty() {
        return Ok(Restored::default());
    }
    let outcome = journal::restore(lock.directory()?, keys)?;
    let missing = keys.len() - outcome.forgotten.len().min(keys.len());
    if missing != 0 {
        return Err(Error::Journal(format!(
            "{missing} of the entries are not in the journal any more, or have been carried out"
        )));
    }
    Ok(outcome)
}
