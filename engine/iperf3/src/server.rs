//! The server. A connection with a new cookie begins a test; connections with a known cookie are streams of its
//! test.

use crate::message::{Cookie, State};
use crate::running_tests::{Bounds, Refused, RunningTests};
use crate::session::{self, Session};
use crate::shared::Shared;
use crate::udp_port::UdpPort;
use nettrial_admission::{Limits, Log, Visitor, bind, raise_descriptor_limit, receive};
use nettrial_scenario::HostAddress;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// iperf3's port.
pub const PORT: u16 = 5201;
/// The time that a caller may take to show a cookie.
const COOKIE_PATIENCE: Duration = Duration::from_secs(5);
/// The most connections at a time that have not sent a cookie yet. One test of 128 streams in both directions
/// quickly opens 256.
const LIMITS: Limits = Limits { pending: 1024, pending_each: 320 };

/// Serves iperf3 clients until the process ends, at `address`, or at every address if none is given. `ready` is
/// called with the address once the ports are open.
///
/// # Errors
/// Fails if the ports cannot be opened.
pub fn serve(address: Option<HostAddress>, port: u16, ready: impl FnOnce(SocketAddr)) -> io::Result<()> {
    let descriptors = raise_descriptor_limit();
    let listener = bind(address.map(|address| address.socket(port)), port)?;
    let server = Arc::new(Shared::open(&listener, Bounds::with_descriptors(descriptors))?);
    // Connections without a cookie take at most a quarter of the descriptors; the rest is for tests and their
    // streams.
    let limits = Limits {
        pending: LIMITS.pending.min(descriptors / 4),
        pending_each: LIMITS.pending_each.min(descriptors / 8),
    };
    ready(listener.local_addr()?);
    server.serve(&listener, limits)
}

impl Shared {
    /// Opens the UDP port with the number of `listener`'s port, and creates the server of both.
    fn open(listener: &TcpListener, bounds: Bounds) -> io::Result<Self> {
        let log = Arc::new(Log::default());
        let udp = UdpPort::open(listener.local_addr()?, Arc::clone(&log))?;
        Ok(Self { tests: RunningTests::new(bounds), udp, log })
    }

    fn serve(self: Arc<Self>, listener: &TcpListener, limits: Limits) -> ! {
        let log = Arc::clone(&self.log);
        receive(listener, limits, &log, move |visitor| {
            let peer = visitor.peer;
            if let Err((kind, detail)) = self.hear(visitor) {
                self.log.line(peer.ip(), kind, &format!("{peer}: {kind}{detail}"));
            }
        })
    }

