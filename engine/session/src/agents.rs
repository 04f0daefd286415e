//! The agents of a trial, which get orders by the name of their host, and their answers.

use crate::error::{Error, Result};
use crate::transport::{Event, Orders, Sink, Transport};
use nettrial_scenario::{During, Failure};
use nettrial_traffic::{Command, Order, Reply};
use std::collections::{HashMap, VecDeque};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// The most orders that are carried out at once before the traffic. More would hardly finish sooner, and the
/// packets that they send must fit the network's queues, even if all pass one interface.
const AT_ONCE: usize = 8;
/// The time within which an order that waits for no other host must be answered.
pub const QUICK: Duration = Duration::from_secs(60);

/// All agents of a trial. Dropping this ends them.
pub struct Agents {
    by_host: HashMap<String, (Box<dyn Transport>, Orders)>,
    sender: Sender<(String, Event)>,
    events: Receiver<(String, Event)>,
    /// Answers that came before they were collected, by the order's number.
    early: HashMap<u64, Reply>,
    number: u64,
}

/// An order whose answer is awaited.
pub struct Pending {
    host: String,
    number: u64,
}

impl Default for Agents {
    fn default() -> Self {
        let (sender, events) = channel();
        Self { by_host: HashMap::new(), sender, events, early: HashMap::new(), number: 0 }
    }
}

impl Agents {
    /// Starts the agent of `host` by calling `start`, after ending the agent that the host had.
    ///
    /// # Errors
    /// Fails as `start` does.
    pub fn start<T: Transport + 'static, E: During>(
        &mut self,
        host: &str,
        start: impl FnOnce(Sink) -> Result<T, E>,
    ) -> Result<(), E> {
        self.by_host.remove(host);
        let orders = Orders::default();
        let sink = Sink::new(host, self.sender.clone(), orders.clone());
        let agent = start(sink).map_err(|error| error.during(format!("starting the agent of {host}")))?;
        tracing::debug!(host, process = agent.process(), "the agent runs");
        self.by_host.insert(host.to_owned(), (Box::new(agent), orders));
        Ok(())
    }

    /// The process numbers of the agents on this machine.
    pub fn processes(&self) -> impl Iterator<Item = u32> {
        self.by_host.values().filter_map(|(agent, _)| agent.process())
    }

    /// Gives an order, whose answer [`Agents::collect`] collects.
    ///
    /// # Errors
    /// Fails if the host has no agent, or the agent can't be reached.
    pub fn order(&mut self, host: &str, command: Command) -> Result<Pending> {
        self.number += 1;
        let (agent, orders) = self.by_host.get_mut(host).ok_or_else(|| Error::NoAgent(host.to_owned()))?;
        let number = self.number;
        tracing::debug!(host, number, command = command.name(), "order");
        orders.add(number);
        if let Err(error) = agent.order(&Order { number, command }) {
            // The reason for the agent's end says more, and may still be on its way.
            return Err(self
                .reason(host)
                .unwrap_or(error)
                .during(format!("giving the agent of {host} an order")));
        }
        Ok(Pending { host: host.to_owned(), number })
    }

    /// Waits for an order's answer, at most for `patience` if that is given.
    ///
    /// # Errors
    /// Fails if the order failed, no answer came in time, or any agent ended.
    pub fn collect(&mut self, pending: &Pending, patience: Option<Duration>) -> Result<Reply> {
        let deadline = patience.map(|patience| Instant::now() + patience);
        loop {
            if let Some(reply) = self.early.remove(&pending.number) {
                return match reply {
                    Reply::Failed { kind, message } => {
                        Err(Error::Order(Failure::new(kind, format!("{}: {message}", pending.host))))
                    }
                    reply => Ok(reply),
                };
            }
            match self.event(deadline) {
                Ok((host, Event::Report(report))) => {
                    tracing::debug!(host, number = report.number, "report");
                    self.early.insert(report.number, report.reply);
                }
                Ok((host, Event::Ended(why))) => {
                    return Err(Error::AgentEnded(format!("{host}: {why}")));
                }
                Err(_) => return Err(Error::AgentSilent(pending.host.clone())),
            }
        }
    }

    /// Gives an order and waits at most `patience` for its answer.
    ///
    /// # Errors
    /// Fails as [`Agents::order`] and [`Agents::collect`] do.
    pub fn ask(&mut self, host: &str, command: Command, patience: Duration) -> Result<Reply> {
        let pending = self.order(host, command)?;
        self.collect(&pending, Some(patience))
    }

    /// Gives many orders that are not flows, each a host and a command, and returns the answers in the same order.
    /// Waits for each at most `patience`.
    ///
    /// # Errors
    /// Fails as [`Agents::order`] and [`Agents::collect`] do.
    pub fn ask_all(&mut self, orders: Vec<(&str, Command)>, patience: Duration) -> Result<Vec<Reply>> {
        let (mut waiting, mut replies) = (VecDeque::new(), Vec::with_capacity(orders.len()));
        for (host, command) in orders {
            if waiting.len() == AT_ONCE
                && let Some(pending) = waiting.pop_front()
            {
                replies.push(self.collect(&pending, Some(patience))?);
            }
            waiting.push_back(self.order(host, command)?);
        }
        for pending in waiting {
            replies.push(self.collect(&pending, Some(patience))?);
        }
        Ok(replies)
    }

    fn event(&self, deadline: Option<Instant>) -> Result<(String, Event), RecvTimeoutError> {
        match deadline {
            Some(deadline) => self.events.recv_timeout(deadline.saturating_duration_since(Instant::now())),
            None => self.events.recv().map_err(RecvTimeoutError::from),
        }
    }

    /// Returns the reason for the end of the agent of `host`, if it arrives soon.
    fn reason(&self, host: &str) -> Option<Error> {
        const LAST_WORDS: Duration = Duration::from_secs(1);
        let deadline = Some(Instant::now() + LAST_WORDS);
        while let Ok((of, event)) = self.event(deadline) {
            match event {
                Event::Ended(why) if of == host => return Some(Error::AgentEnded(why)),
                _ => {}
            }
        }
        None
    }
}

