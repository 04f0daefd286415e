//! Packets over UDP, each a datagram.
//!
//! A TCP connection that shows the trial's cookie accompanies them. Over it the receiver names the port of a new
//! socket. The sender greets that port with a datagram that holds the cookie, and the receiver connects the socket
//! to the greeting's source, so that the kernel drops datagrams of others. The receiver confirms this with one
//! byte. At the end the sender reports the number of packets that it sent and that its kernel refused, and the
//! receiver answers with its figures, one line of JSON.

use super::batch::Batch;
use super::header::{Header, tag};
use super::read_received;
use super::sender::{self, Carrier, PACED_TOGETHER, Path, Sampling, Sent};
use crate::cookie::{COOKIE_BYTES, Purpose};
use crate::datagram;
use crate::error::{Context, Error, Result};
use crate::platform::{self, Inbox, Outbox};
use crate::protocol::Side;
use crate::tcp;
use nettrial_flows::arrivals::{Arrivals, Received};
use nettrial_flows::departures::Departures;
use nettrial_flows::wire::UDP_HEADER_BYTES;
use nettrial_scenario::IpVersion;
use socket2::SockRef;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// The most packets handed to the kernel with one call.
pub const TOGETHER: usize = 64;
/// The most packets handed over with one call if the kernel segments GSO packets.
const GSO_DATAGRAMS_TOGETHER: usize = 256;
/// The time from one greeting to the next.
pub const GREETING_WAIT: Duration = Duration::from_millis(100);

/// Sends the flow's packets of up to `largest` bytes, and returns both hosts' figures.
pub fn send(
    side: &Side,
    schedule: &mut Departures,
    largest: usize,
    destination: SocketAddr,
    sampling: Sampling,
) -> Result<(Sent, Received)> {
    let (mut control, _) = tcp::connect(side, destination, Purpose::Traffic)?;
    let mut port = [0; 2];
    control.read_exact(&mut port).context("waiting for the receiver's port")?;
    let socket =
        UdpSocket::bind(side.address.socket(0)).with_context(|| format!("binding to {}", side.address))?;
    tcp::mark(&SockRef::from(&socket), side)?;
    datagram::choose_buffers(&socket, side)?;
    let mut target = destination;
    target.set_port(u16::from_be_bytes(port));
    socket.connect(target).with_context(|| format!("choosing {target}"))?;
    // A kernel that accepts nothing for this long refuses the packet.
    socket.set_write_timeout(Some(side.patience())).context("bounding the wait for the kernel")?;
    greet(&socket, &mut control, side, largest)?;

    let mtu = platform::path_mtu(&socket).context("reading the path MTU (IP_MTU)")?;
    let version = IpVersion::of(destination.ip());
    let (together, segment_limit) = if side.flow.socket.udp_gso {
        Outbox::verify_gso(&socket)?;
        let headers = version.header_bytes() + UDP_HEADER_BYTES;
        (GSO_DATAGRAMS_TOGETHER, usize::try_from(mtu.unwrap_or(0).saturating_sub(headers))?)
    } else {
        (TOGETHER, 0)
    };
    let mut batch = Batch::new(together, largest, tag(&side.cookie));
    let mut outbox = Outbox::new(&socket, together, segment_limit);
    let path = mtu.map(|mtu| Path { mtu, version });
    let sent = sender::send(schedule, &mut batch, &mut outbox, sampling, path)?;

    let counts = [sent.packets.to_be_bytes(), sent.refused.to_be_bytes()].concat();
    control.write_all(&counts).context("telling the receiver the end")?;
    Ok((sent, read_received(&control)?))
}

/// Greets the receiver until it is ready. Of each pair of greetings the first is as large as any packet,
/// so that a router on the way with a smaller MTU says so before the traffic.
fn greet(socket: &UdpSocket, control: &mut TcpStream, side: &Side, largest: usize) -> Result<()> {
    let mut greeting = vec![0; largest.max(COOKIE_BYTES)];
    greeting[..COOKIE_BYTES].copy_from_slice(&side.cookie.0);
    control.set_read_timeout(Some(GREETING_WAIT))?;
    let begin = Instant::now();
    let ready = loop {
        // Greetings that are lost or refused are repeated.
        let _ = socket.send(&greeting);
        let _ = socket.send(&greeting[..COOKIE_BYTES]);
        match control.read_exact(&mut [0]) {
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                if begin.elapsed() > side.patience() {
                    return Err(Error::TimedOut(format!(
                        "no UDP datagram reached the receiver within {} s",
                        side.patience().as_secs()
                    )));
                }
            }
            other => break other,
        }
    };
    ready.context("waiting for the receiver to be ready")?;
    tcp::bound_waits(control, side.patience())
}

