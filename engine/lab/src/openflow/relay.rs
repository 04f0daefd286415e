//! Relays OpenFlow between the switches and a controller that is not nettrial's, and counts its messages: such a
//! controller does not report its work, but the messages of switches are the same with every controller.

use super::message::{Message, Messages, VERSIONS};
use crate::error::{Context, Error, Result};
use crate::namespace::Namespace;
use nettrial_scenario::chain;
use nix::sched::{CloneFlags, setns};
use nix::sys::socket::shutdown;
use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, AsRawFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The number of bytes to read at once.
const PIECE: usize = 16 << 10;
/// The time after which a connection to the controller must be established.
const PATIENCE: Duration = Duration::from_secs(5);

/// The host and the port at which the controller listens.
pub type Target = (String, u16);

/// A listener for the switches, with a connection to the controller for each of their connections.
pub struct Relay {
    listener: TcpListener,
    accepting: Option<JoinHandle<()>>,
    state: Arc<Mutex<State>>,
}

/// The counts of messages so far, and the connections.
#[derive(Debug, Clone, Default)]
pub struct State {
    /// The packets that switches sent to the controller, without those of link discovery.
    pub packet_ins: u64,
    /// The packets that the controller told switches to send, without those of link discovery.
    pub packet_outs: u64,
    /// The number of changes of rules and groups.
    pub changes: u64,
    /// The datapath of each established connection.
    connected: HashMap<u64, u64>,
    /// The number of established connections that have ended.
    pub ended: u64,
    /// The time of the last connection or change.
    last: Option<Instant>,
    /// The lowest OpenFlow version of a connection.
    version: Option<u8>,
    /// The reason why the controller could not be reached.
    pub unreachable: Option<String>,
}

impl State {
    /// Returns the number of connected switches.
    pub fn connected(&self) -> usize {
        self.connected.len()
    }

    /// Returns the time since the last connection or change.
    pub fn quiet(&self) -> Duration {
        self.last.map_or(Duration::ZERO, |last| last.elapsed())
    }

    /// Returns the OpenFlow version of the connections.
    pub fn version(&self) -> &'static str {
        let version = VERSIONS.iter().find(|(number, _)| Some(*number) == self.version);
        version.map_or("unknown", |(_, name)| name)
    }

    /// Counts a message.
    fn note(&mut self, connection: u64, message: Message) {
        match message {
            Message::Connected { datapath, version } => {
                self.connected.insert(connection, datapath);
                self.version = Some(self.version.map_or(version, |lowest| lowest.min(version)));
                self.last = Some(Instant::now());
            }
            Message::Change => {
                self.changes += 1;
                self.last = Some(Instant::now());
            }
            Message::PacketIn { of_topology: false } => self.packet_ins += 1,
            Message::PacketOut { of_topology: false } => self.packet_outs += 1,
            _ => {}
        }
    }
}

impl Relay {
    /// Begins to listen in the calling thread's namespace, for at most that many connections at a time. The controller
    /// is reached from that namespace, or from `outside`.
    pub fn start(to: Target, outside: Option<Namespace>, most: usize) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("listening for switches")?;
        let own = listener.try_clone().context("listening for switches")?;
        let state = Arc::new(Mutex::new(State::default()));
        let noted = Arc::clone(&state);
        // A new thread is in the namespace of the thread that started it.
        let accepting = std::thread::Builder::new().name("relay".into()).spawn(move || {
            if let Some(Err(error)) =
                outside.map(|outside| setns(outside.file().as_fd(), CloneFlags::CLONE_NEWNET))
            {
                lock(&noted).unreachable = Some(format!("returning to the machine's network: {error}"));
                return;
            }
            // Each connection holds a copy.
            let places = Arc::new(());
            for connection in 0.. {
                let Ok((switch, _)) = own.accept() else { return };
                if Arc::strong_count(&places) > most {
                    continue;
                }
                let (to, noted, place) = (to.clone(), Arc::clone(&noted), Arc::clone(&places));
                std::thread::spawn(move || {
                    let _place = place;
                    if let Err(error) = carry(&switch, &to, connection, &noted) {
                        lock(&noted).unreachable = Some(chain(&error));
                    }
                });
            }
        });
        let accepting = Some(accepting.context("starting a thread for switches")?);
        Ok(Self { listener, accepting, state })
    }

    /// Returns the port at which the relay listens.
    pub fn port(&self) -> Result<u16> {
        Ok(self.listener.local_addr().context("listening for switches")?.port())
    }

    /// Returns the counts so far.
    pub fn state(&self) -> State {
        lock(&self.state).clone()
    }
}

impl Drop for Relay {
    /// Ends the listener. Each connection ends with that of its switch.
    fn drop(&mut self) {
        let _ = shutdown(self.listener.as_raw_fd(), nix::sys::socket::Shutdown::Both);
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join();
        }
    }
}

