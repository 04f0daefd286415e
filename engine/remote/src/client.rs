//! The client: a session with a server, and an agent of its own.

use crate::agent::Agent;
use crate::clock::{Offset, Round};
use crate::handshake::{self, Keys};
use crate::interface::monotonic_ns;
use crate::line::{Reader, Writer};
use crate::message::{MOST_REPORT_BYTES, ToClient, ToServer, Welcome};
use crate::processors::Reading;
use crate::token::Token;
use anyhow::{Context, Result, bail, ensure};
use nettrial_scenario::{Measure, Record};
use nettrial_traffic::{Command, Order, Reply, Report};
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// How long the server may take for what is no flow.
const PATIENCE: Duration = Duration::from_secs(30);
/// Rounds of questions that a clock's offset is estimated from.
const ROUNDS: usize = 16;
/// How long the last lines of a server that is gone may take.
const LAST_LINES: Duration = Duration::from_secs(1);

/// One of the two hosts of a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Host {
    /// This machine.
    Client,
    /// The other one.
    Server,
}

impl Host {
    /// Its name in a flow.
    pub fn name(self) -> &'static str {
        match self {
            Self::Client => Measure::CLIENT,
            Self::Server => Measure::SERVER,
        }
    }

    /// The host called `name` in a flow that was checked.
    pub fn of(name: &str) -> Self {
        if name == Measure::CLIENT { Self::Client } else { Self::Server }
    }
}

/// What a session gives, from whichever thread.
enum Event {
    /// A line of the server, and when it came.
    Server(ToClient, i64),
    /// The session is over.
    Over(String),
    /// A report of this machine's agent; none if it ended by itself.
    Client(Option<Report>),
}

/// A session with a server.
pub struct Client {
    pub(crate) server: SocketAddr,
    pub(crate) here: SocketAddr,
    pub(crate) welcome: Welcome,
    pub(crate) path: Option<crate::trial::PathFindings>,
    output: Writer<TcpStream>,
    agent: Option<Agent>,
    sender: Sender<Event>,
    events: Receiver<Event>,
    early: Vec<(Host, Report)>,
    number: u64,
}

/// Whether the other end is gone: a reset that comes after its end of data is a broken pipe to whoever reads, too
/// (net/ipv4/tcp_input.c, tcp_reset).
fn is_closed(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe)
}

impl Client {
    /// Opens a session with the `nettrial serve` at `server`.
    ///
    /// # Errors
    /// Fails if it cannot be reached, has another token or version, or has no place.
    pub fn connect(server: SocketAddr, token: &Token) -> Result<Self> {
        let stream = TcpStream::connect_timeout(&server, PATIENCE)
            .with_context(|| format!("connecting to {server}"))?;
        let Keys { client, server: of_server } = handshake::enter(&stream, token)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(None)?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let here = stream.local_addr()?;
        let (sender, events) = channel();
        let mut lines = Reader::new(stream.try_clone()?, of_server, MOST_REPORT_BYTES);
        let of_lines = sender.clone();
        std::thread::spawn(move || {
            let over = loop {
                match lines.next() {
                    Ok(Some(line)) => {
                        if of_lines.send(Event::Server(line, monotonic_ns())).is_err() {
                            return;
                        }
                    }
                    Ok(None) => break "the server closed the session".into(),
                    Err(error) if is_closed(&error) => break "the server closed the session".into(),
                    Err(error) => break error.to_string(),
                }
            };
            // Nobody listens any more if this fails.
            let _ = of_lines.send(Event::Over(over));
        });
        let welcome = match events.recv_timeout(PATIENCE) {
            Ok(Event::Server(ToClient::Welcome(welcome), _)) => welcome,
            Ok(Event::Over(why)) => bail!("{why}: it has no place for another session"),
            _ => bail!("the server did not welcome"),
        };
        let version = env!("CARGO_PKG_VERSION");
        ensure!(
            welcome.engine_version == version,
            "nettrial there is version {}, here it is {version}: both must be of one version",
            welcome.engine_version
        );
        let output = Writer::new(stream, client);
        let (path, agent, early) = (None, None, Vec::new());
        Ok(Self { server, here, welcome, path, output, agent, sender, events, early, number: 0 })
    }