impl Drop for Agents {
    fn drop(&mut self) {
        // All are told before any is waited for.
        self.by_host.values_mut().for_each(|(agent, _)| agent.dismiss());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nettrial_scenario::{FailureKind, Fault, chain};
    use nettrial_traffic::Report;
    use std::net::IpAddr;

    /// An agent that answers every order with its number as a port, the even ones first.
    struct Numbers {
        sink: Sink,
        odd: Vec<u64>,
    }

    impl Transport for Numbers {
        fn order(&mut self, order: &Order) -> Result<()> {
            let port = |number: u64| Reply::Listening { port: u16::try_from(number).unwrap() };
            let report = |number| Event::Report(Report { number, reply: port(number) });
            if order.number % 2 == 1 {
                self.odd.push(order.number);
            } else {
                self.sink.tell(report(order.number));
                self.odd.drain(..).for_each(|number| self.sink.tell(report(number)));
            }
            Ok(())
        }
    }

    /// An agent that is gone.
    struct Gone(Sink);

    impl Transport for Gone {
        fn order(&mut self, _: &Order) -> Result<()> {
            self.0.tell(Event::Ended("the power failed".into()));
            Err(Error::Answer("broken pipe".into()))
        }
    }

    fn command() -> Command {
        let cookie = nettrial_traffic::Cookie([0; 16]);
        Command::Respond { cookie, address: IpAddr::from([127, 0, 0, 1]).into() }
    }

    #[test]
    fn answers_are_collected_in_the_order_of_the_questions() {
        let mut agents = Agents::default();
        agents.start("a", |sink| Ok::<_, Error>(Numbers { sink, odd: Vec::new() })).unwrap();
        let replies = agents.ask_all((0..20).map(|_| ("a", command())).collect(), QUICK).unwrap();
        let ports: Vec<Reply> = (1..=20).map(|port| Reply::Listening { port }).collect();
        assert_eq!(replies, ports);
        assert!(agents.order("b", command()).is_err());
    }

    /// An agent that answers each order a thousand times, and one of another host.
    struct Eager(Sink);

    impl Transport for Eager {
        fn order(&mut self, order: &Order) -> Result<()> {
            for number in std::iter::once(order.number).chain(std::iter::repeat_n(order.number + 1, 1000)) {
                self.0.tell(Event::Report(Report { number, reply: Reply::Listening { port: 7 } }));
            }
            Ok(())
        }
    }

    #[test]
    fn an_agent_that_answers_what_it_was_not_asked_ends_and_is_heard_no_more() {
        let mut agents = Agents::default();
        agents.start("a", |sink| Ok::<_, Error>(Eager(sink))).unwrap();
        agents.start("b", |sink| Ok::<_, Error>(Numbers { sink, odd: Vec::new() })).unwrap();
        assert_eq!(agents.ask("a", command(), QUICK).unwrap(), Reply::Listening { port: 7 });
        let error = agents.ask("b", command(), QUICK).unwrap_err().to_string();
        assert_eq!(error, "a: the agent answered the order 2, which it does not have");
        assert!(agents.events.try_recv().is_ok() && agents.events.try_recv().is_err());
    }

    #[test]
    fn the_reason_for_an_agents_end_is_told() {
        let mut agents = Agents::default();
        agents.start("a", |sink| Ok::<_, Error>(Gone(sink))).unwrap();
        let error = agents.order("a", command()).err().unwrap();
        assert_eq!(error.kind(), FailureKind::AgentEnded);
        assert!(chain(&error).ends_with("the power failed"), "{error:?}");
    }
}
