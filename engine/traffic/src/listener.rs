//! A flow on its receiver's side, which accepts the flow's connections and serves each.

use crate::cookie::Purpose;
use crate::error::{Context, Error, Result};
use crate::platform;
use crate::protocol::{Connection, Room, Side};
use crate::{datagram, exchange, file_transfer, packets, sweep, tcp, tool, transfer};
use nettrial_scenario::Fault;
use nettrial_scenario::{Traffic, Transport};
use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The most connections that may wait to be accepted.
const BACKLOG: i32 = 128;
/// The number of threads that wait for connections, so that a connection is served without starting a thread.
const WAITING: usize = 2;
/// The most connections that are served at a time; further ones wait to be accepted.
const MOST_SERVED: usize = 1024;
/// The most connections that have not shown the cookie yet; for a further one, the oldest is closed.
const MOST_UNSHOWN: usize = 64;
/// The wait after a connection could not be accepted, for lack of descriptors or memory.
const RECOVERY: Duration = Duration::from_millis(100);

/// Opens a port for the flow of `side` and serves it from threads of its own until the agent ends.
pub fn listen(side: Side) -> Result<u16> {
    if let Some(settings) = tool::of(&side.flow) {
        return tool::listen(&side, settings);
    }
    if side.flow.transport == Transport::Udp && !matches!(side.flow.traffic, Traffic::Packets(_)) {
        return datagram::listen(side, serve_datagrams);
    }
    let listener = tcp::listen(&side, BACKLOG)?;
    let port = listener.local_addr()?.port();
    let (waiting, all) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let pool = Arc::new(Pool { listener, side, waiting, all, unshown: Mutex::default() });
    for _ in 0..WAITING {
        pool.join();
    }
    Ok(port)
}

/// The threads of a port. Each accepts a connection and serves it. If no other thread waits for connections then,
/// it starts one first.
struct Pool {
    listener: TcpListener,
    side: Side,
    waiting: AtomicUsize,
    all: AtomicUsize,
    /// Connections that have not shown the cookie yet, the oldest first.
    unshown: Mutex<VecDeque<Arc<TcpStream>>>,
}

impl Pool {
    fn join(self: &Arc<Self>) {
        self.waiting.fetch_add(1, Ordering::SeqCst);
        self.all.fetch_add(1, Ordering::SeqCst);
        let pool = Arc::clone(self);
        std::thread::spawn(move || {
            pool.work();
            pool.all.fetch_sub(1, Ordering::SeqCst);
        });
    }

    fn work(self: &Arc<Self>) {
        loop {
            let stream = match self.listener.accept() {
                Ok((stream, _)) => Arc::new(stream),
                // The connection is gone already.
                Err(error) if error.kind() == ErrorKind::ConnectionAborted => continue,
                Err(_) => {
                    std::thread::sleep(RECOVERY);
                    continue;
                }
            };
            let last = self.waiting.fetch_sub(1, Ordering::SeqCst) == 1;
            if last && self.all.load(Ordering::SeqCst) < MOST_SERVED {
                self.join();
            }
            // The sender, which waits for an answer, reports a connection that fails.
            let admitted = tcp::bound_window(&stream, &self.side).and_then(|()| self.admit(&stream));
            if let Err(error) = admitted.and_then(|purpose| serve(&stream, &self.side, purpose)) {
                eprintln!("flow {:?}: {}", self.side.flow.name, error.in_words());
            }
            drop(stream);
            if self.waiting.load(Ordering::SeqCst) >= WAITING {
                return;
            }
            self.waiting.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Waits until `stream` has shown the trial's cookie. Strangers can open connections, so a connection that
    /// shows nothing is closed when its time is over, or when many others have come after it.
    fn admit(&self, stream: &Arc<TcpStream>) -> Result<Purpose> {
        let unshown = || self.unshown.lock().unwrap_or_else(PoisonError::into_inner);
        let oldest = {
            let mut unshown = unshown();
            unshown.push_back(Arc::clone(stream));
            if unshown.len() > MOST_UNSHOWN { unshown.pop_front() } else { None }
        };
        if let Some(oldest) = oldest {
            // The thread that reads from the connection finds its end. An error means that it is closed already.
            let _ = oldest.shutdown(Shutdown::Both);
        }
        tcp::bound_waits(stream, self.side.patience())?;
        let deadline = Instant::now() + self.side.patience();
        let purpose = self.side.cookie.admit(&mut Until { stream, deadline });
        unshown().retain(|other| !Arc::ptr_eq(other, stream));
        purpose.context("a connection was refused")
    }
}

/// Reads from a connection until a deadline, however little arrives at a time.
struct Until<'a> {
    stream: &'a TcpStream,
    deadline: Instant,
}

impl Read for Until<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::Error::new(ErrorKind::TimedOut, "nothing came in time"));
        }
        self.stream.set_read_timeout(Some(left))?;
        self.stream.read(buffer)
    }
}

