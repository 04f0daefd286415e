//! The client: one test against an iperf3 server.

mod record;
mod request;

use request::Request;
pub use request::problems;

use crate::datagram;
use crate::error::{Context, Error, Result};
use crate::message::{Cookie, MOST_RESULT_BYTES, State, read_document, send_document};
use crate::parameters::Parameters;
use crate::results::{Results, stream_id};
use crate::socket;
use crate::stream::{self, Carrier, Clock, Direction, Outcome};
use nettrial_admission::read_exact_by;
use nettrial_scenario::{Measure, Record};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The time that the server may take for each step apart from the traffic.
const PATIENCE: Duration = Duration::from_secs(20);
/// The interval at which a running test is checked.
const GLANCE: Duration = Duration::from_millis(20);
/// The time that a server may take from the end of a test until it is ready for the next.
const BETWEEN_TESTS: Duration = Duration::from_secs(2);
/// The errors of a call that arrives while the server reopens its port.
const CLOSED: [ErrorKind; 4] = [
    ErrorKind::ConnectionRefused,
    ErrorKind::ConnectionReset,
    ErrorKind::BrokenPipe,
    ErrorKind::UnexpectedEof,
];
/// The time after which an unanswered opening is retransmitted, in addition to two round-trip times: a server may
/// count an opening that was not lost as data.
const OPENING_AGAIN: Duration = Duration::from_millis(500);

/// A client of one server.
pub struct Client {
    server: SocketAddr,
}

/// A test that is over.
struct Tested {
    /// The outcome of each stream.
    ours: Vec<Outcome>,
    theirs: Results,
    connect: Duration,
    begun: Duration,
    traffic: Duration,
    took: Duration,
}

impl Client {
    /// Creates a client of `server`. Nothing is sent yet.
    pub fn new(server: SocketAddr) -> Self {
        Self { server }
    }

    /// Makes a measurement, in which there are no [`problems`], and returns its record.
    ///
    /// # Errors
    /// Fails if the server cannot be reached, is busy, or ends the test.
    pub fn run(&self, measure: &Measure) -> Result<Record> {
        let started = SystemTime::now().duration_since(UNIX_EPOCH)?;
        let request = Request::of(measure);
        let tested = self.test(&request)?;
        Ok(record::record(&measure.flows(), &request, &tested, started))
    }

    fn test(&self, request: &Request) -> Result<Tested> {
        let origin = Instant::now();
        let cookie = Cookie::random();
        let control = self.call(&cookie)?;
        self.converse(&control, &cookie, request, origin)
            .with_context(|| format!("testing with the iperf3 server at {}", self.server))
    }

    /// Makes a test with a server that is ready for it. `origin` is the time at which it was called.
    fn converse(
        &self,
        control: &TcpStream,
        cookie: &Cookie,
        request: &Request,
        origin: Instant,
    ) -> Result<Tested> {
        send_document(control, &request.parameters).context("sending the parameters")?;
        expect(control, State::CreateStreams).context("sending the parameters")?;
        let begin = Instant::now();
        let streams = 0..request.parameters.streams();
        let info = socket::tcp_info(control).context("reading the state of the control connection")?;
        let round_trip = Duration::from_micros(info.tcpi_rtt.into());
        let open = |_| self.open(cookie, &request.parameters, round_trip);
        let carriers = streams.map(open).collect::<Result<Vec<Carrier>>>()?;
        let connect = begin.elapsed();
        expect(control, State::TestStart).context("opening the streams")?;
        expect(control, State::TestRunning).context("starting the test")?;
        let begun = origin.elapsed();
        let clock = Clock::start(Duration::ZERO);
        let ours = std::thread::scope(|scope| {
            let clock = &clock;
            let threads = carriers.iter().enumerate().map(|(position, carrier)| {
                let id = stream_id(position);
                let run = move || stream::run(id, carrier, request.direction, &request.parameters, clock);
                std::thread::Builder::new().spawn_scoped(scope, run)
            });
            // If a thread can't be started, the clock ends those that were.
            let started = threads.collect::<std::io::Result<Vec<_>>>().inspect_err(|_| clock.stop())?;
            let ended = await_end(control, request, clock, &started);
            clock.stop();
            let told = State::TestEnd.send(control);
            let joined = started.into_iter().map(|thread| thread.join());
            let ours = joined.collect::<Result<Vec<_>, _>>().map_err(|_| Error::Thread)?;
            ended?;
            told.context("ending the test")?;
            Ok::<_, Error>(ours)
        })?;
        let traffic = origin.elapsed().saturating_sub(begun);
        await_results(control, &carriers)?;
        send_document(control, &ours_as_results(&ours, request.direction)).context("sending the results")?;
        let theirs: Results = read_document(control, MOST_RESULT_BYTES, Instant::now() + PATIENCE)
            .context("reading the server's results")?;
        expect(control, State::DisplayResults).context("ending the test")?;
        State::Done.send(control).context("ending the test")?;
        Ok(Tested { ours, theirs, connect, begun, traffic, took: origin.elapsed() })
    }

