//! The guests of one trial.

use super::{Guests, Kept};
use crate::guest_node::{Answer, Introduction, NodeOrder};
use crate::namespace::Home;
use crate::network::{BuiltNode, Network};
use anyhow::{Context, Result, bail};
use nettrial_admission::document;
use nettrial_guest::{Acceleration, Hardware, Monitor, Order, Sender, Told};
use nettrial_scenario::{GuestRecord, Offloads, Scenario};
use nettrial_session::{Event, Sink, Transport};
use nettrial_traffic::Order as AgentOrder;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// The time that a node may take to be built in a guest.
const BUILDING: Duration = Duration::from_secs(60);
/// The time that a node may take to end in a guest.
const ENDING: Duration = Duration::from_secs(20);

/// The guests of a trial. Dropping them without [`Running::finish`] ends their machines.
pub struct Running {
    guests: Vec<Guest>,
}

/// A node of the trial that is a guest, and its virtual machine.
struct Guest {
    node: String,
    kept: Kept,
    offloads: Vec<(String, Offloads)>,
    /// Receives true when the node has ended, once an agent listens to the guest.
    ended: Option<Receiver<bool>>,
}

impl Running {
    pub(super) fn new(guests: Vec<(String, Kept)>) -> Self {
        let guest = |(node, kept)| Guest { node, kept, offloads: Vec::new(), ended: None };
        Self { guests: guests.into_iter().map(guest).collect() }
    }

    /// Connects each guest to its node's interfaces, and builds the node in it.
    ///
    /// # Errors
    /// Fails if a device can't be moved, or if a node can't be built.
    pub fn begin(&mut self, home: &Home, network: &mut Network, scenario: &Scenario) -> Result<()> {
        for guest in &mut self.guests {
            let (node, taps) = (&guest.node, &guest.kept.taps);
            network
                .attach(home, scenario, node, taps)
                .with_context(|| format!("connecting the guest of {node}"))?;
            let Introduction { interfaces, neighbours } = network.introduction(scenario, node)?;
            let order = NodeOrder { scenario: scenario.clone(), node: node.clone(), interfaces, neighbours };
            guest.kept.guest.send(&Order::Begin(serde_json::to_string(&order)?))?;
        }
        for guest in &mut self.guests {
            let building = || format!("building {} in its guest", guest.node);
            let Told::Line(line) = guest.kept.guest.next(BUILDING).with_context(building)? else {
                bail!("{}: the node ended", building())
            };
            match document(line.as_bytes()).with_context(building)? {
                Answer::Built(offloads) => guest.offloads = offloads,
                Answer::Failed(why) => bail!("{}: {why}", building()),
            }
        }
        Ok(())
    }

    /// Returns true if the node is a guest.
    pub fn has(&self, node: &str) -> bool {
        self.guests.iter().any(|guest| guest.node == node)
    }

    /// Returns true if any node is a guest.
    pub fn are_some(&self) -> bool {
        !self.guests.is_empty()
    }

