//! One test, on the server's side.

use crate::message::{MOST_PARAMETER_BYTES, MOST_RESULT_BYTES, State, read_document, send_document};
use crate::parameters::Parameters;
use crate::results::{Results, stream_id};
use crate::running_tests::{Bounds, Registration};
use crate::shared::Shared;
use crate::socket;
use crate::stream::{self, Carrier, Clock, Direction, Outcome};
use std::io::{self, ErrorKind, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// The time that a client may take for each step apart from the traffic.
const PATIENCE: Duration = Duration::from_secs(10);
/// The time that a client may take to open all its streams.
const OPENING_PATIENCE: Duration = Duration::from_secs(120);
/// The interval at which a waiting or running test is checked.
const GLANCE: Duration = Duration::from_millis(200);

/// The session of a client that asked for a test.
pub struct Session<'a> {
    /// The control connection.
    pub control: &'a TcpStream,
    /// The client's address.
    pub peer: SocketAddr,
    /// The registration of the test, which receives the connections that showed its cookie.
    pub registration: Registration,
}

/// Runs a test to its end.
pub fn run(shared: &Shared, session: &Session) -> io::Result<()> {
    let control = session.control;
    control.set_nodelay(true)?;
    control.set_write_timeout(Some(PATIENCE))?;
    State::ParameterExchange.send(control)?;
    let parameters: Parameters = read_document(control, MOST_PARAMETER_BYTES, soon())?;
    if let Some((number, why)) = parameters.refusal() {
        State::ServerError.send(control)?;
        (&*control).write_all(&[number.to_be_bytes(), 0i32.to_be_bytes()].concat())?;
        return Err(io::Error::new(ErrorKind::InvalidData, why));
    }
    let Some(_seats) = shared.tests.streams(session.peer.ip(), parameters.streams()) else {
        State::AccessDenied.send(control)?;
        let why = match parameters.streams() {
            1 => "no stream is free".to_owned(),
            streams => format!("{streams} streams are more than are free"),
        };
        return Err(io::Error::new(ErrorKind::QuotaExceeded, why));
    };
    let peer = session.peer;
    shared.log.line(peer.ip(), "a test", &format!("test of {peer}: {}", in_words(&parameters)));
    let carriers = open_streams(shared, session, &parameters)?;
    let begin = Instant::now();
    let outcomes = traffic(session, &parameters, &carriers, shared)?;
    // A receiving client reads whole blocks, and waits for the rest of the last block or the end of the
    // connection.
    drop(carriers);
    State::ExchangeResults.send(control)?;
    let _theirs: Results = read_document(control, MOST_RESULT_BYTES, soon())?;
    send_document(control, &results(outcomes, begin.elapsed()))?;
    State::DisplayResults.send(control)?;
    // The client confirms the results, or just closes the connection. Either ends the test.
    let _ = State::read(control, soon());
    Ok(())
}

fn soon() -> Instant {
    Instant::now() + PATIENCE
}

fn in_words(parameters: &Parameters) -> String {
    let transport = if parameters.tcp { "TCP" } else { "UDP" };
    let direction = match (parameters.reverse, parameters.bidirectional) {
        (_, true) => "both directions",
        (true, false) => "from here",
        (false, false) => "to here",
    };
    let version: String = parameters.client_version.chars().take(20).collect();
    let streams = match parameters.parallel {
        1 => "1 stream".to_owned(),
        several => format!("{several} streams"),
    };
    format!("{streams} over {transport}, {direction}, iperf3 {version}")
}

/// Opens the test's streams, and returns them in the order in which the client opened them. With both directions,
/// the streams on which the client sends come first.
fn open_streams(
    shared: &Shared,
    session: &Session,
    parameters: &Parameters,
) -> io::Result<Vec<(Carrier, Direction)>> {
    let is_ipv4 = session.peer.is_ipv4();
    let control = session.control;
    let end = Instant::now() + OPENING_PATIENCE;
    let carriers: Vec<Carrier> = if parameters.udp {
        let peer = session.peer.ip();
        let turn = await_client(session, end, |moment| shared.udp.turn(peer, parameters.streams(), moment))?;
        State::CreateStreams.send(control)?;
        let next = || {
            let socket = await_client(session, end, |moment| turn.stream(moment))?;
            socket::prepare(&socket, parameters, is_ipv4);
            Ok(Carrier::Udp(socket))
        };
        (0..parameters.streams()).map(|_| next()).collect::<io::Result<_>>()?
    } else {
        session.registration.await_streams(parameters.streams());
        State::CreateStreams.send(control)?;
        let next = || await_client(session, end, |moment| session.registration.stream(moment));
        let mut numbered = (0..parameters.streams()).map(|_| next()).collect::<io::Result<Vec<_>>>()?;
        numbered.sort_by_key(|(number, _)| *number);
        let carry = |(_, stream)| {
            socket::prepare(&stream, parameters, is_ipv4);
            Carrier::Tcp(stream)
        };
        numbered.into_iter().map(carry).collect()
    };
    let parallel = parameters.parallel as usize;
    let direction = |position: usize| {
        let sends = parameters.reverse || (parameters.bidirectional && position >= parallel);
        if sends { Direction::Send } else { Direction::Receive }
    };
    Ok(carriers.into_iter().enumerate().map(|(at, carrier)| (carrier, direction(at))).collect())
}