    /// Makes one measurement, in which there is no problem, and gives its record.
    ///
    /// # Errors
    /// Fails if the session ends, or one of the two agents fails.
    pub fn run(&mut self, measure: &Measure) -> Result<Record> {
        crate::trial::run(self, measure)
    }

    /// New agents on both machines.
    pub(crate) fn new_agents(&mut self) -> Result<()> {
        self.early.clear();
        self.say(&ToServer::NewAgent)?;
        let sender = self.sender.clone();
        let report = move |report| {
            // Nobody listens any more if this fails.
            let _ = sender.send(Event::Client(report));
        };
        self.agent = None;
        self.agent = Some(Agent::start(report, |line| eprintln!("{line}"))?);
        Ok(())
    }

    /// Has the agent of `host` do something, and waits for its answer for `patience`.
    pub(crate) fn ask(&mut self, host: Host, command: Command, patience: Duration) -> Result<Reply> {
        self.number += 1;
        let order = Order { number: self.number, command };
        match (host, &mut self.agent) {
            (Host::Server, _) => self.say(&ToServer::Order(Box::new(order)))?,
            (Host::Client, Some(agent)) => agent.order(&order)?,
            (Host::Client, None) => bail!("there is no agent"),
        }
        let deadline = Instant::now() + patience;
        loop {
            let mine = |(of, report): &(Host, Report)| *of == host && report.number == self.number;
            if let Some(found) = self.early.iter().position(mine) {
                return match self.early.swap_remove(found).1.reply {
                    Reply::Failed { message } => bail!("{}: {message}", host.name()),
                    reply => Ok(reply),
                };
            }
            if let Some((line, _)) = self.event(deadline)? {
                bail!("the server said {line:?} where that means nothing");
            }
        }
    }

    /// The other machine's processors; none where it does not tell them.
    pub(crate) fn processors(&mut self) -> Result<Option<Reading>> {
        self.say(&ToServer::Processors)?;
        match self.event_of_server()? {
            (ToClient::Processors(reading), _) => Ok(reading),
            _ => bail!("the server did not say how busy it is"),
        }
    }

    /// By how much the other machine's monotonic clock is ahead.
    pub(crate) fn clock_offset(&mut self) -> Result<Option<Offset>> {
        let mut rounds = Vec::new();
        for _ in 0..ROUNDS {
            let asked_ns = monotonic_ns();
            self.say(&ToServer::Time)?;
            let (ToClient::Time { heard_ns, answered_ns }, came_ns) = self.event_of_server()? else {
                bail!("the server did not tell the time");
            };
            rounds.push(Round { asked_ns, heard_ns, answered_ns, came_ns });
        }
        Ok(Offset::of(&rounds))
    }

    fn say(&mut self, line: &ToServer) -> Result<()> {
        if let Err(error) = self.output.send(line) {
            // Why it ended is better told by its last lines, which may still be on their way.
            while let Ok(event) = self.events.recv_timeout(LAST_LINES) {
                if let Event::Over(why) = event {
                    bail!("{why}");
                }
            }
            return Err(error).context("writing to the server");
        }
        Ok(())
    }

    /// The server's next line before `deadline`, and when it came; none if it was a report, which is put
    /// aside.
    fn event(&mut self, deadline: Instant) -> Result<Option<(ToClient, i64)>> {
        let report = match self.events.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(Event::Over(why)) => bail!("{why}"),
            Ok(Event::Client(None)) => bail!("the agent here ended in the middle of it"),
            Ok(Event::Server(ToClient::AgentEnded, _)) => bail!("the agent there ended in the middle of it"),
            Ok(Event::Client(Some(report))) => (Host::Client, report),
            Ok(Event::Server(ToClient::Report(report), _)) => (Host::Server, *report),
            Ok(Event::Server(line, at_ns)) => return Ok(Some((line, at_ns))),
            Err(RecvTimeoutError::Timeout) => bail!("no answer came in time"),
            Err(RecvTimeoutError::Disconnected) => bail!("the session ended"),
        };
        self.early.push(report);
        Ok(None)
    }

    /// The server's next line that is no report.
    fn event_of_server(&mut self) -> Result<(ToClient, i64)> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(line) = self.event(deadline)? {
                return Ok(line);
            }
        }
    }
}
