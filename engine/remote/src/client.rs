//! The client: a session with a server, and an agent of its own.

use crate::error::{Context, Error, Result};
use crate::message::{MOST_REPORT_BYTES, ToClient, ToServer, Welcome};
use nettrial_admission::one_line;
use nettrial_scenario::{During, Fault, Measure};
use nettrial_session::{
    Agents, Event, Findings, Offset, Process, Reader, Round, Sink, Surroundings, Token, Transport, Watch,
    Writer, enter, monotonic_ns,
};
use nettrial_traffic::Order;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The time that the server may take for an answer, apart from flows.
const PATIENCE: Duration = Duration::from_secs(30);
/// The number of answers that may wait. The server is asked one question at a time.
const MOST_ANSWERS: usize = 4;
/// The number of rounds from which a clock's offset is estimated.
const ROUNDS: usize = 16;

/// One of the two hosts of a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Host {
    /// This machine.
    Client,
    /// The machine that serves.
    Server,
}

impl Host {
    /// Returns the host's name in a flow.
    pub fn name(self) -> &'static str {
        match self {
            Self::Client => Measure::CLIENT,
            Self::Server => Measure::SERVER,
        }
    }

    /// Returns the host called `name` in a flow that has been checked.
    pub fn of(name: &str) -> Self {
        if name == Measure::CLIENT { Self::Client } else { Self::Server }
    }
}

/// A session with a server.
pub struct Client {
    pub(crate) server: SocketAddr,
    pub(crate) here: SocketAddr,
    pub(crate) welcome: Welcome,
    /// The findings about the path, which is examined once for each MTU of this machine's interface, with this MTU.
    pub(crate) path: Option<(Option<u64>, Findings)>,
    pub(crate) agents: Agents,
    connection: Connection,
    watch: Watch,
}

/// The connection to the server. It carries orders to the server's agent and questions to the server itself. A
/// thread separates the reports of the agent from the answers of the server.
struct Connection {
    output: Output,
    /// The server's messages apart from reports, each with the time of its arrival, and finally the reason for the
    /// end of the session.
    answers: Receiver<Result<(ToClient, i64)>>,
    /// The sink for events of the server's agent.
    agent: Arc<Mutex<Option<Sink>>>,
}

/// The writer to the server.
type Output = Arc<Mutex<Writer<TcpStream>>>;

fn lock<T>(guarded: &Mutex<T>) -> MutexGuard<'_, T> {
    guarded.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The server's agent, which the session reaches.
struct Served(Output);

impl Transport for Served {
    fn order(&mut self, order: &Order) -> Result<(), nettrial_session::Error> {
        let order = ToServer::Order(Box::new(order.clone()));
        lock(&self.0).send(&order).map_err(to_server)
    }
}

/// Returns the error of an agent that can't be reached, because the server can't be written to.
fn to_server(error: io::Error) -> nettrial_session::Error {
    nettrial_session::Error::from(error).during("writing to the server")
}

/// Returns true if the other end is gone. A reset that arrives after the end of data is a broken pipe for a
/// reader, too (net/ipv4/tcp_input.c, tcp_reset).
fn is_closed(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe)
}

impl Connection {
    fn open(stream: TcpStream, token: &Token) -> Result<Self> {
        let sealed = enter(&stream, token)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(None)?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let lines = sealed.reader(stream.try_clone()?, MOST_REPORT_BYTES);
        let output = Arc::new(Mutex::new(sealed.writer(stream)));
        let agent = Arc::default();
        let (sender, answers) = sync_channel(MOST_ANSWERS);
        let of_agent = Arc::clone(&agent);
        std::thread::spawn(move || listen(lines, &of_agent, &sender));
        Ok(Self { output, answers, agent })
    }

    /// Sends `question` to the server, and returns its answer and the time at which that arrived.
    fn ask(&self, question: &ToServer) -> Result<(ToClient, i64)> {
        let said = lock(&self.output).send(question);
        // If the server is gone, its reason says more than the failed write.
        match (self.answer(), said) {
            (Ok(_), Err(error)) => Err(error).context("writing to the server"),
            (answer, _) => answer,
        }
    }

