//! A flow on its receiver's side, which accepts the flow's connections and serves each.

use crate::Context;
use crate::connection::{Connection, options};
use crate::datagram::Socket;
use crate::host::Host;
use crate::stack::Stack;
use crate::{exchange, packets, sweep, transfer};
use nettrial_scenario::{Fault, Traffic};
use nettrial_traffic::parts::{OPENING_BYTES, Purpose};
use nettrial_traffic::{Error, Result, Room, Side};
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// The threads that wait for connections, so that a connection is served without starting a thread.
const WAITING: usize = 2;
/// The most connections that are served at a time; further ones wait.
const MOST_SERVED: usize = 256;
/// The most connections that have not shown the cookie yet; for a further one, the oldest is reset.
const MOST_UNSHOWN: usize = 64;

/// A port that accepts the connections of a flow.
struct Port<S: Stack> {
    host: Arc<Host<S>>,
    number: u16,
    side: Side,
    waiting: AtomicUsize,
    all: AtomicUsize,
    /// Connections that have not shown the cookie yet, the oldest first.
    unshown: Mutex<VecDeque<Arc<Connection<S>>>>,
}

/// Opens a port for the flow of `side`, and serves it as long as the process lives.
pub fn listen<S: Stack>(host: &Arc<Host<S>>, side: Side) -> Result<u16> {
    let number = host.with(|stack| stack.listen(side.address.ip, options(&side))).context("listening")?;
    let port = Arc::new(Port {
        host: Arc::clone(host),
        number,
        side,
        waiting: AtomicUsize::new(0),
        all: AtomicUsize::new(0),
        unshown: Mutex::default(),
    });
    for _ in 0..WAITING {
        port.join();
    }
    Ok(number)
}

impl<S: Stack> Port<S> {
    /// Has a further thread wait for connections.
    fn join(self: &Arc<Self>) {
        self.waiting.fetch_add(1, Ordering::SeqCst);
        self.all.fetch_add(1, Ordering::SeqCst);
        let port = Arc::clone(self);
        std::thread::spawn(move || {
            port.work();
            port.all.fetch_sub(1, Ordering::SeqCst);
        });
    }

    fn work(self: &Arc<Self>) {
        loop {
            let made = Arc::new(Connection::accepted(&self.host, self.number, self.side.patience()));
            let last = self.waiting.fetch_sub(1, Ordering::SeqCst) == 1;
            if last && self.all.load(Ordering::SeqCst) < MOST_SERVED {
                self.join();
            }
            // The sender, which waits for an answer, reports a connection that fails.
            if let Err(error) = self.admit(&made).and_then(|purpose| serve(&made, &self.side, purpose)) {
                eprintln!("flow {:?}: {}", self.side.flow.name, error.in_words());
            }
            drop(made);
            if self.waiting.load(Ordering::SeqCst) >= WAITING {
                return;
            }
            self.waiting.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Waits until a connection has shown the trial's cookie. Strangers can open connections, so one that shows nothing is
    /// reset when its time is over, or when many others have come after it.
    fn admit(&self, made: &Arc<Connection<S>>) -> Result<Purpose> {
        let unshown = || self.unshown.lock().unwrap_or_else(PoisonError::into_inner);
        let oldest = {
            let mut unshown = unshown();
            unshown.push_back(Arc::clone(made));
            if unshown.len() > MOST_UNSHOWN { unshown.pop_front() } else { None }
        };
        if let Some(oldest) = oldest {
            oldest.abort();
        }
        let deadline = Instant::now() + self.side.patience();
        let purpose = self.shown(made, deadline);
        unshown().retain(|other| !Arc::ptr_eq(other, made));
        purpose.context("a connection was refused")
    }

    fn shown(&self, made: &Connection<S>, deadline: Instant) -> std::io::Result<Purpose> {
        let (mut opening, mut filled) = ([0; OPENING_BYTES], 0);
        while filled < opening.len() {
            match made.read_until(&mut opening[filled..], deadline)? {
                0 => break,
                count => filled += count,
            }
        }
        self.side.cookie.admit(&mut &opening[..filled])
    }
}

fn serve<S: Stack>(made: &Connection<S>, side: &Side, purpose: Purpose) -> Result<()> {
    if purpose == Purpose::Inspect {
        // The answer also tells the inspector that the connection is established on both sides.
        return Ok(made.write_all(&made.room().put())?);
    }
    match &side.flow.traffic {
        Traffic::Transfer(_) => transfer::receive(made, side),
        Traffic::RequestResponse(settings) => exchange::respond(made, side, settings),
        Traffic::Sweep(settings) => sweep::respond(made, settings),
        Traffic::Packets(settings) => packets::receive(made, side, settings),
        other => Err(Error::Unsupported(format!("traffic of the kind {} is not carried", other.kind()))),
    }
}

/// Serves one sender of datagrams.
pub fn serve_datagrams<S: Stack>(socket: &Socket<S>, side: &Side) -> Result<()> {
    match &side.flow.traffic {
        Traffic::RequestResponse(settings) => exchange::respond_to_datagrams(socket, side, settings),
        Traffic::Sweep(settings) => sweep::respond_to_datagrams(socket, side, settings),
        other => {
            Err(Error::Unsupported(format!("traffic of the kind {} is not carried over UDP", other.kind())))
        }
    }
}

/// Opens a connection of the flow, inspects it by its first segments, and closes it.
pub fn inspect<S: Stack>(
    host: &Arc<Host<S>>,
    side: &Side,
    destination: SocketAddr,
) -> Result<nettrial_traffic::Connection> {
    let (made, _) = Connection::open(host, side, destination)?;
    made.write_all(&side.cookie.opening(Purpose::Inspect)).context("showing the trial's cookie")?;
    let mut receiver = [0; Room::BYTES];
    made.read_exact(&mut receiver).context("waiting for the receiver")?;
    let counts = made.counts();
    let (own, peer) = (counts.own.unwrap_or_default(), counts.peer.unwrap_or_default());
    let agreed = [
        ("timestamps", own.timestamps && peer.timestamps),
        ("sack", own.sack && peer.sack),
        ("window_scaling", own.window_scale.is_some() && peer.window_scale.is_some()),
    ];
    Ok(nettrial_traffic::Connection {
        mss_bytes: made.segment_bytes(&counts),
        congestion_control: side.congestion_control.clone(),
        options: agreed.iter().filter(|(_, both)| *both).map(|(name, _)| (*name).to_owned()).collect(),
        untold_options: Some(Vec::new()),
        sender: made.room(),
        receiver: Room::get(&receiver),
    })
}
