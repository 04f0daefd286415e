//! The server, which gives each caller with the token a session with an agent.

use crate::error::{Context, Error, Result};
use crate::interface;
use crate::message::{MOST_ORDER_BYTES, ToClient, ToServer, Welcome};
use crate::rules::{Between, Ration, flow_seats};
use nettrial_admission::{Kind, Limits, Log, Seats, Visitor, bind, pieces, raise_descriptor_limit, receive};
use nettrial_scenario::{During, Fault, HostAddress};
use nettrial_session::{
    Event, PENALTY, Process, Reader, Sealed, Surroundings, Token, Transport, Watch, Writer, admit,
    monotonic_ns,
};
use nettrial_traffic::{Order, Reply, Report};
use socket2::{SockRef, TcpKeepalive};
use std::io::{self, BufReader};
use std::net::{SocketAddr, TcpStream};
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The default port of the control connection.
pub const PORT: u16 = 5210;
/// The most callers at a time that are in their handshake.
const LIMITS: Limits = Limits { pending: 64, pending_each: 8 };
/// The most sessions at a time, in all and of one address.
const SESSIONS: (usize, usize) = (16, 8);
/// The time after which the session of a silent client ends. No flow lasts that long.
const SILENCE: Duration = Duration::from_secs(2 * 3600);
/// The approximate time after which it is noticed that a client's machine is gone.
const VANISHED: Duration = Duration::from_secs(60);
/// The number of probes of a silent connection.
const PROBES: u32 = 4;
/// The length at which lines of an agent's error output are split, in bytes.
const MOST_SAID_BYTES: u64 = 4096;

/// The writer to the client, which several threads share.
type Output = Arc<Mutex<Writer<TcpStream>>>;

/// Serves clients that have `token` until the process ends, at `address` or, if none is given, at every address.
/// `ready` is called with the address once the port is open.
///
/// # Errors
/// Fails if the port cannot be opened.
pub fn serve(
    token: Token,
    address: Option<HostAddress>,
    port: u16,
    ready: impl FnOnce(SocketAddr),
) -> io::Result<()> {
    raise_descriptor_limit();
    let listener = bind(address.map(|address| address.socket(port)), port)?;
    let log = Arc::new(Log::default());
    let seats = Seats::new(SESSIONS.0, SESSIONS.1);
    let flows = flow_seats();
    ready(listener.local_addr()?);
    let shared = Arc::clone(&log);
    receive(&listener, LIMITS, &shared, move |visitor| {
        let peer = visitor.peer;
        if let Err((kind, error)) = hear(visitor, &token, (&seats, &flows), &log) {
            log.line(peer.ip(), kind, &format!("{peer}: {}", error.in_words()));
        }
    })
}

/// Serves a caller to the end of its session. The session takes its place from `seats`, and its flows take theirs
/// from `flows`. An error has its kind for the log.
fn hear(
    visitor: Visitor,
    token: &Token,
    (seats, flows): (&Seats, &Seats),
    log: &Arc<Log>,
) -> Result<(), (Kind, Error)> {
    let sealed = admit(&visitor.stream, token).map_err(|error| {
        if matches!(error, nettrial_session::Error::WrongToken) {
            visitor.delay(PENALTY);
            return ("wrong token", Error::from(error).during("refused"));
        }
        ("no handshake", Error::from(error).during("refused"))
    })?;
    let Some(_seat) = seats.take(visitor.peer.ip()) else {
        return Err(("too many sessions", Error::TooMany("sessions")));
    };
    let others = seats.taken() - 1;
    let Some((stream, peer, _)) = visitor.admit() else {
        return Err(("too many connections", Error::TooMany("connections wait to be heard")));
    };
    log.line(peer.ip(), "a session began", &format!("a session of {peer} began"));
    session(&stream, peer, others, &sealed, flows, log).map_err(|error| ("a session failed", error))?;
    log.line(peer.ip(), "a session ended", &format!("the session of {peer} ended"));
    Ok(())
}

/// Serves a caller that has the token.
fn session(
    stream: &TcpStream,
    peer: SocketAddr,
    others: usize,
    sealed: &Sealed,
    flows: &Seats,
    log: &Arc<Log>,
) -> Result<()> {
    keep_alive(stream)?;
    let here = HostAddress::from(stream.local_addr()?);
    let between = Between { here, there: peer.ip() };
    let output: Output = Arc::new(Mutex::new(sealed.writer(stream.try_clone()?)));
    say(
        &output,
        &ToClient::Welcome(Welcome {
            engine_version: env!("CARGO_PKG_VERSION").into(),
            address: here,
            interface_mtu: interface::mtu(here),
            congestion_control: interface::congestion_control(),
            others,
        }),
    )?;
    let result = obey(sealed.reader(stream, MOST_ORDER_BYTES), &output, between, flows, log);
    // Threads of an agent that are still writing end with an error.
    let _ = stream.shutdown(std::net::Shutdown::Both);
    result
}