    /// Returns a control connection whose server is ready for a test. A call that is refused, or answered with
    /// "busy", is repeated for a moment, because iperf3's server reopens its port after a test.
    fn call(&self, cookie: &Cookie) -> Result<TcpStream> {
        let deadline = Instant::now() + BETWEEN_TESTS;
        loop {
            let called = TcpStream::connect_timeout(&self.server, PATIENCE).and_then(|control| {
                control.set_nodelay(true)?;
                control.set_write_timeout(Some(PATIENCE))?;
                (&control).write_all(&cookie.0)?;
                let state = State::read(&control, Instant::now() + PATIENCE)?;
                Ok((control, state))
            });
            let soon = Instant::now() < deadline;
            match called {
                Ok((control, State::ParameterExchange)) => return Ok(control),
                Ok((_, State::AccessDenied)) if soon => {}
                Ok((control, state)) => return Err(unexpected(&control, state)),
                Err(error) if CLOSED.contains(&error.kind()) && soon => {}
                Err(source) => return Err(Error::Unreachable { server: self.server, source }),
            }
            std::thread::sleep(GLANCE);
        }
    }

    /// Opens a stream of the test.
    fn open(&self, cookie: &Cookie, parameters: &Parameters, round_trip: Duration) -> Result<Carrier> {
        let is_ipv4 = self.server.is_ipv4();
        if parameters.tcp {
            let mut stream =
                TcpStream::connect_timeout(&self.server, PATIENCE).context("opening a stream")?;
            socket::prepare(&stream, parameters, is_ipv4);
            stream.write_all(&cookie.0).context("sending the cookie")?;
            return Ok(Carrier::Tcp(stream));
        }
        let local = if is_ipv4 { "0.0.0.0:0" } else { "[::]:0" };
        let socket = UdpSocket::bind(local).context("opening a UDP socket")?;
        socket.connect(self.server).context("opening a stream")?;
        socket::prepare(&socket, parameters, is_ipv4);
        socket.set_read_timeout(Some(OPENING_AGAIN + round_trip * 2))?;
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            socket.send(&datagram::OPENING).context("opening a stream")?;
            let mut answer = [0; 64];
            match socket.recv(&mut answer) {
                Ok(length) if datagram::answers(&answer[..length]) => return Ok(Carrier::Udp(socket)),
                Ok(_) => {}
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                Err(error) => return Err(error).context("opening a stream"),
            }
        }
        Err(Error::UdpFiltered(self.server.port()))
    }
}

/// Waits until the server sends the state `wanted`.
fn expect(control: &TcpStream, wanted: State) -> Result<()> {
    let state = State::read(control, Instant::now() + PATIENCE).context("waiting for the server")?;
    if state == wanted { Ok(()) } else { Err(unexpected(control, state)) }
}

/// Returns the error of a server that sent `state` instead of the state expected.
fn unexpected(control: &TcpStream, state: State) -> Error {
    match state {
        State::AccessDenied => Error::Busy,
        State::ServerTerminate => Error::Ended,
        State::ServerError => {
            let mut number = [0; 8];
            let read = read_exact_by(control, &mut number, Instant::now() + PATIENCE);
            let [first, second, third, fourth, ..] = number;
            let refusal = i32::from_be_bytes([first, second, third, fourth]);
            read.map_or(Error::Failed, |()| Error::Refused(refusal))
        }
        other => Error::Unexpected(other),
    }
}

/// Waits until the test has lasted its time or moved its bytes.
fn await_end<T>(
    control: &TcpStream,
    request: &Request,
    clock: &Clock,
    threads: &[std::thread::ScopedJoinHandle<T>],
) -> Result<()> {
    let begin = Instant::now();
    loop {
        let left = request.duration.map_or(GLANCE, |time| time.saturating_sub(begin.elapsed()).min(GLANCE));
        let enough = request.bytes.is_some_and(|bytes| clock.moved.load(Ordering::Relaxed) >= bytes);
        if left.is_zero() || enough {
            return Ok(());
        }
        match State::read(control, Instant::now() + left) {
            Err(error) if error.kind() == ErrorKind::TimedOut => {}
            Err(error) => return Err(error).context("the server left in the middle of the test"),
            Ok(state) => return Err(unexpected(control, state)),
        }
        if threads.iter().any(std::thread::ScopedJoinHandle::is_finished) {
            return Err(Error::StreamEnded);
        }
    }
}

/// Waits until the server asks for results. Its data is read meanwhile, because a server that is blocked in
/// sending would not notice the end of the test.
fn await_results(control: &TcpStream, carriers: &[Carrier]) -> Result<()> {
    let deadline = Instant::now() + PATIENCE;
    let mut rest = vec![0; 1 << 16];
    loop {
        match State::read(control, Instant::now() + GLANCE) {
            Ok(State::ExchangeResults) => return Ok(()),
            Ok(state) => return Err(unexpected(control, state)),
            Err(error) if error.kind() == ErrorKind::TimedOut && Instant::now() < deadline => {}
            Err(error) => return Err(error).context("waiting for the server's results"),
        }
        for carrier in carriers {
            if let Carrier::Tcp(stream) = carrier {
                stream.set_nonblocking(true)?;
                while (&*stream).read(&mut rest).is_ok_and(|count| count > 0) {}
            }
        }
    }
}

fn ours_as_results(ours: &[Outcome], direction: Direction) -> Results {
    let sender = i64::from(ours.iter().any(|stream| stream.results.retransmits >= 0));
    Results {
        sender_has_retransmits: if direction == Direction::Send { sender } else { -1 },
        congestion_used: ours.iter().find_map(|stream| stream.congestion.clone()),
        streams: ours.iter().map(|stream| stream.results.clone()).collect(),
        ..Results::default()
    }
}