/// Calls `next` repeatedly until it returns something, and returns that. Fails at `end`, after [`PATIENCE`], or if
/// the client closes the connection or sends anything.
fn await_client<T>(
    session: &Session,
    end: Instant,
    mut next: impl FnMut(Instant) -> Option<T>,
) -> io::Result<T> {
    let control = session.control;
    let deadline = soon().min(end);
    while Instant::now() < deadline {
        if session.registration.must_end() {
            return Err(make_room(control));
        }
        if let Some(arrived) = next(Instant::now() + GLANCE) {
            return Ok(arrived);
        }
        control.set_nonblocking(true)?;
        let heard = control.peek(&mut [0]);
        control.set_nonblocking(false)?;
        match heard {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
            Ok(_) => return Err(io::Error::new(ErrorKind::ConnectionAborted, "the client gave up")),
        }
    }
    Err(io::Error::new(ErrorKind::TimedOut, "the client did not open its streams"))
}

/// Runs the streams until the client ends the test.
fn traffic(
    session: &Session,
    parameters: &Parameters,
    carriers: &[(Carrier, Direction)],
    shared: &Shared,
) -> io::Result<Vec<(Direction, Outcome)>> {
    let control = session.control;
    State::TestStart.send(control)?;
    let clock = Clock::start(Duration::from_secs(parameters.omit.into()));
    State::TestRunning.send(control)?;
    std::thread::scope(|scope| {
        let clock = &clock;
        let threads = carriers.iter().enumerate().map(|(position, (carrier, direction))| {
            let run = move || {
                let id = stream_id(position);
                (*direction, stream::run(id, carrier, *direction, parameters, clock))
            };
            std::thread::Builder::new().spawn_scoped(scope, run)
        });
        let started: io::Result<Vec<_>> = threads.collect();
        let bounds = &shared.tests.bounds;
        let ended = started.as_ref().map_or(Ok(()), |_| await_end(session, parameters, clock, bounds));
        clock.stop();
        let outcomes: Vec<_> = started?.into_iter().filter_map(|thread| thread.join().ok()).collect();
        ended?;
        if outcomes.len() < carriers.len() {
            let kind = "a stream's thread failed: its figures are missing in the results";
            shared.log.line(session.peer.ip(), kind, kind);
        }
        Ok(outcomes)
    })
}

/// Waits until the client ends the test, or the test reaches its bounds.
fn await_end(session: &Session, parameters: &Parameters, clock: &Clock, bounds: &Bounds) -> io::Result<()> {
    let control = session.control;
    let longest = match parameters.time {
        0 => bounds.untimed,
        time => Duration::from_secs((parameters.omit + time).into()) + bounds.silence,
    };
    let (begin, mut window, mut moved) = (Instant::now(), Instant::now(), 0);
    loop {
        match State::read(control, Instant::now() + GLANCE) {
            Ok(State::TestEnd) => return Ok(()),
            Ok(State::ClientTerminate) => {
                return Err(io::Error::new(ErrorKind::ConnectionAborted, "the client stopped it"));
            }
            Ok(other) => {
                let why = format!("the client sent the state {other:?} during the test");
                return Err(io::Error::new(ErrorKind::InvalidData, why));
            }
            Err(error) if error.kind() == ErrorKind::TimedOut => {}
            Err(error) => return Err(error),
        }
        let now_moved = clock.moved.load(Ordering::Relaxed);
        if now_moved - moved >= bounds.progress {
            (moved, window) = (now_moved, Instant::now());
        }
        if session.registration.must_end() {
            return Err(make_room(control));
        }
        let stopped = [
            (window.elapsed() > bounds.silence, "the client fell silent"),
            (begin.elapsed() > longest, "the test took longer than it may"),
        ];
        if let Some((_, why)) = stopped.into_iter().find(|(is_so, _)| *is_so) {
            let _ = State::ServerTerminate.send(control);
            return Err(io::Error::new(ErrorKind::TimedOut, why));
        }
    }
}

/// Tells the client that its test is over, because another client waits for its place.
fn make_room(control: &TcpStream) -> io::Error {
    let _ = State::ServerTerminate.send(control);
    io::Error::new(ErrorKind::QuotaExceeded, "another client waited for its place")
}

fn results(outcomes: Vec<(Direction, Outcome)>, took: Duration) -> Results {
    let sends = outcomes.iter().any(|(direction, _)| *direction == Direction::Send);
    let counts = outcomes.iter().any(|(_, outcome)| outcome.results.retransmits >= 0);
    let share = |of: fn(&Outcome) -> Duration| {
        let spent: Duration = outcomes.iter().map(|(_, outcome)| of(outcome)).sum();
        100.0 * spent.as_secs_f64() / took.as_secs_f64().max(f64::EPSILON)
    };
    let (user, system) = (share(|outcome| outcome.processor.0), share(|outcome| outcome.processor.1));
    Results {
        cpu_util_total: user + system,
        cpu_util_user: user,
        cpu_util_system: system,
        sender_has_retransmits: if sends { counts.into() } else { -1 },
        congestion_used: outcomes.iter().find_map(|(_, outcome)| outcome.congestion.clone()),
        streams: outcomes.into_iter().map(|(_, outcome)| outcome.results).collect(),
    }
}