    /// Returns the reason why the CPU time of hosts is not reported, if any node is a guest.
    pub fn without_cpu_time(&self) -> &'static str {
        let is_emulated = |guest: &Guest| guest.kept.key.hardware.acceleration == Acceleration::Emulation;
        if self.guests.iter().any(is_emulated) {
            "a node is a guest under software emulation, whose CPU time is the emulator's"
        } else {
            "a node is a guest, whose work is not kept on one CPU"
        }
    }

    /// Returns the interfaces of guests on each link, by its number.
    pub fn carriers(&self, scenario: &Scenario) -> HashMap<usize, Vec<Carrier>> {
        let mut carriers: HashMap<usize, Vec<Carrier>> = HashMap::new();
        for guest in &self.guests {
            let links = scenario.links.iter().enumerate();
            let ends = links.flat_map(|(number, link)| link.interfaces.iter().map(move |end| (number, end)));
            let own = ends.filter(|(_, interface)| interface.node == guest.node);
            for (device, (link, _)) in own.enumerate() {
                let carrier = Carrier { monitor: guest.kept.guest.monitor(), device };
                carriers.entry(link).or_default().push(carrier);
            }
        }
        carriers
    }

    /// Returns the agent of a node that is a guest.
    pub fn agent(&mut self, node: &str, sink: Sink) -> Result<Agent> {
        let guest = self.guests.iter_mut().find(|guest| guest.node == node);
        let guest = guest.with_context(|| format!("{node} is not a guest"))?;
        let (sender, ended) = channel();
        guest.ended = Some(ended);
        guest.kept.guest.listen(move |told| match told {
            Ok(Told::Line(line)) => match document(line.as_bytes()) {
                Ok(report) => {
                    sink.tell(Event::Report(report));
                    true
                }
                Err(error) => {
                    sink.tell(Event::Ended(format!("the agent sent a malformed report: {error}")));
                    false
                }
            },
            Ok(_) => {
                let _ = sender.send(true);
                false
            }
            Err(why) => {
                sink.tell(Event::Ended(why));
                false
            }
        });
        Ok(Agent { sender: guest.kept.guest.sender(), process: guest.kept.guest.process() })
    }

    /// Returns the offloads that each guest reported as in force on its interfaces.
    pub fn offloads(&self) -> HashMap<&str, Vec<(&str, Offloads)>> {
        self.guests
            .iter()
            .map(|guest| {
                let found = guest.offloads.iter().map(|(name, offloads)| (name.as_str(), *offloads));
                (guest.node.as_str(), found.collect())
            })
            .collect()
    }

    /// Returns the record of each guest, by its node, and the release with which its kernel was added, if it is
    /// not an installed system.
    pub fn records(&self) -> BTreeMap<String, (GuestRecord, Option<String>)> {
        let record = |guest: &Guest| {
            let Kept { key, kernel, expected, .. } = &guest.kept;
            let Hardware { processors, memory_bytes, acceleration, .. } = key.hardware;
            let emulated = acceleration == Acceleration::Emulation;
            let record = GuestRecord {
                system: key.system.clone(),
                kernel: kernel.clone(),
                processors,
                memory_bytes,
                emulated,
            };
            (guest.node.clone(), (record, expected.clone()))
        };
        self.guests.iter().map(record).collect()
    }

    /// Ends the nodes, and takes the guests out of `nodes` for later trials. A guest that does not answer is
    /// ended.
    ///
    /// # Errors
    /// Fails if a device can't be moved.
    pub fn finish(
        self,
        home: &Home,
        scenario: &Scenario,
        nodes: &mut [BuiltNode],
        pool: &mut Guests,
    ) -> Result<()> {
        for Guest { node, mut kept, ended, .. } in self.guests {
            let has_ended = match (kept.guest.send(&Order::End), &ended) {
                (Err(_), _) => false,
                (Ok(()), Some(ended)) => ended.recv_timeout(ENDING).unwrap_or(false),
                (Ok(()), None) => kept.guest.next(ENDING).is_ok_and(|told| told == Told::Ended),
            };
            if !has_ended {
                tracing::warn!(node, "the guest did not end its node and is not used again");
                continue;
            }
            let built = nodes.iter_mut().find(|built| built.name == node);
            built.with_context(|| format!("no node {node}"))?.detach(home, &kept.taps)?;
            if !scenario.events.is_empty() {
                let mut devices = 0..kept.key.devices;
                devices.try_for_each(|device| kept.guest.monitor().set_link(device, true))?;
            }
            pool.keep(kept);
        }
        Ok(())
    }
}

/// The carrier of a guest's interface.
pub struct Carrier {
    monitor: Arc<Monitor>,
    device: usize,
}

impl Carrier {
    /// Turns the interface's carrier on or off.
    pub fn set(&self, there: bool) -> Result<()> {
        self.monitor.set_link(self.device, there)
    }
}

/// The agent in a guest.
pub struct Agent {
    sender: Sender,
    process: u32,
}

impl Transport for Agent {
    fn order(&mut self, order: &AgentOrder) -> Result<()> {
        self.sender.send(&Order::Line(serde_json::to_string(order)?))
    }

    fn process(&self) -> Option<u32> {
        Some(self.process)
    }
}