    fn hear(&self, visitor: Visitor) -> Result<(), (&'static str, String)> {
        let peer = visitor.peer;
        let left = || ("refused: too many connections wait to be heard", String::new());
        let cookie = Cookie::read(&visitor.stream, Instant::now() + COOKIE_PATIENCE)
            .map_err(|error| ("refused: no iperf3 client", format!(": {error}")))?;
        if let Some(streams) = self.tests.test_of(&cookie) {
            let (stream, _, number) = visitor.admit().ok_or_else(left)?;
            return streams
                .give(number, stream)
                .map_err(|_| ("refused: a test has its streams", String::new()));
        }
        let registration = match self.tests.begin(cookie, peer.ip()) {
            Ok(registration) => registration,
            Err(Refused) => {
                let _ = State::AccessDenied.send(&visitor.stream);
                return Err(("refused: too many tests run", String::new()));
            }
        };
        let (stream, peer, _) = visitor.admit().ok_or_else(left)?;
        let session = Session { control: &stream, peer, registration };
        session::run(self, &session).map_err(|error| ("the test ended", format!(": {error}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::send_document;
    use crate::parameters::Parameters;
    use std::io::{Read, Write};
    use std::net::TcpStream;

    const SOON: Duration = Duration::from_secs(300);

    fn serving(bounds: Bounds) -> SocketAddr {
        let listener = bind(Some(([127, 0, 0, 1], 0).into()), 0).unwrap();
        let address = listener.local_addr().unwrap();
        let server = Arc::new(Shared::open(&listener, bounds).unwrap());
        std::thread::spawn(move || server.serve(&listener, LIMITS));
        address
    }

    fn call(address: SocketAddr, cookie: &Cookie) -> TcpStream {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(SOON)).unwrap();
        stream.write_all(&cookie.0).unwrap();
        stream
    }

    /// A test that runs, and its stream.
    fn running(address: SocketAddr, time: u32) -> (TcpStream, TcpStream) {
        let cookie = Cookie::random();
        let control = call(address, &cookie);
        let next = || State::read(&control, Instant::now() + SOON).unwrap();
        assert_eq!(next(), State::ParameterExchange);
        let parameters = Parameters { tcp: true, parallel: 1, time, ..Parameters::default() };
        send_document(&control, &parameters).unwrap();
        assert_eq!(next(), State::CreateStreams);
        let stream = call(address, &cookie);
        assert_eq!((next(), next()), (State::TestStart, State::TestRunning));
        (control, stream)
    }

    fn bounds() -> Bounds {
        Bounds { tests: (2, 2), streams: (8, 8), waiting: SOON, ..Bounds::with_descriptors(1024) }
    }

    #[test]
    fn a_test_gets_no_more_connections_than_it_has_streams() {
        let address = serving(bounds());
        let cookie = Cookie::random();
        let control = call(address, &cookie);
        assert_eq!(State::read(&control, Instant::now() + SOON).unwrap(), State::ParameterExchange);
        // It has said nothing of streams: none is taken.
        assert_eq!(call(address, &cookie).read(&mut [0]).unwrap(), 0);
        let parameters = Parameters { tcp: true, parallel: 2, ..Parameters::default() };
        send_document(&control, &parameters).unwrap();
        let next = || State::read(&control, Instant::now() + SOON).unwrap();
        assert_eq!(next(), State::CreateStreams);
        let _streams = [call(address, &cookie), call(address, &cookie)];
        // The server hears connections side by side, so a further one could be taken for one of these.
        assert_eq!((next(), next()), (State::TestStart, State::TestRunning));
        for _ in 0..20 {
            // The end of the connection, or a reset: it was closed with bytes unread.
            assert!(matches!(call(address, &cookie).read(&mut [0]), Ok(0) | Err(_)));
        }
    }

    #[test]
    fn streams_of_one_address_are_bounded() {
        let address = serving(Bounds { streams: (8, 4), ..bounds() });
        let control = call(address, &Cookie::random());
        assert_eq!(State::read(&control, Instant::now() + SOON).unwrap(), State::ParameterExchange);
        let parameters = Parameters { tcp: true, parallel: 5, ..Parameters::default() };
        send_document(&control, &parameters).unwrap();
        assert_eq!(State::read(&control, Instant::now() + SOON).unwrap(), State::AccessDenied);
    }

    #[test]
    fn who_sends_a_byte_now_and_then_loses_the_seat() {
        let address = serving(Bounds { silence: Duration::from_millis(500), ..bounds() });
        let (control, mut stream) = running(address, 0);
        let dripping = std::thread::spawn(move || {
            while stream.write_all(b"x").is_ok() {
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        assert_eq!(State::read(&control, Instant::now() + SOON).unwrap(), State::ServerTerminate);
        dripping.join().unwrap();
    }

    #[test]
    fn a_test_without_a_time_ends() {
        let address = serving(Bounds { untimed: Duration::from_millis(300), ..bounds() });
        let (control, mut stream) = running(address, 0);
        let sending = std::thread::spawn(move || while stream.write_all(&[0; 1000]).is_ok() {});
        assert_eq!(State::read(&control, Instant::now() + SOON).unwrap(), State::ServerTerminate);
        sending.join().unwrap();
    }

    #[test]
    fn a_test_that_has_had_its_time_gives_its_seat_to_who_waits() {
        let address = serving(Bounds { tests: (2, 3), owed: Duration::ZERO, ..bounds() });
        let (first, _stream) = running(address, 3600);
        let (second, _other) = running(address, 3600);
        let (_third, _more) = running(address, 1);
        assert_eq!(State::read(&first, Instant::now() + SOON).unwrap(), State::ServerTerminate);
        second.set_nonblocking(true).unwrap();
        assert!((&second).read(&mut [0]).is_err(), "one made room");
    }

    #[test]
    fn a_test_that_is_owed_time_keeps_its_seat() {
        let address = serving(Bounds { tests: (1, 3), waiting: Duration::from_millis(500), ..bounds() });
        let _running = running(address, 3600);
        let control = call(address, &Cookie::random());
        assert_eq!(State::read(&control, Instant::now() + SOON).unwrap(), State::AccessDenied);
    }
}
