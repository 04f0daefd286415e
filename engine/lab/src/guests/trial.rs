//! The guests of one trial.

use super::{Guests, Kept};
use crate::carrier::{Carrier, Carriers};
use crate::error::{Context, Error, Result};
use crate::kernels::{KernelRecord, Kernels, NodeKernel};
use crate::namespace::Home;
use crate::network::{BuiltNode, Network};
use crate::node_order::{Answer, Introduction, NodeOrder};
use nettrial_admission::document;
use nettrial_guest::{Acceleration, Hardware, Monitor, Order, Report, Sender};
use nettrial_scenario::{GuestRecord, Offloads, Scenario};
use nettrial_session::{Event, Sink, Transport};
use nettrial_traffic::Order as AgentOrder;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// The time that a node may take to be built in a guest.
const BUILDING: Duration = Duration::from_secs(60);
/// The time that a node may take to end in a guest.
const ENDING: Duration = Duration::from_secs(20);

/// The guests of a trial. Dropping them without [`Kernels::finish`] ends their machines.
pub struct Running<'a> {
    pool: &'a mut Guests,
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

impl<'a> Running<'a> {
    /// The guests of the named nodes, which return to the `pool`.
    pub(super) fn new(pool: &'a mut Guests, guests: Vec<(String, Kept)>) -> Self {
        let guest = |(node, kept)| Guest { node, kept, offloads: Vec::new(), ended: None };
        Self { pool, guests: guests.into_iter().map(guest).collect() }
    }
}

impl Kernels for Running<'_> {
    fn without_cpu_time(&self) -> Option<&'static str> {
        let is_emulated = |guest: &Guest| guest.kept.key.hardware.acceleration == Acceleration::Emulation;
        Some(if self.guests.iter().any(is_emulated) {
            "a node is a guest under software emulation, whose CPU time is the emulator's"
        } else {
            "a node is a guest, whose work is not kept on one CPU"
        })
    }

    fn begin(&mut self, home: &Home, network: &mut Network, scenario: &Scenario) -> Result<()> {
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
            let Report::Line(line) = guest.kept.guest.next(BUILDING).with_context(building)? else {
                return Err(Error::Node(format!("{}: the node ended", building())));
            };
            match document(line.as_bytes()).with_context(building)? {
                Answer::Built(offloads) => guest.offloads = offloads,
                Answer::Failed(why) => return Err(Error::Node(format!("{}: {why}", building()))),
            }
        }
        Ok(())
    }

    fn of(&mut self, node: &str) -> Option<&mut dyn NodeKernel> {
        let guest = self.guests.iter_mut().find(|guest| guest.node == node)?;
        Some(guest)
    }

    fn carriers(&self, scenario: &Scenario) -> Carriers {
        let mut carriers = Carriers::new();
        for guest in &self.guests {
            let links = scenario.links.iter().enumerate();
            let ends = links.flat_map(|(number, link)| link.interfaces.iter().map(move |end| (number, end)));
            let own = ends.filter(|(_, interface)| interface.node == guest.node);
            for (device, (link, _)) in own.enumerate() {
                let carrier = GuestCarrier { monitor: guest.kept.guest.monitor(), device };
                carriers.entry(link).or_default().push(Box::new(carrier));
            }
        }
        carriers
    }

    /// Ends the nodes, and keeps the guests for later trials. A guest that does not answer is ended.
    fn finish(self: Box<Self>, home: &Home, scenario: &Scenario, nodes: &mut [BuiltNode]) -> Result<()> {
        let Self { pool, guests } = *self;
        for Guest { node, mut kept, ended, .. } in guests {
            let has_ended = match (kept.guest.send(&Order::End), &ended) {
                (Err(_), _) => false,
                (Ok(()), Some(ended)) => ended.recv_timeout(ENDING).unwrap_or(false),
                (Ok(()), None) => kept.guest.next(ENDING).is_ok_and(|report| report == Report::Ended),
            };
            if !has_ended {
                tracing::warn!(node, "the guest did not end its node and is not used again");
                continue;
            }
            let built = nodes.iter_mut().find(|built| built.name == node);
            built.ok_or_else(|| Error::Missing(format!("no node {node}")))?.detach(home, &kept.taps)?;
            if !scenario.events.is_empty() {
                let mut devices = 0..kept.key.devices;
                devices.try_for_each(|device| kept.guest.monitor().set_link(device, true))?;
            }
            pool.keep(kept);
        }
        Ok(())
    }
}

impl NodeKernel for Guest {
    fn agent(&mut self, sink: Sink) -> Result<Box<dyn Transport>> {
        let (sender, ended) = channel();
        self.ended = Some(ended);
        self.kept.guest.listen(move |report| match report {
            Ok(Report::Line(line)) => match document(line.as_bytes()) {
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
        let guest = &self.kept.guest;
        Ok(Box::new(Agent { sender: guest.sender(), process: guest.process() }))
    }

    fn offloads(&self) -> &[(String, Offloads)] {
        &self.offloads
    }

    fn record(&self) -> KernelRecord {
        let Kept { key, kernel, expected, .. } = &self.kept;
        let Hardware { processors, memory_bytes, acceleration, .. } = key.hardware;
        let record = GuestRecord {
            system: key.system.clone(),
            kernel: kernel.clone(),
            processors,
            memory_bytes,
            emulated: acceleration == Acceleration::Emulation,
        };
        KernelRecord::Guest(record, expected.clone())
    }
}

/// The carrier of a guest's interface, which learns of its link from QEMU alone.
struct GuestCarrier {
    monitor: Arc<Monitor>,
    device: usize,
}

impl Carrier for GuestCarrier {
    fn set(&self, is_on: bool) -> Result<()> {
        Ok(self.monitor.set_link(self.device, is_on)?)
    }
}

/// The agent in a guest.
struct Agent {
    sender: Sender,
    process: u32,
}

impl Transport for Agent {
    fn order(&mut self, order: &AgentOrder) -> Result<(), nettrial_session::Error> {
        let sent = self.sender.send(&Order::Line(serde_json::to_string(order)?));
        sent.map_err(|error| nettrial_session::Error::AgentEnded(error.to_string()))
    }

    fn process(&self) -> Option<u32> {
        Some(self.process)
    }
}
