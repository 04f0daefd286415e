//! A flow from its receiver's side: accepts the flow's connections and serves each.

use crate::cookie::Purpose;
use crate::protocol::{Connection, Side};
use crate::tcp_info::TcpInfo;
use crate::{datagram, exchange, file_transfer, packets, sweep, tcp, tool, transfer};
use anyhow::{Context, Result, bail};
use nettrial_scenario::{Traffic, Transport};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Connections that may wait to be accepted.
const BACKLOG: i32 = 128;
/// Threads that wait for connections, so that one is served without a thread's being started for it.
const WAITING: usize = 2;
/// Connections that are served at a time; more wait to be accepted.
const MOST_SERVED: usize = 1024;
/// How long a connection may take to show the cookie.
const OPENING: Duration = Duration::from_secs(20);

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
    let crew = Arc::new(Crew { listener, side, waiting: AtomicUsize::new(0), all: AtomicUsize::new(0) });
    for _ in 0..WAITING {
        crew.join();
    }
    Ok(port)
}

/// The threads of a port. Each accepts a connection and serves it; whoever leaves none waiting behind
/// sends for another first.
struct Crew {
    listener: TcpListener,
    side: Side,
    waiting: AtomicUsize,
    all: AtomicUsize,
}

impl Crew {
    fn join(self: &Arc<Self>) {
        self.waiting.fetch_add(1, Ordering::SeqCst);
        self.all.fetch_add(1, Ordering::SeqCst);
        let crew = Arc::clone(self);
        std::thread::spawn(move || {
            crew.work();
            crew.all.fetch_sub(1, Ordering::SeqCst);
        });
    }

    fn work(self: &Arc<Self>) {
        loop {
            let Ok((stream, _)) = self.listener.accept() else { continue };
            let last = self.waiting.fetch_sub(1, Ordering::SeqCst) == 1;
            if last && self.all.load(Ordering::SeqCst) < MOST_SERVED {
                self.join();
            }
            // A connection that fails is the sender's to report: it waits for an answer.
            if let Err(error) = serve(&stream, &self.side) {
                eprintln!("flow {:?}: {error:#}", self.side.flow.name);
            }
            drop(stream);
            if self.waiting.load(Ordering::SeqCst) >= WAITING {
                return;
            }
            self.waiting.fetch_add(1, Ordering::SeqCst);
        }
    }
}

fn serve(mut stream: &TcpStream, side: &Side) -> Result<()> {
    tcp::bound_waits(stream, OPENING)?;
    match side.cookie.admit(&mut stream).context("a connection was refused")? {
        Purpose::Inspect => {
            // One byte back: the inspector then knows that the connection is established on both sides.
            stream.write_all(&[1])?;
            Ok(())
        }
        Purpose::Traffic => {
            tcp::bound_waits(stream, tcp::PATIENCE)?;
            match &side.flow.traffic {
                Traffic::Transfer(_) => transfer::receive(stream, side),
                Traffic::FileTransfer(_) => file_transfer::receive(stream, side),
                Traffic::RequestResponse(settings) => exchange::respond_to_stream(stream, side, settings),
                Traffic::Sweep(settings) => sweep::respond_to_stream(stream, side, settings),
                Traffic::Packets(settings) => packets::receive(stream, side, settings),
                other @ Traffic::Tool(_) => bail!("traffic of the kind {} is not carried", other.kind()),
            }
        }
    }
}

fn serve_datagrams(socket: &UdpSocket, side: &Side) -> Result<()> {
    match &side.flow.traffic {
        Traffic::RequestResponse(settings) => exchange::respond_to_datagrams(socket, side, settings),
        Traffic::Sweep(settings) => sweep::respond_to_datagrams(socket, side, settings),
        other => bail!("traffic of the kind {} is not carried over UDP", other.kind()),
    }
}

/// Opens a connection of the flow, looks at it and closes it. A file that the flow is to send must be
/// there.
pub fn inspect(side: &Side, destination: SocketAddr) -> Result<Connection> {
    if let Traffic::FileTransfer(transfer) = &side.flow.traffic {
        file_transfer::open(transfer)?;
    }
    let (mut stream, _) = tcp::connect(side, destination, Purpose::Inspect)?;
    stream.read_exact(&mut [0]).context("waiting for the receiver")?;
    let info = TcpInfo::of(&stream)?;
    Ok(Connection {
        mss_bytes: info.snd_mss,
        congestion_control: tcp::congestion_control(&stream)?,
        options: info.option_names().into_iter().map(str::to_owned).collect(),
    })
}