impl Carrier for Outbox<'_> {
    fn hand_over(&mut self, batch: &mut Batch) -> Result<u64> {
        self.send(batch)
    }

    fn paced_together(&self) -> usize {
        self.packets_as_one().unwrap_or(PACED_TOGETHER)
    }
}

/// Receives the packets of a flow whose control connection was admitted.
pub fn receive(control: &TcpStream, side: &Side, largest: usize) -> Result<()> {
    let mut answer = control;
    let socket =
        UdpSocket::bind(side.address.socket(0)).with_context(|| format!("binding to {}", side.address))?;
    let options = &side.flow.socket;
    let busy_poll = options.busy_poll.map(nettrial_scenario::Duration::as_std);
    Inbox::set_up(&socket, options.udp_gro, busy_poll)?;
    datagram::choose_buffers(&socket, side)?;
    answer.write_all(&socket.local_addr()?.port().to_be_bytes()).context("telling the port")?;
    admit(&socket, side)?;
    answer.write_all(&[1]).context("telling the sender to start")?;
    // The sender may be silent for as long as the flow lasts.
    control.set_read_timeout(None)?;

    let end = OnceLock::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut counts = [0; 16];
            // If the sender is gone, nobody asks for the figures.
            let mut told = control;
            let told = told.read_exact(&mut counts).ok().map(|()| {
                let number = |at: usize| u64::from_be_bytes(std::array::from_fn(|index| counts[at + index]));
                (number(0), number(8))
            });
            end.get_or_init(|| told);
        });
        let mut inbox = Inbox::new(largest, options.udp_gro, busy_poll.unwrap_or_default());
        let gathered = gather(&socket, &mut inbox, side, &end);
        match gathered {
            Ok(Some(figures)) => {
                let line = serde_json::to_string(&figures)?;
                answer.write_all(line.as_bytes()).context("telling the figures")?;
                control.shutdown(std::net::Shutdown::Write).context("ending the figures")
            }
            other => {
                // The thread above may still wait for the sender.
                let _ = control.shutdown(std::net::Shutdown::Both);
                other.map(|_| ())
            }
        }
    })
}

/// Waits for a greeting with the cookie of `side` and connects the socket to its sender. Earlier datagrams of others are
/// discarded.
fn admit(socket: &UdpSocket, side: &Side) -> Result<()> {
    let begin = Instant::now();
    let mut greeting = [0; COOKIE_BYTES];
    while begin.elapsed() < side.patience() {
        let Ok((length, from)) = socket.recv_from(&mut greeting) else { continue };
        if length == COOKIE_BYTES && greeting == side.cookie.0 {
            socket.connect(from).context("admitting the sender")?;
            socket.set_nonblocking(true)?;
            // On Windows a datagram longer than the buffer is an error, and is discarded, too.
            while socket.recv(&mut greeting).map_or_else(|error| platform::is_too_large(&error), |_| true) {}
            socket.set_nonblocking(false)?;
            return Ok(());
        }
    }
    Err(Error::TimedOut(format!(
        "no UDP datagram with this trial's cookie came within {} s",
        side.patience().as_secs()
    )))
}

/// Receives packets until all packets sent have arrived, or no more arrive after the sender has finished; `None`
/// if the sender is gone.
fn gather(
    socket: &UdpSocket,
    inbox: &mut Inbox,
    side: &Side,
    end: &OnceLock<Option<(u64, u64)>>,
) -> Result<Option<Received>> {
    let (tag, quiet) = (tag(&side.cookie), side.waits().quiet().as_std());
    let mut arrivals = Arrivals::new(side.ahead_ns());
    let mut silent_since = None;
    loop {
        // The end is checked first, so that packets that arrived before it are in the inbox or in the figures.
        let ended = end.get().copied();
        if inbox.receive(socket)? > 0 || ended.is_none() {
            silent_since = None;
        }
        for (arrival_ns, datagram) in inbox.datagrams() {
            // A datagram whose length differs from its header does not belong to the flow.
            let header = Header::read(datagram, tag);
            if let Some(header) = header.filter(|header| header.length as usize == datagram.len()) {
                arrivals.packet(header.packet(), arrival_ns);
            }
        }
        match ended {
            Some(None) => return Ok(None),
            Some(Some((sent, refused))) => {
                let silence = silent_since.get_or_insert_with(Instant::now).elapsed();
                if arrivals.received() >= sent || silence >= quiet {
                    return Ok(Some(arrivals.figures(sent, refused)));
                }
            }
            None => {}
        }
    }
}
