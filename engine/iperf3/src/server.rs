//! The server: callers with a new cookie begin a test, callers with a known one are its streams.

use crate::message::{Cookie, State};
use crate::session::{self, Guest};
use crate::udp_port::UdpPort;
use nettrial_door::{Limits, Log, Seats, Visitor, bind, receive};
use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// iperf3's port.
pub const PORT: u16 = 5201;
/// How long a caller may take to show a cookie.
const COOKIE_PATIENCE: Duration = Duration::from_secs(5);
/// Tests at a time, in all and of one address; more are told that the server is busy.
const TESTS: (usize, usize) = (32, 16);
/// Callers that may be silent at a time. One test of 128 streams both ways opens 256 quickly.
const LIMITS: Limits = Limits { pending: 1024, pending_each: 320 };

/// What all tests share.
pub struct Server {
    /// Where the streams of running tests go.
    tests: Mutex<HashMap<Cookie, Sender<(u64, TcpStream)>>>,
    pub udp: Arc<UdpPort>,
    pub log: Arc<Log>,
}

/// Serves iperf3 clients at `address` (every one, where none is given) for ever, after `ready` was told
/// where.
///
/// # Errors
/// Fails if the ports cannot be opened.
pub fn serve(address: Option<IpAddr>, port: u16, ready: impl FnOnce(SocketAddr)) -> io::Result<()> {
    let listener = bind(address, port)?;
    let here = listener.local_addr()?;
    let log = Arc::new(Log::default());
    let udp = UdpPort::open(here, Arc::clone(&log))?;
    let server = Arc::new(Server { tests: Mutex::default(), udp, log: Arc::clone(&log) });
    let seats = Seats::new(TESTS.0, TESTS.1);
    ready(here);
    receive(&listener, LIMITS, &log, move |visitor| {
        if let Err(error) = server.hear(visitor, &seats) {
            server.log.line(&error);
        }
    })
}

impl Server {
    fn hear(self: &Arc<Self>, visitor: Visitor, seats: &Seats) -> Result<(), String> {
        let peer = visitor.peer;
        let cookie = Cookie::read(&visitor.stream, Instant::now() + COOKIE_PATIENCE)
            .map_err(|error| format!("refused {peer}: no iperf3 client: {error}"))?;
        let (stream, peer, number) = visitor.admit();
        if let Some(test) = self.tests().get(&cookie) {
            // A test that has its streams takes no more.
            let _ = test.send((number, stream));
            return Ok(());
        }
        let Some(_seat) = seats.take(peer.ip()) else {
            let _ = State::AccessDenied.send(&stream);
            return Err(format!("refused {peer}: too many tests run"));
        };
        let (sender, streams) = std::sync::mpsc::channel();
        self.tests().insert(cookie, sender);
        let _listed = Listed { server: self, cookie };
        let guest = Guest { control: &stream, peer, streams };
        session::run(self, &guest).map_err(|error| format!("the test of {peer} ended: {error}"))
    }

    fn tests(&self) -> MutexGuard<'_, HashMap<Cookie, Sender<(u64, TcpStream)>>> {
        self.tests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A test's place in the list; it leaves with the test, however that ends.
struct Listed<'a> {
    server: &'a Server,
    cookie: Cookie,
}

impl Drop for Listed<'_> {
    fn drop(&mut self) {
        self.server.tests().remove(&self.cookie);
    }
}
