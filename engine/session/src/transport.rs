//! The connection to an agent, whatever it is made of.

use crate::error::Result;
use nettrial_traffic::{Order, Report};
use std::collections::HashSet;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};

/// A connection to one agent. It takes orders, and passes their reports to the [`Sink`] that it was started with.
/// Dropping it ends the agent and closes all that the agent had opened.
pub trait Transport: Send {
    /// Gives an order, whose outcome is reported to the sink.
    ///
    /// # Errors
    /// Fails if the agent, or the connection to it, is gone.
    fn order(&mut self, order: &Order) -> Result<()>;

    /// Starts to end the agent, without waiting for its end.
    fn dismiss(&mut self) {}

    /// Returns the number of the agent's process, if that is on this machine.
    fn process(&self) -> Option<u32> {
        None
    }
}

impl Transport for Box<dyn Transport> {
    fn order(&mut self, order: &Order) -> Result<()> {
        (**self).order(order)
    }

    fn dismiss(&mut self) {
        (**self).dismiss();
    }

    fn process(&self) -> Option<u32> {
        (**self).process()
    }
}

/// An event of an agent.
#[derive(Debug)]
pub enum Event {
    /// The outcome of an order.
    Report(Report),
    /// The agent ended without having been dismissed. The text gives the reason as a sentence.
    Ended(String),
}

/// Takes the events of one host's agent, from any thread. It passes on one report of each order and one end, so
/// that an agent that sends more can't exhaust the memory, nor answer another one's orders.
#[derive(Clone)]
pub struct Sink {
    host: String,
    events: Sender<(String, Event)>,
    orders: Orders,
}

/// The numbers of the orders that an agent has not answered; `None` when the agent has ended.
#[derive(Clone)]
pub(crate) struct Orders(Arc<Mutex<Option<HashSet<u64>>>>);

impl Default for Orders {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(Some(HashSet::new()))))
    }
}

impl Orders {
    /// Notes an order that the agent is about to get.
    pub(crate) fn add(&self, number: u64) {
        if let Some(orders) = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            orders.insert(number);
        }
    }
}

impl Sink {
    pub(crate) fn new(host: &str, events: Sender<(String, Event)>, orders: Orders) -> Self {
        Self { host: host.to_owned(), events, orders }
    }

    /// Returns the host of the agent.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Takes an event. A report of no order of this agent ends it. The event is ignored if the agent has ended, or if
    /// the trial is over and nobody listens any more.
    pub fn tell(&self, event: Event) {
        let mut orders = self.orders.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(open) = &mut *orders else { return };
        let event = match event {
            Event::Report(report) if !open.remove(&report.number) => Event::Ended(format!(
                "the agent answered the order {}, which it does not have",
                report.number
            )),
            event => event,
        };
        if matches!(event, Event::Ended(_)) {
            *orders = None;
        }
        let _ = self.events.send((self.host.clone(), event));
    }
}
