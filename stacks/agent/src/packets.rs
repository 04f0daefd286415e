//! Packets by schedule over TCP and UDP, with the bytes of `engine/traffic/src/packets`.
//!
//! A packet departs when it is given to the stack, and a datagram arrives when the stack gives it to this agent: the delay of
//! a packet includes the time that the stack takes at both ends.

use crate::Context;
use crate::connection::Connection;
use crate::datagram::{Arrival, LONG, Socket};
use crate::host::Host;
use crate::stack::Stack;
use crate::transfer::close;
use nettrial_flows::arrivals::{Arrivals, Received};
use nettrial_flows::departures::Departures;
use nettrial_scenario::{FlowRecord, Packets, Transport};
use nettrial_traffic::parts::packets::{
    Batch, Carrier, Datagrams, GREETING_WAIT, Header, MESSAGES_TOGETHER, Parser, READ_BYTES, Sampling,
    TOGETHER, largest_packet, read_received, record, send_due, tag, verify,
};
use nettrial_traffic::parts::{COOKIE_BYTES, Figures, Samples};
use nettrial_traffic::{Error, Result, Side, now_ns};
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

/// Sends the flow's packets, and returns its record. Intervals of `period_ns` count from `origin`.
pub fn send<S: Stack>(
    host: &Arc<Host<S>>,
    side: &Side,
    packets: &Packets,
    destination: SocketAddr,
    origin: Instant,
    period_ns: u64,
) -> Result<FlowRecord> {
    let mut schedule = Departures::new(packets)?;
    let largest = largest_packet(packets)?;
    let (mut figures, mut samples) = (Figures::default(), Samples::default());
    if side.flow.transport == Transport::Udp {
        let sampling = Sampling::new(origin, period_ns)?;
        let (control, _) = Connection::shown(host, side, destination)?;
        let socket = greeted(&control, side, destination, largest)?;
        let mut batch = Batch::new(TOGETHER, largest, tag(&side.cookie));
        let mut sent = send_due(&mut schedule, &mut batch, &mut &socket, sampling, None)?;
        let counts = [sent.packets.to_be_bytes(), sent.refused.to_be_bytes()].concat();
        control.write_all(&counts).context("telling the receiver the end")?;
        let received = read_received(&control)?;
        sent.weight = Some(socket.weight());
        samples.intervals = std::mem::take(&mut sent.intervals);
        return Ok(record(side, figures, samples, &sent, &received, origin));
    }
    let made = Connection::carry(host, side, destination, &mut figures)?;
    let mut batch = Batch::new(MESSAGES_TOGETHER, largest, tag(&side.cookie));
    let sent = send_due(&mut schedule, &mut batch, &mut &made, Sampling::NONE, None)?;
    made.finish();
    let received = read_received(&made)?;
    verify(sent.packets, &received)?;
    close(made, &mut samples);
    Ok(record(side, figures, samples, &sent, &received, origin))
}

/// Opens the socket of a flow over UDP, to the port that the receiver tells over `control`, and greets the receiver until it is
/// ready. Of each pair of greetings the first is as large as any packet.
fn greeted<S: Stack>(
    control: &Connection<S>,
    side: &Side,
    destination: SocketAddr,
    largest: usize,
) -> Result<Socket<S>> {
    let mut port = [0; 2];
    control.read_exact(&mut port).context("waiting for the receiver's port")?;
    let mut socket = Socket::bind(control.host(), side.address.ip)?;
    let target = SocketAddr::new(destination.ip(), u16::from_be_bytes(port));
    socket.choose(target);
    let mut greeting = vec![0; largest.max(COOKIE_BYTES)];
    greeting[..COOKIE_BYTES].copy_from_slice(&side.cookie.0);
    let deadline = Instant::now() + side.patience();
    loop {
        // Greetings that are lost or refused are repeated.
        let _ = socket.send(&greeting);
        let _ = socket.send(&greeting[..COOKIE_BYTES]);
        match control.read_until(&mut [0], Instant::now() + GREETING_WAIT) {
            Ok(0) => return Err(Error::Peer("the receiver closed the connection".into())),
            Ok(_) => break,
            Err(error) if error.kind() != ErrorKind::TimedOut => {
                return Err(error).context("waiting for the receiver to be ready");
            }
            Err(_) if Instant::now() >= deadline => {
                return Err(Error::TimedOut(format!(
                    "no UDP datagram reached the receiver within {} s",
                    side.patience().as_secs()
                )));
            }
            Err(_) => {}
        }
    }
    // The greetings are no packets of the flow, whose bytes are counted from here.
    socket.choose(target);
    Ok(socket)
}

impl<S: Stack> Carrier for &Connection<S> {
    fn hand_over(&mut self, batch: &mut Batch) -> Result<u64> {
        self.write_all(batch.bytes()).context("sending messages")?;
        Ok(0)
    }
}