fn serve(mut stream: &TcpStream, side: &Side, purpose: Purpose) -> Result<()> {
    match purpose {
        Purpose::Inspect => {
            // The answer also tells the inspector that the connection is established on both sides.
            stream.write_all(&room(stream)?.put())?;
            Ok(())
        }
        Purpose::Traffic => {
            tcp::bound_waits(stream, side.patience())?;
            match &side.flow.traffic {
                Traffic::Transfer(_) => transfer::receive(stream, side),
                Traffic::FileTransfer(_) => file_transfer::receive(stream, side),
                Traffic::RequestResponse(settings) => exchange::respond_to_stream(stream, side, settings),
                Traffic::Sweep(settings) => sweep::respond_to_stream(stream, side, settings),
                Traffic::Packets(settings) => packets::receive(stream, side, settings),
                other @ Traffic::Tool(_) => {
                    Err(Error::Unsupported(format!("traffic of the kind {} is not carried", other.kind())))
                }
            }
        }
    }
}

fn serve_datagrams(socket: &UdpSocket, side: &Side) -> Result<()> {
    match &side.flow.traffic {
        Traffic::RequestResponse(settings) => exchange::respond_to_datagrams(socket, side, settings),
        Traffic::Sweep(settings) => sweep::respond_to_datagrams(socket, side, settings),
        other => {
            Err(Error::Unsupported(format!("traffic of the kind {} is not carried over UDP", other.kind())))
        }
    }
}

/// Opens a connection of the flow, inspects it and closes it. A file that the flow will send must exist.
pub fn inspect(side: &Side, destination: SocketAddr) -> Result<Connection> {
    if let Traffic::FileTransfer(transfer) = &side.flow.traffic {
        file_transfer::open(transfer)?;
    }
    let (mut stream, _) = tcp::connect(side, destination, Purpose::Inspect)?;
    let mut receiver = [0; Room::BYTES];
    stream.read_exact(&mut receiver).context("waiting for the receiver")?;
    let state = platform::tcp_state(&stream).context("reading the state of a connection")?;
    let names = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect();
    Ok(Connection {
        mss_bytes: state.map(|state| state.mss_bytes),
        congestion_control: platform::congestion_control(&stream).context("reading TCP_CONGESTION")?,
        options: names(state.map_or_else(Vec::new, |state| state.option_names())),
        untold_options: state.map(|state| names(state.untold_option_names())),
        sender: room(&stream)?,
        receiver: Room::get(&receiver),
    })
}

/// Returns the buffers and the window of a connection on this side.
fn room(stream: &TcpStream) -> Result<Room> {
    let state = platform::tcp_state(stream).context("reading the state of a connection")?;
    let room = platform::room(stream).context("reading the sizes of a socket's buffers")?;
    Ok(Room { window_scale: state.and_then(|state| state.window_scale), ..room })
}