fn keep_alive(stream: &TcpStream) -> io::Result<()> {
    let socket = SockRef::from(stream);
    let interval = VANISHED / (PROBES + 1);
    let probes = TcpKeepalive::new().with_time(interval).with_interval(interval);
    // Windows before version 1703 of Windows 10 and Wine have a fixed number of probes.
    let counted = probes.clone().with_retries(PROBES);
    socket.set_tcp_keepalive(&counted).or_else(|_| socket.set_tcp_keepalive(&probes))?;
    // On other systems only the probes, or a write that waits that long, show that the machine is gone.
    #[cfg(target_os = "linux")]
    socket.set_tcp_user_timeout(Some(VANISHED))?;
    stream.set_nodelay(true)?;
    stream.set_write_timeout(Some(VANISHED))?;
    stream.set_read_timeout(Some(SILENCE))
}

fn say(output: &Output, message: &ToClient) -> io::Result<()> {
    output.lock().unwrap_or_else(PoisonError::into_inner).send(message)
}

/// Carries out the client's messages until the client leaves.
fn obey(
    mut lines: Reader<&TcpStream>,
    output: &Output,
    between: Between,
    flows: &Seats,
    log: &Arc<Log>,
) -> Result<()> {
    let congestion_controls = interface::congestion_controls();
    let (mut agent, mut ration) = (None, Ration::new(flows, between.there));
    let watch = Watch::start();
    while let Some(line) = lines.receive::<ToServer>().context("the session was ended")? {
        let heard_ns = monotonic_ns();
        match line {
            ToServer::Time => say(output, &ToClient::Time { heard_ns, answered_ns: monotonic_ns() })?,
            ToServer::Surroundings => {
                say(output, &ToClient::Surroundings(Surroundings::now(&watch)))?;
            }
            ToServer::NewAgent => {
                drop(agent.take());
                agent = Some(new_agent(output, between, log)?);
                ration = Ration::new(flows, between.there);
            }
            ToServer::Order(order) => {
                let Order { number, command } = *order;
                let refused =
                    between.refusal(&command, &congestion_controls).or_else(|| ration.refusal(&command));
                let done = match (refused, &mut agent) {
                    (Some(why), _) => {
                        log.refused(between.there, "an order", &why);
                        Err(Error::Refused(why))
                    }
                    (None, None) => Err(Error::Answer("there is no agent yet".into())),
                    (None, Some(agent)) => agent.order(&Order { number, command }).map_err(Error::from),
                };
                if let Err(error) = done {
                    let report = Report { number, reply: Reply::failed(&error) };
                    say(output, &ToClient::Report(Box::new(report)))?;
                }
            }
        }
    }
    Ok(())
}

fn new_agent(output: &Output, between: Between, log: &Arc<Log>) -> Result<Process> {
    let (output, log) = (Arc::clone(output), Arc::clone(log));
    let tell = move |event| {
        let line = match event {
            Event::Report(report) => ToClient::Report(Box::new(report)),
            Event::Ended(_) => ToClient::AgentEnded,
        };
        // The thread that reads the client's messages notices if the client is gone.
        let _ = say(&output, &line);
    };
    let mut command = Process::own();
    command.stderr(Stdio::piped());
    let mut agent = Process::local(Process::spawn(&mut command)?, tell)?;
    let errors = agent.errors().ok_or(nettrial_session::Error::NoPipe("from the agent"))?;
    std::thread::spawn(move || {
        for line in pieces(BufReader::new(errors), MOST_SAID_BYTES) {
            let text = format!("session of {}: {line}", between.there);
            log.line(between.there, "an agent's line", &text);
        }
    });
    Ok(agent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::Client;
    use nettrial_scenario::FailureKind;
    use std::net::{IpAddr, TcpListener};
    use std::sync::mpsc::channel;

    #[test]
    fn the_silent_hinder_nobody() {
        let file = std::env::temp_dir().join(format!("nettrial-served-{}", std::process::id()));
        std::fs::write(&file, Token::random().reveal()).unwrap();
        let token = || Token::find(Some(&file)).unwrap().unwrap();
        let (ready, is_ready) = channel();
        let served = token();
        std::thread::spawn(move || {
            serve(served, Some(IpAddr::from([127, 0, 0, 1]).into()), 0, |at| ready.send(at).unwrap())
        });
        let at = is_ready.recv().unwrap();
        let silent: Vec<TcpStream> = (0..200).map(|_| TcpStream::connect(at).unwrap()).collect();
        for _ in 0..3 {
            Client::connect(at, &token()).unwrap();
        }
        let wrong = Client::connect(at, &Token::random()).err().unwrap();
        assert_eq!(wrong.kind(), FailureKind::OtherToken, "{wrong:?}");
        let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let nobody = Client::connect(closed, &token()).err().unwrap();
        assert_eq!(nobody.kind(), FailureKind::Unreachable, "{nobody:?}");
        Client::connect(at, &token()).unwrap();
        drop(silent);
        std::fs::remove_file(&file).unwrap();
    }
}
