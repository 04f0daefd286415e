//! Runs trials on the TCP/IP stacks of real kernels, between network namespaces of this machine.
//!
//! ```text
//! Lab::enter ── once ──> a mount, user (if not root) and network namespace of the engine's own
//! Lab::run   ── a trial ─> trial::run: build ─> check ─> drive ─> collect
//! ```
//!
//! No namespace has a name. Each is kept alive by a descriptor of this process, and agents die with the process,
//! so whatever kills the engine removes the whole network.

mod affinity;
mod agents;
mod awake;
mod bucket;
mod capture;
mod carrier;
mod channel;
mod checks;
mod clock;
mod congestion;
mod delay_line;
mod environment;
mod error;
#[cfg(fuzzing)]
pub mod fuzzing;
mod gso;
mod guest_node;
mod guests;
mod host_counters;
mod host_order;
mod interfaces;
mod kernels;
mod lateness;
mod layout;
mod messages;
mod mptcp;
mod namespace;
mod network;
mod node_order;
mod openflow;
mod outages;
mod packet_sizes;
mod packet_socket;
mod pools;
mod preflight;
mod processors;
mod procfs;
mod programs;
mod queue;
mod queue_length;
mod settings;
mod shaper_time;
mod stations;
mod supported;
mod tap;
#[cfg(test)]
mod testing;
mod trial;
mod tunnel_addresses;
mod wire;

pub use clock::Clock;
pub use error::{Error, Result};
pub use guest_node::run as guest_node;
pub use stations::{Joining, Way};
pub use supported::{capabilities, problems as unsupported};

use layout::Layout;
use nettrial_scenario::{Capture, Flow, Place, Preflight, Problem, Record, Scenario, TimerLateness};
use std::cell::RefCell;

/// The lab backend, inside its own namespaces.
pub struct Lab {
    home: namespace::Home,
    own: congestion::Own,
    /// The lateness of the machine's timers; absent in virtual time, where they are never late.
    lateness: Option<TimerLateness>,
    /// The guests and machines that are kept from one trial to the next.
    pools: RefCell<pools::Pools>,
}

impl Lab {
    /// Moves this process into its own namespaces, as root or through a user namespace if the system allows. The
    /// process must still have a single thread. `clock` is that of the kernel.
    ///
    /// # Errors
    /// Fails with everything that was tried and its results.
    pub fn enter(clock: Clock) -> Result<Self, Box<Preflight>> {
        // The engine's own namespace does not show this setting.
        let jit_is_off = nettrial_bpf::jit_is_off();
        let refuse = |missing| {
            let environment = environment::describe("none", None, clock);
            Box::new(Preflight {
                missing,
                limits: Vec::new(),
                capabilities: Some(Box::new(capabilities(clock))),
                environment,
            })
        };
        let home = namespace::Home::enter(clock).map_err(refuse)?;
        let own = congestion::Own::new(home.is_root, jit_is_off);
        let lateness = clock.measured(|| lateness::measure().map(Some));
        let lateness = lateness.map_err(|error| refuse(vec![preflight::no_timers(&error)]))?;
        let pools = pools::Pools { guests: guests::Guests::new(), machines: stations::Stations::default() };
        Ok(Self { home, own, lateness, pools: RefCell::new(pools) })
    }

    /// Returns the lab with these machines of the user's, which may be nodes of its networks.
    #[must_use]
    pub fn with_machines(self, machines: Vec<Joining>) -> Self {
        self.pools.borrow_mut().machines = stations::Stations::new(machines);
        self
    }

    /// Returns the capabilities of this machine, found by trying them; if `thorough`, also those of the engine's
    /// own congestion controls. The user's machines are started.
    pub fn preflight(&self, thorough: bool) -> Preflight {
        let mut preflight = preflight::examine(&self.home, thorough.then_some(&self.own), self.lateness);
        match self.pools.borrow_mut().machines.describe() {
            Ok(machines) => preflight.environment.machines = machines,
            Err(missing) => preflight.missing.extend(missing),
        }
        preflight
    }

    /// Returns all problems that keep `scenario` from running here; empty if there are none.
    pub fn check(&self, scenario: &Scenario) -> Vec<Problem> {
        let scenario = &self.pools.borrow().machines.assigned(scenario);
        let mut problems = nettrial_scenario::check(scenario);
        for (number, flow) in scenario.workload.iter().enumerate() {
            problems.extend(nettrial_traffic::problems(flow, &Place::flow(number, flow)));
        }
        problems.extend(preflight::scenario_problems(scenario, &self.own, self.home.clock));
        problems.extend(self.pools.borrow_mut().guests.problems(scenario));
        if problems.is_empty() {
            self.calibrate(scenario);
            problems.extend(self.pools.borrow().guests.rate_problems(scenario));
        }
        if problems.is_empty() {
            problems.extend(unreachable_flows(scenario));
            problems.extend(openflow::problems(scenario, self.home.outside().is_some()));
            problems.extend(preflight::routing::problems(scenario));
            problems.extend(preflight::sysctls::problems(scenario, &self.home));
            problems.extend(queue::discipline::problems(scenario, &self.home));
            problems.extend(network::tunnel_problems(scenario, &self.home));
        }
        if problems.is_empty() {
            problems.extend(self.pools.borrow_mut().machines.problems(scenario));
        }
        problems
    }

    /// Finds out what emulated guests carry, if `scenario` has some and that is not known.
    fn calibrate(&self, scenario: &Scenario) {
        let pools = &mut self.pools.borrow_mut();
        while let Some(calibration) = pools.guests.calibration(scenario) {
            tracing::info!("measuring the rate of emulated guests");
            let outcome = trial::run(&self.home, &calibration, &self.own, None, pools);
            pools.guests.calibrated(outcome);
        }
    }

    /// Runs one trial and takes its network down.
    ///
    /// # Errors
    /// Fails if the scenario does not pass [`Lab::check`], if the network can't be built, if the traffic is not
    /// completed, or if a capture can't be written.
    pub fn run(&self, scenario: &Scenario, capture: Option<&Capture>) -> Result<Record> {
        let scenario = &self.pools.borrow().machines.assigned(scenario);
        if let Some(problem) = self.check(scenario).first() {
            return Err(Error::Scenario(Box::new(problem.clone())));
        }
        let mut record = {
            let pools = &mut self.pools.borrow_mut();
            trial::run(&self.home, &self.own.in_kernel(scenario)?, &self.own, capture, pools)?
        };
        self.own.out_of_kernel(&mut record);
        Ok(record)
    }
}

fn unreachable_flows(scenario: &Scenario) -> Vec<Problem> {
    let layout = Layout::new(scenario);
    let reaches = |from: &str, to: &str, version| layout.path(from, to, version).is_some();
    let is_lost =
        |flow: &Flow| !(reaches(&flow.from, &flow.to, flow.ip) && reaches(&flow.to, &flow.from, flow.ip));
    let lost = scenario.workload.iter().enumerate().filter(|(_, flow)| is_lost(flow));
    lost.map(|(number, flow)| {
        let expected = format!("a host that a path leads to from {}, and back", flow.from);
        Place::flow(number, flow).problem("to", &flow.to, expected, "no links and routers join the two")
    })
    .collect()
}
