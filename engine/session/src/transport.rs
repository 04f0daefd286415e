//! The way to an agent.

use anyhow::Result;
use nettrial_traffic::{Order, Report};
use std::sync::mpsc::Sender;

/// A way to one agent: orders go in, and what comes of them goes into the [`Sink`] that the transport was
/// started with. Dropping it ends the agent, with all that it had opened.
pub trait Transport: Send {
    /// Gives an order; what comes of it is reported.
    ///
    /// # Errors
    /// Fails if the agent, or the way to it, is gone.
    fn order(&mut self, order: &Order) -> Result<()>;

    /// Begins to end the agent, without waiting for its end.
    fn dismiss(&mut self) {}

    /// The number of the agent's process, if that is on this machine.
    fn process(&self) -> Option<u32> {
        None
    }
}

/// News of an agent.
#[derive(Debug)]
pub enum Event {
    /// The outcome of an order.
    Report(Report),
    /// Nothing more will come, though the agent was not dismissed; the reason, as a sentence.
    Ended(String),
}

/// Takes the news of one host's agent, from whichever thread.
#[derive(Clone)]
pub struct Sink {
    host: String,
    events: Sender<(String, Event)>,
}

impl Sink {
    pub(crate) fn new(host: &str, events: Sender<(String, Event)>) -> Self {
        Self { host: host.to_owned(), events }
    }

    /// The host whose agent it is.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Takes an event. Where nobody listens any more, the trial is over and the event means nothing.
    pub fn tell(&self, event: Event) {
        let _ = self.events.send((self.host.clone(), event));
    }
}
