//! Finds the problems that keep hosts from being guests.

use super::Guests;
use super::carried::{self, Carried};
use crate::affinity;
use nettrial_guest::{Acceleration, PROGRAM, program};
use nettrial_scenario::{Link, Node, Place, Problem, Scenario, Traffic, Transport, chain};

impl Guests {
    /// Returns all problems that keep hosts of `scenario` from being the guests that they should be.
    pub fn problems(&mut self, scenario: &Scenario) -> Vec<Problem> {
        let mut problems = Vec::new();
        let guests: Vec<(usize, &Node, &str)> = scenario
            .nodes
            .iter()
            .enumerate()
            .filter_map(|(number, node)| Some((number, node, node.system.as_deref()?)))
            .collect();
        if guests.is_empty() {
            return problems;
        }
        let names = self.catalogue.names();
        for &(number, node, system) in &guests {
            let place = Place::node(number, node);
            if program().is_none() {
                let hint = "install QEMU: apt-get install qemu-system-x86";
                let expected = format!("{PROGRAM} on PATH, where it is missing");
                let problem = place.problem("system", system, expected, hint);
                problems.push(problem.of_machine());
            }
            if !names.iter().any(|name| name == system) {
                let known = if names.is_empty() {
                    "an installed system, and none is installed yet".to_owned()
                } else {
                    names.join(", ")
                };
                let hint = "`nettrial systems add linux --package NAME` adds one";
                problems.push(place.problem("system", system, known, hint).of_machine());
            } else if let Err(error) = self.catalogue.get(system) {
                let expected = "a system that guests can run";
                problems.push(place.problem("system", system, expected, chain(&error)).of_machine());
            }
            let usable = affinity::usable();
            for number in node.guest.pinned.iter().filter(|number| !usable.contains(&(**number as usize))) {
                let expected = usable.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
                let hint = "these are the CPUs that nettrial may use here";
                problems.push(place.within("guest").problem("pinned", number, expected, hint).of_machine());
            }
        }
        let is_guest = |name: &str| guests.iter().any(|(_, node, _)| node.name == name);
        for (number, flow) in scenario.workload.iter().enumerate() {
            if !is_guest(&flow.from) && !is_guest(&flow.to) {
                continue;
            }
            let place = Place::flow(number, flow);
            if flow.transport == Transport::Mptcp {
                let hint = "nettrial does not configure the MPTCP path manager of guests";
                problems.push(place.problem("transport", "mptcp", "tcp, udp", hint));
            }
            if let Traffic::Tool(_) = flow.traffic {
                let hint = "guests have no program other than nettrial's agent";
                let expected = "traffic of nettrial's own between guests";
                problems.push(place.within("traffic").problem("kind", "tool", expected, hint));
            }
        }
        problems
    }

    /// Returns the scenario of a calibration transfer that is necessary before `scenario`, which has no other
    /// problem, can be judged; `None` if an earlier one has shown that guests carry the rates of their links.
    pub fn calibration(&mut self, scenario: &Scenario) -> Option<Scenario> {
        let systems: Vec<&str> = scenario.nodes.iter().filter_map(|node| node.system.as_deref()).collect();
        let (first, last) = (systems.first()?, systems.last()?);
        if self.acceleration() == Acceleration::Kvm {
            return None;
        }
        if self.carried.is_none() {
            self.carried = Carried::known(&self.catalogue);
        }
        let is_known = self.carried.is_some() && self.rate_problems(scenario).is_empty();
        (!is_known && self.calibrations > 0).then(|| carried::calibration([first, last]))
    }

    /// Returns a problem for each link of a guest that is faster than guests are known to be.
    pub fn rate_problems(&self, scenario: &Scenario) -> Vec<Problem> {
        let Some(carried) = self.carried else { return Vec::new() };
        // A radio channel has no rate of its own: it holds a guest back for as long as its frames are at the station.
        let is_fast = |link: &Link| link.wlan.is_none() && link.rate.is_none_or(|rate| rate > carried.rate());
        let problems = links_of_guests(scenario).flat_map(|(number, link)| {
            Place::of_directions(number, link, |direction, place| {
                let value = direction.rate.map_or("none".to_owned(), |rate| rate.to_string());
                let expected = format!("up to {}, where an end is a guest", carried.rate());
                let refused = || place.problem("rate", value, expected, carried.reason()).of_machine();
                is_fast(direction).then(refused).into_iter().collect()
            })
        });
        problems.collect()
    }
}

/// Returns the links of guests, with their numbers.
fn links_of_guests(scenario: &Scenario) -> impl Iterator<Item = (usize, &Link)> {
    let is_guest = |name: &str| scenario.nodes.iter().any(|node| node.name == name && node.system.is_some());
    let links = scenario.links.iter().enumerate();
    links.filter(move |(_, link)| link.interfaces.iter().any(|interface| is_guest(&interface.node)))
}