    fn answer(&self) -> Result<(ToClient, i64)> {
        match self.answers.recv_timeout(PATIENCE) {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(why)) => Err(why),
            Err(_) => Err(Error::Silent),
        }
    }
}

/// Reads the server's messages until the session is over.
fn listen(
    mut lines: Reader<TcpStream>,
    agent: &Mutex<Option<Sink>>,
    answers: &SyncSender<Result<(ToClient, i64)>>,
) {
    let tell = |event| {
        if let Some(sink) = &*lock(agent) {
            sink.tell(event);
        }
    };
    let why = loop {
        match lines.receive() {
            Ok(Some(ToClient::Report(report))) => tell(Event::Report(*report)),
            Ok(Some(ToClient::AgentEnded)) => tell(Event::Ended(
                "its agent ended during the measurement; the server's messages may say why".into(),
            )),
            Ok(Some(answer)) => {
                // If this fails otherwise, nobody waits for the answer any more.
                if matches!(answers.try_send(Ok((answer, monotonic_ns()))), Err(TrySendError::Full(_))) {
                    break Error::Answer("the server sent answers without questions".into());
                }
            }
            Ok(None) => break Error::Closed,
            Err(error) if is_closed(&error) => break Error::Closed,
            Err(error) => break Error::System(error),
        }
    };
    tell(Event::Ended(why.in_words()));
    // This waits until the answers before it are taken, or until the session is dropped.
    let _ = answers.send(Err(why));
}

impl Client {
    /// Opens a session with the `nettrial serve` at `server`.
    ///
    /// # Errors
    /// Fails if the server cannot be reached, has another token or version, or has no place for a session.
    pub fn connect(server: SocketAddr, token: &Token) -> Result<Self> {
        let stream = TcpStream::connect_timeout(&server, PATIENCE)
            .map_err(|source| Error::Unreachable { server, source })?;
        let here = stream.local_addr()?;
        let connection = Connection::open(stream, token)?;
        let welcome = match connection.answers.recv_timeout(PATIENCE) {
            Ok(Ok((ToClient::Welcome(welcome), _))) => welcome,
            Ok(Err(Error::Closed)) => return Err(Error::Full),
            Ok(Err(why)) => return Err(why),
            _ => return Err(Error::NoWelcome),
        };
        let here_version = env!("CARGO_PKG_VERSION");
        if welcome.engine_version != here_version {
            return Err(Error::OtherVersion { there: one_line(&welcome.engine_version), here: here_version });
        }
        Ok(Self {
            server,
            here,
            welcome,
            path: None,
            agents: Agents::default(),
            connection,
            watch: Watch::start(),
        })
    }

    /// Starts new agents on both machines.
    pub(crate) fn new_agents(&mut self) -> Result<()> {
        let Connection { output, agent, .. } = &self.connection;
        self.agents.start(Host::Server.name(), |sink| {
            *lock(agent) = Some(sink);
            lock(output).send(&ToServer::NewAgent).map_err(to_server)?;
            Ok::<_, Error>(Served(Arc::clone(output)))
        })?;
        Ok(self.agents.start(Host::Client.name(), |sink| {
            Process::local(Process::spawn(&mut Process::own())?, move |event| sink.tell(event))
        })?)
    }

    /// Observes this machine and the other one.
    pub(crate) fn surroundings(&self) -> Result<[Surroundings; 2]> {
        match self.connection.ask(&ToServer::Surroundings)? {
            (ToClient::Surroundings(theirs), _) => Ok([Surroundings::now(&self.watch), theirs]),
            _ => Err(Error::Answer("the server did not say how busy it is".into())),
        }
    }

    /// Returns the lead of the other machine's monotonic clock.
    pub(crate) fn clock_offset(&self) -> Result<Option<Offset>> {
        let mut rounds = Vec::new();
        for _ in 0..ROUNDS {
            let asked_ns = monotonic_ns();
            let (ToClient::Time { heard_ns, answered_ns }, came_ns) = self.connection.ask(&ToServer::Time)?
            else {
                return Err(Error::Answer("the server did not tell the time".into()));
            };
            rounds.push(Round { asked_ns, heard_ns, answered_ns, came_ns });
        }
        Ok(Offset::of(&rounds))
    }
}
