//! The user's machines as nodes of the lab's networks: the lab starts them, and the crate for machines reaches them.

use nettrial_hosts::{Inventory, Station};
use nettrial_lab::{Error, Joining, Result, Way};
use nettrial_scenario::{Failure, FailureKind, Fault, Machine, Problem, Scenario, Shortfall};
use nettrial_session::{Sink, Transport};

/// Returns the machines of an inventory as those that may join the lab's networks.
pub fn joining(inventory: Inventory) -> Vec<Joining> {
    Station::all(inventory).into_iter().map(one).collect()
}

fn one(station: Station) -> Joining {
    let entry = station.entry().clone();
    Joining {
        name: station.name().to_owned(),
        nodes: entry.nodes,
        starts: entry.starts,
        interfaces: entry.interfaces.into_iter().map(|interface| interface.name).collect(),
        way: Box::new(Reached(station)),
    }
}

/// The way to a machine's agent through its inventory's command.
struct Reached(Station);

impl Way for Reached {
    fn connect(&mut self) -> Result<Machine, (Box<Shortfall>, bool)> {
        self.0.connect().map_err(|shortfall| {
            let is_final = matches!(shortfall.kind, FailureKind::MissingProgram | FailureKind::OtherVersion);
            (shortfall, !is_final)
        })
    }

    fn disconnect(&mut self) {
        self.0.disconnect();
    }

    fn problems(&self, scenario: &Scenario, node: &str) -> Result<Vec<Problem>> {
        self.0.problems(scenario, node).map_err(failure)
    }

    fn begin(&self, scenario: &Scenario, node: &str) -> Result<()> {
        self.0.begin(scenario, node).map_err(failure)
    }

    fn agent(&self, sink: Sink) -> Result<Box<dyn Transport>> {
        self.0.agent(sink).map_err(failure)
    }

    fn end(&self) -> Result<()> {
        self.0.end().map_err(failure)
    }
}

fn failure(error: nettrial_hosts::Error) -> Error {
    Error::Machine(Failure::new(error.kind(), error.in_words()))
}
