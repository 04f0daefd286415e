//! A machine on the lab's links: the lab makes the network and runs the trial, and this machine is one of its nodes.

use crate::error::{Error, Result};
use crate::inventory::{Inventory, MachineEntry, Permission};
use crate::mapping::Mapping;
use crate::message::{FromMachine, ToMachine};
use crate::{Hosts, wanted};
use nettrial_scenario::{Machine, Problem, Scenario, Shortfall};
use nettrial_session::{Sink, Transport};
use std::collections::BTreeMap;

/// A machine on the lab's links, which the lab starts.
pub struct Station {
    name: String,
    entry: MachineEntry,
    /// The backend of this machine alone.
    hosts: Hosts,
}

impl Station {
    /// Returns the machines of `inventory`.
    pub fn all(inventory: Inventory) -> Vec<Self> {
        let one = |(name, entry): (String, MachineEntry)| {
            let machines: BTreeMap<_, _> = std::iter::once((name.clone(), entry.clone())).collect();
            Self { name, entry, hosts: Hosts::new(Inventory { machines, set: None }) }
        };
        inventory.machines.into_iter().map(one).collect()
    }

    /// Returns the machine's name in the inventory.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the machine's entry in the inventory.
    pub fn entry(&self) -> &MachineEntry {
        &self.entry
    }

    /// Connects to the machine, unless it is connected, and returns its description.
    ///
    /// # Errors
    /// Returns what was tried, the reason why it failed, and the remedy.
    pub fn connect(&mut self) -> Result<Machine, Box<Shortfall>> {
        if let Some(shortfall) = self.hosts.connect(&[&self.name]).pop() {
            return Err(Box::new(shortfall));
        }
        let machine = self.hosts.machines.get(&self.name).cloned();
        machine.ok_or_else(|| Box::new(Shortfall::new(&self.name, "it was not described", "try again")))
    }

    /// Ends the connection to the machine.
    pub fn disconnect(&mut self) {
        self.hosts.lines.clear();
    }

    /// Returns the problems that keep this machine from being `node`.
    ///
    /// # Errors
    /// Fails if the machine is gone.
    pub fn problems(&self, scenario: &Scenario, node: &str) -> Result<Vec<Problem>> {
        let mapping = match Mapping::of_node(scenario, node, (&self.name, &self.entry)) {
            Ok(mapping) => mapping,
            Err(problem) => return Ok(vec![*problem]),
        };
        let (mut problems, machines) = self.hosts.reported_problems(&mapping)?;
        if let Some(machine) = machines.get(&self.name) {
            let there = |name: &str| machine.interfaces.iter().any(|interface| interface.name == name);
            for missing in self.entry.interfaces.iter().filter(|entry| !there(&entry.name)) {
                problems.push(mapping.without_interface(node, &missing.name, machine));
            }
            problems.extend(wanted::problems_of(&mapping, node, machine, &self.entry.may_change));
        }
        Ok(problems)
    }

    /// Puts the settings of `node` in force, and starts the agent if the node has traffic.
    ///
    /// # Errors
    /// Fails if a setting can't be changed, or if the machine is gone.
    pub fn begin(&self, scenario: &Scenario, node: &str) -> Result<()> {
        let mapping = Mapping::of_node(scenario, node, (&self.name, &self.entry)).map_err(Error::Scenario)?;
        let machine = self.hosts.machines.get(&self.name).ok_or(Error::State("it is not described"))?;
        let may = |permission| self.entry.may_change.contains(&permission);
        let settings = wanted::had(wanted::of(&mapping, node), machine).into_iter();
        // The user may have set the addresses and routes.
        let settings = settings.filter(|change| match change.setting.permission() {
            Permission::Addresses => may(Permission::Addresses),
            _ => true,
        });
        let agent = scenario.workload.iter().any(|flow| flow.from == node || flow.to == node);
        self.expect(&ToMachine::Begin { settings: settings.collect(), agent }, &FromMachine::Begun)
    }

    /// Returns the machine's agent, which passes its reports to `sink`.
    ///
    /// # Errors
    /// Fails if the machine is gone.
    pub fn agent(&self, sink: Sink) -> Result<Box<dyn Transport>> {
        Ok(Box::new(self.line()?.agent(sink)))
    }

    /// Ends the trial on the machine.
    ///
    /// # Errors
    /// Fails if the machine is gone.
    pub fn end(&self) -> Result<()> {
        self.expect(&ToMachine::End, &FromMachine::Ended)
    }

    fn line(&self) -> Result<&crate::line::Line> {
        let gone = || Error::Lost { machine: self.name.clone(), why: "it is not connected".into() };
        self.hosts.lines.get(&self.name).ok_or_else(gone)
    }

    fn expect(&self, question: &ToMachine, expected: &FromMachine) -> Result<()> {
        let line = self.line()?;
        line.ask(question)?;
        let answer = line.answer()?;
        let other = || Error::Answer(format!("{} sent an unexpected answer", self.name));
        (answer == *expected).then_some(()).ok_or_else(other)
    }
}