impl<S: Stack> Carrier for &Socket<S> {
    fn hand_over(&mut self, batch: &mut Batch) -> Result<u64> {
        let (mut kept, mut refused) = (0, 0);
        while let Some(packet) = batch.packets().get(kept).copied() {
            match self.send(&batch.bytes()[packet.offset..packet.offset + packet.size]) {
                Ok(()) => kept += 1,
                // The stack had no room for too long.
                Err(error) if error.kind() == ErrorKind::TimedOut => {
                    batch.refuse(kept, 1);
                    refused += 1;
                }
                Err(error) => {
                    return Err(error).context(&format!("sending a datagram of {} bytes", packet.size));
                }
            }
        }
        Ok(refused)
    }
}

/// Receives the packets of a connection that was admitted.
pub fn receive<S: Stack>(made: &Connection<S>, side: &Side, packets: &Packets) -> Result<()> {
    let largest = largest_packet(packets)?;
    if side.flow.transport != Transport::Udp {
        return receive_messages(made, side, largest);
    }
    let mut socket = Socket::bind(made.host(), side.address.ip)?;
    made.write_all(&socket.port.to_be_bytes()).context("telling the port")?;
    admit(&mut socket, side)?;
    made.write_all(&[1]).context("telling the sender to start")?;
    match gather(&socket, made, side, largest) {
        Some(received) => tell(made, &received),
        None => Ok(()),
    }
}

/// Waits for a greeting with the cookie of `side`, and chooses its sender.
fn admit<S: Stack>(socket: &mut Socket<S>, side: &Side) -> Result<()> {
    let deadline = Instant::now() + side.patience();
    let mut greeting = [0; COOKIE_BYTES];
    while let Some(left) = deadline.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) {
        if let Some((COOKIE_BYTES, from)) = socket.receive_from(&mut greeting, left)
            && greeting == side.cookie.0
        {
            socket.choose(from);
            return Ok(());
        }
    }
    Err(Error::TimedOut(format!(
        "no UDP datagram with this trial's cookie came within {} s",
        side.patience().as_secs()
    )))
}

/// Receives packets until all packets sent have arrived, or no more arrive after the sender has told their number over
/// `control`; `None` if the sender is gone.
fn gather<S: Stack>(
    socket: &Socket<S>,
    control: &Connection<S>,
    side: &Side,
    largest: usize,
) -> Option<Received> {
    let (tag, quiet) = (tag(&side.cookie), side.waits().quiet().as_std());
    let mut arrivals = Arrivals::new(side.ahead_ns());
    let mut datagram = vec![0; largest];
    let (mut counts, mut told) = ([0; 16], 0);
    loop {
        // The sender may be silent for as long as the flow lasts.
        let limit = if told < counts.len() { LONG } else { quiet };
        let arrived = socket.receive_or_read(&mut datagram, control, &mut counts[told..], limit);
        let arrival_ns = now_ns();
        match arrived {
            Some(Arrival::Datagram(length)) => {
                // A datagram whose length differs from its header does not belong to the flow.
                let header = Header::read(&datagram[..length], tag);
                if let Some(header) = header.filter(|header| header.length as usize == length) {
                    arrivals.packet(header.packet(), arrival_ns);
                }
            }
            Some(Arrival::Told(Ok(0) | Err(_))) => return None,
            Some(Arrival::Told(Ok(count))) => told += count,
            None => {}
        }
        let (numbers, _) = counts.as_chunks::<8>();
        let [sent, refused] = [0, 1].map(|index: usize| u64::from_be_bytes(numbers[index]));
        let is_told = told == counts.len();
        if is_told && (arrived.is_none() || arrivals.received() >= sent) {
            return Some(arrivals.figures(sent, refused));
        }
    }
}

/// Receives the messages of a connection until its end.
fn receive_messages<S: Stack>(made: &Connection<S>, side: &Side, largest: usize) -> Result<()> {
    let mut parser = Parser::new(tag(&side.cookie), largest);
    let mut arrivals = Arrivals::new(side.ahead_ns());
    let mut bytes = vec![0; READ_BYTES];
    loop {
        // The sender may be silent for the time of its gaps.
        match made.read_until(&mut bytes, Instant::now() + LONG) {
            Ok(0) => break,
            Ok(count) => {
                let arrival_ns = now_ns();
                parser.take(&bytes[..count], |header| arrivals.packet(header.packet(), arrival_ns))?;
            }
            Err(error) if error.kind() == ErrorKind::TimedOut => {}
            Err(error) => return Err(error).context("receiving messages"),
        }
    }
    tell(made, &arrivals.figures(arrivals.received(), 0))
}

/// Tells the sender the receiver's figures.
fn tell<S: Stack>(made: &Connection<S>, received: &Received) -> Result<()> {
    let line = serde_json::to_string(received)?;
    made.write_all(line.as_bytes()).context("telling the figures")?;
    made.finish();
    Ok(())
}

#[cfg(test)]
mod tests;
