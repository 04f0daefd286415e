//! UDP sockets, and the handshake that gives each sender a socket of its own at the receiver.
//!
//! The sender shows the trial's cookie in a datagram to the flow's port. The answer is the cookie and another
//! port, whose socket takes datagrams from this sender alone. All other datagrams are dropped.

use crate::cookie::{COOKIE_BYTES, OPENING_BYTES, Purpose};
use crate::error::{Context, Error, Result};
use crate::platform;
use crate::protocol::Side;
use nettrial_scenario::Fault;
use std::collections::HashMap;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The size of a buffer for the largest datagram's payload, with room to notice a larger one.
pub const LARGEST_BYTES: usize = 1 << 16;
/// Bytes of the answer to an opening: cookie and port.
pub const ANSWER_BYTES: usize = COOKIE_BYTES + 2;
/// The most senders that are served at a time.
pub const MOST_SESSIONS: usize = 1024;
/// The size of a socket's buffers, bytes, as far as the system allows it.
const BUFFER_BYTES: i32 = 4 << 20;
/// The time that the answer to an opening may take before the opening is retransmitted, for each attempt, in
/// addition to two round-trip times. The address of a neighbour may have to be resolved again a second later (RFC
/// 4861 section 10).
pub const WAITS: &[Duration] = &[
    Duration::from_millis(50),
    Duration::from_millis(200),
    Duration::from_millis(800),
    Duration::from_secs(2),
    Duration::from_secs(4),
];

/// Opens a port for the flow of `side`. `serve` is called with a socket for each sender that shows the cookie, on
/// a thread of its own.
pub fn listen(side: Side, serve: fn(&UdpSocket, &Side) -> Result<()>) -> Result<u16> {
    let socket = bind(&side)?;
    let port = socket.local_addr()?.port();
    std::thread::spawn(move || {
        let sessions: Arc<Mutex<HashMap<SocketAddr, u16>>> = Arc::default();
        let mut opening = [0; OPENING_BYTES + 1];
        loop {
            // An error is an ICMP message about an answer, whose sender is gone.
            let Ok((length, sender)) = socket.recv_from(&mut opening) else { continue };
            if !matches!(side.cookie.admit(&mut &opening[..length]), Ok(Purpose::Traffic))
                || length != OPENING_BYTES
            {
                continue;
            }
            match session(&side, sender, &sessions, serve) {
                Ok(port) => {
                    let mut answer = [0; ANSWER_BYTES];
                    answer[..COOKIE_BYTES].copy_from_slice(&side.cookie.0);
                    answer[COOKIE_BYTES..].copy_from_slice(&port.to_be_bytes());
                    // The sender asks again for an answer that is lost.
                    let _ = socket.send_to(&answer, sender);
                }
                Err(error) => eprintln!("flow {:?}: {}", side.flow.name, error.in_words()),
            }
        }
    });
    Ok(port)
}

/// Returns the port of the socket that serves `sender`, which is opened if there is none yet.
fn session(
    side: &Side,
    sender: SocketAddr,
    sessions: &Arc<Mutex<HashMap<SocketAddr, u16>>>,
    serve: fn(&UdpSocket, &Side) -> Result<()>,
) -> Result<u16> {
    let mut known = sessions.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(port) = known.get(&sender) {
        return Ok(*port);
    }
    if known.len() >= MOST_SESSIONS {
        return Err(Error::Busy(format!("{MOST_SESSIONS} senders are served already")));
    }
    let socket = bind(side)?;
    socket.connect(sender).with_context(|| format!("choosing {sender}"))?;
    let port = socket.local_addr()?.port();
    known.insert(sender, port);
    let (side, sessions) = (side.clone(), Arc::clone(sessions));
    std::thread::spawn(move || {
        if let Err(error) = serve(&socket, &side) {
            eprintln!("flow {:?}: {}", side.flow.name, error.in_words());
        }
        sessions.lock().unwrap_or_else(PoisonError::into_inner).remove(&sender);
    });
    Ok(port)
}

/// Opens a socket of the flow to `destination`, where [`listen`] gave the port.
pub fn connect(side: &Side, destination: SocketAddr) -> Result<UdpSocket> {
    let socket = bind(side)?;
    socket.connect(destination).with_context(|| format!("choosing {destination}"))?;
    let round_trip = side.round_trip.unwrap_or_default().as_std();
    for &wait in WAITS {
        socket.set_read_timeout(Some(wait + round_trip * 2))?;
        let mut answer = [0; ANSWER_BYTES + 1];
        let answered =
            socket.send(&side.cookie.opening(Purpose::Traffic)).and_then(|_| socket.recv(&mut answer));
        match answered {
            Ok(ANSWER_BYTES) if answer[..COOKIE_BYTES] == side.cookie.0 => {
                let port = u16::from_be_bytes([answer[COOKIE_BYTES], answer[COOKIE_BYTES + 1]]);
                let mut destination = destination;
                destination.set_port(port);
                socket.connect(destination).with_context(|| format!("choosing {destination}"))?;
                return Ok(socket);
            }
            // Another datagram arrived, or an error about an earlier one: the opening is retransmitted.
            Ok(_) => {}
            Err(error) if is_passing(&error) => {}
            Err(error) => return Err(error).with_context(|| format!("opening a flow to {destination}")),
        }
    }
    Err(Error::TimedOut(format!(
        "{destination} does not answer: the flow's opening was sent {} times over UDP",
        WAITS.len()
    )))
}

/// Returns true if an error of a socket says nothing about the next datagram.
fn is_passing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock
            | io::ErrorKind::TimedOut
            | io::ErrorKind::Interrupted
            | io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::HostUnreachable
            | io::ErrorKind::NetworkUnreachable
    )
}

fn bind(side: &Side) -> Result<UdpSocket> {
    let socket =
        UdpSocket::bind(side.address.socket(0)).with_context(|| format!("binding to {}", side.address))?;
    platform::enlarge_buffers(&socket, BUFFER_BYTES).context("sizing a socket's buffers")?;
    crate::tcp::mark(&socket2::SockRef::from(&socket), side)?;
    choose_buffers(&socket, side)?;
    Ok(socket)
}

/// Gives a socket the buffers that the flow's options ask for, if there are any.
pub fn choose_buffers(socket: &UdpSocket, side: &Side) -> Result<()> {
    let Some(size) = side.flow.socket.udp_buffer else { return Ok(()) };
    let bytes = i32::try_from(size.0).unwrap_or(i32::MAX);
    platform::enlarge_buffers(socket, bytes)
        .with_context(|| format!("udp_buffer: {size} for a socket's buffers"))
}