/// Relays a switch's connection until one of its ends is closed.
fn carry(
    switch: &TcpStream,
    (host, port): &Target,
    connection: u64,
    state: &Arc<Mutex<State>>,
) -> Result<()> {
    let controller =
        reach(host, *port).with_context(|| format!("connecting to the controller at {host} port {port}"))?;
    // Messages are small, and delays would be measured.
    switch.set_nodelay(true)?;
    controller.set_nodelay(true)?;
    let note = |message| lock(state).note(connection, message);
    std::thread::scope(|scope| {
        scope.spawn(|| copy(switch, &controller, note));
        copy(&controller, switch, note);
    });
    let mut state = lock(state);
    state.ended += u64::from(state.connected.remove(&connection).is_some());
    Ok(())
}

/// Connects to the controller.
fn reach(host: &str, port: u16) -> Result<TcpStream> {
    let mut failed = None;
    for address in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, PATIENCE) {
            Ok(stream) => return Ok(stream),
            Err(error) => failed = Some(error),
        }
    }
    Err(failed.map_or_else(|| Error::Program("the name has no address".into()), Into::into))
}

/// Copies until either end is closed, and then closes both.
fn copy(mut from: &TcpStream, mut to: &TcpStream, mut note: impl FnMut(Message)) {
    let mut messages = Messages::default();
    let mut piece = vec![0; PIECE];
    while let Ok(count @ 1..) = from.read(&mut piece) {
        if to.write_all(&piece[..count]).is_err() {
            break;
        }
        messages.take(&piece[..count], &mut note);
    }
    for end in [from, to] {
        let _ = end.shutdown(Shutdown::Both);
    }
}

/// Locks the state, also after a thread panicked.
fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a message of OpenFlow 1.3 with this type and body.
    fn message(kind: u8, body: &[u8]) -> Vec<u8> {
        [&[4, kind, 0, u8::try_from(8 + body.len()).unwrap(), 0, 0, 0, 1], body].concat()
    }

    #[test]
    fn a_relay_hands_on_and_counts_in_both_directions() {
        let controller = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = controller.local_addr().unwrap().port();
        let relay = Relay::start(("127.0.0.1".into(), port), None, 2).unwrap();
        let mut switch = TcpStream::connect((Ipv4Addr::LOCALHOST, relay.port().unwrap())).unwrap();
        let (mut far, _) = controller.accept().unwrap();
        let features = message(6, &[0; 24]);
        switch.write_all(&features).unwrap();
        let mut heard = vec![0; features.len()];
        far.read_exact(&mut heard).unwrap();
        assert_eq!(heard, features);
        let change = message(14, &[0; 40]);
        far.write_all(&change).unwrap();
        let mut heard = vec![0; change.len()];
        switch.read_exact(&mut heard).unwrap();
        assert_eq!(heard, change);
        // Messages are counted immediately after they are relayed; the end of a connection comes last.
        drop(far);
        assert_eq!(switch.read(&mut [0]).unwrap(), 0);
        while relay.state().ended == 0 {
            std::thread::yield_now();
        }
        let state = relay.state();
        assert_eq!((state.changes, state.connected(), state.version()), (1, 0, "1.3"));
    }

    #[test]
    fn connections_are_bounded_and_their_places_come_back() {
        let controller = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = controller.local_addr().unwrap().port();
        let relay = Relay::start(("127.0.0.1".into(), port), None, 2).unwrap();
        let connect = || TcpStream::connect((Ipv4Addr::LOCALHOST, relay.port().unwrap())).unwrap();
        assert!(relay.listener.local_addr().unwrap().ip().is_loopback());
        let kept: Vec<_> = (0..2).map(|_| (connect(), controller.accept().unwrap())).collect();
        assert_eq!(connect().read(&mut [0]).unwrap_or(0), 0);
        drop(kept);
        controller.set_nonblocking(true).unwrap();
        // A place is free once both directions of its connection have ended.
        while controller.accept().is_err() {
            let _switch = connect();
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_controller_that_is_not_there_is_named() {
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
        let relay = Relay::start(("127.0.0.1".into(), port), None, 2).unwrap();
        let mut switch = TcpStream::connect((Ipv4Addr::LOCALHOST, relay.port().unwrap())).unwrap();
        assert_eq!(switch.read(&mut [0]).unwrap_or(0), 0);
        while relay.state().unreachable.is_none() {
            std::thread::yield_now();
        }
        let said = relay.state().unreachable.unwrap();
        assert!(
            said.starts_with(&format!("connecting to the controller at 127.0.0.1 port {port}: ")),
            "{said}"
        );
    }
}
