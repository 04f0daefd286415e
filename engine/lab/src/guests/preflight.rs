//! Finds the problems that keep hosts from being guests.

use super::Guests;
use nettrial_guest::{Acceleration, PROGRAM, program};
use nettrial_scenario::{Link, Node, Place, Problem, Rate, Scenario, Traffic, Transport};

/// The highest rate of a guest's links under software emulation, the same on all machines. It was not calibrated:
/// the rate that emulated guests can carry depends on the machine's CPUs.
const EMULATED: Rate = Rate(50_000_000);

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
                let problem = place.problem("system", system, format!("{PROGRAM} on PATH"), hint);
                problems.push(problem.of_machine());
            }
            if !names.iter().any(|name| name == system) {
                let known =
                    if names.is_empty() { "none is installed yet".to_owned() } else { names.join(", ") };
                let hint = "`nettrial systems add linux --package NAME` adds one";
                problems.push(place.problem("system", system, known, hint).of_machine());
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
        if problems.is_empty() {
            problems.extend(self.rate_problems(scenario, is_guest));
        }
        problems
    }

    fn rate_problems(&mut self, scenario: &Scenario, is_guest: impl Fn(&str) -> bool) -> Vec<Problem> {
        let of_guest = |link: &Link| link.interfaces.iter().any(|interface| is_guest(&interface.node));
        let links = || scenario.links.iter().enumerate().filter(|(_, link)| of_guest(link));
        let radio = links().filter(|(_, link)| link.wlan.is_some()).map(|(number, link)| {
            let hint = "guests have Ethernet interfaces";
            Place::link(number, link).problem("medium", "wlan", "cable, if a host is a guest", hint)
        });
        let mut problems: Vec<Problem> = radio.collect();
        let is_fast = |link: &Link| link.rate.is_none_or(|rate| rate > EMULATED);
        let fast: Vec<_> = links().filter(|(_, link)| link.wlan.is_none() && is_fast(link)).collect();
        if !fast.is_empty() && self.acceleration() == Acceleration::Emulation {
            problems.extend(fast.into_iter().map(|(number, link)| {
                let value = link.rate.map_or("none".to_owned(), |rate| rate.to_string());
                let expected = format!("up to {EMULATED}, if a host is a guest");
                let hint = "KVM is not available here, and an emulated CPU can't carry more";
                Place::link(number, link).problem("rate", value, expected, hint)
            }));
        }
        problems
    }
}
