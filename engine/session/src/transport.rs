//! The connection to an agent, whatever it is made of.

use anyhow::Result;
use nettrial_traffic::{Order, Report};
use std::sync::mpsc::Sender;

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

/// An event of an agent.
#[derive(Debug)]
pub enum Event {
    /// The outcome of an order.
    Report(Report),
    /// The agent ended without having been dismissed. The text gives the reason as a sentence.
    Ended(String),
}

/// Takes the events of one host's agent, from any thread.
#[derive(Clone)]
pub struct Sink {
    host: String,
    events: Sender<(String, Event)>,
}

impl Sink {
    pub(crate) fn new(host: &str, events: Sender<(String, Event)>) -> Self {
        Self { host: host.to_owned(), events }
    }

    /// Returns the host of the agent.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Takes an event. The event is ignored if the trial is over and nobody listens any more.
    pub fn tell(&self, event: Event) {
        let _ = self.events.send((self.host.clone(), event));
    }
}
