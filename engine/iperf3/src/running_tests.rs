//! The running tests, and the bounds of what strangers can take of the server.

use crate::message::Cookie;
use nettrial_admission::{Seat, Seats, network};
use std::collections::HashMap;
use std::net::{IpAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The interval of checking whether a test that has to make room has done so.
const GLANCE: Duration = Duration::from_millis(20);

/// The bounds of what strangers can take of the server.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// The most tests at a time, in all and of one address. Further clients are told that the server is busy.
    pub tests: (usize, usize),
    /// The most streams at a time, in all and of one address.
    pub streams: (usize, usize),
    /// The time for which a test may move less than [`Bounds::progress`], or go on after its time.
    pub silence: Duration,
    /// The least number of bytes that a test has to move in [`Bounds::silence`].
    pub progress: u64,
    /// The longest time of a test that names none.
    pub untimed: Duration,
    /// The time after which a test makes room if all places are taken and another client waits.
    pub owed: Duration,
    /// The time for which a client waits for a test to make room.
    pub waiting: Duration,
}

impl Bounds {
    /// Returns the bounds of a server that may open `descriptors`, of which half are for streams.
    pub fn with_descriptors(descriptors: usize) -> Self {
        let streams = (descriptors / 2).min(4096);
        Self {
            tests: (32, 16),
            streams: (streams, streams / 2),
            silence: Duration::from_secs(30),
            progress: 1000,
            untimed: Duration::from_secs(3600),
            owed: Duration::from_secs(60),
            waiting: Duration::from_secs(2),
        }
    }
}

/// The error that no place is free.
#[derive(Debug)]
pub struct Refused;

/// The tests that run.
pub struct RunningTests {
    pub bounds: Bounds,
    tests: Seats,
    streams: Seats,
    running: Arc<Mutex<HashMap<Cookie, Arc<Test>>>>,
}

/// A running test, as other threads see it.
pub struct Test {
    peer: IpAddr,
    since: Instant,
    /// The number of connections that the test still waits for.
    awaited: AtomicUsize,
    streams: Mutex<Sender<(u64, TcpStream)>>,
    /// Set if another client waits for the test's place.
    must_end: AtomicBool,
}

impl Test {
    /// Gives the test the connection numbered `number`, or returns the connection if the test waits for none.
    pub fn give(&self, number: u64, stream: TcpStream) -> Result<(), TcpStream> {
        let one_less = |awaited: usize| awaited.checked_sub(1);
        if self.awaited.fetch_update(Ordering::AcqRel, Ordering::Acquire, one_less).is_err() {
            return Err(stream);
        }
        let streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        streams.send((number, stream)).map_err(|unsent| unsent.0.1)
    }
}

/// The registration of a running test. Dropping it frees the test's place.
pub struct Registration {
    running: Arc<Mutex<HashMap<Cookie, Arc<Test>>>>,
    cookie: Cookie,
    test: Arc<Test>,
    streams: Receiver<(u64, TcpStream)>,
    _seat: Seat,
}

impl RunningTests {
    /// Creates the state of a server without tests.
    pub fn new(bounds: Bounds) -> Self {
        Self {
            bounds,
            tests: Seats::new(bounds.tests.0, bounds.tests.1),
            streams: Seats::new(bounds.streams.0, bounds.streams.1),
            running: Arc::default(),
        }
    }

    /// Returns the test that has this cookie.
    pub fn test_of(&self, cookie: &Cookie) -> Option<Arc<Test>> {
        lock(&self.running).get(cookie).cloned()
    }

    /// Registers a new test of `peer`, if necessary in the place of a test that has run for longer than
    /// [`Bounds::owed`].
    ///
    /// # Errors
    /// Fails if there is no place, or another test has the same cookie.
    pub fn begin(&self, cookie: Cookie, peer: IpAddr) -> Result<Registration, Refused> {
        let mut seat = self.tests.take(peer);
        if seat.is_none() && !self.tests.has_its_share(peer) && self.ask_for_room() {
            let deadline = Instant::now() + self.bounds.waiting;
            while seat.is_none() && Instant::now() < deadline {
                std::thread::sleep(GLANCE);
                seat = self.tests.take(peer);
            }
        }
        let seat = seat.ok_or(Refused)?;
        let (sender, streams) = channel();
        let test = Arc::new(Test {
            peer,
            since: Instant::now(),
            awaited: AtomicUsize::new(0),
            streams: Mutex::new(sender),
            must_end: AtomicBool::new(false),
        });
        let mut running = lock(&self.running);
        if running.contains_key(&cookie) {
            return Err(Refused);
        }
        running.insert(cookie, Arc::clone(&test));
        Ok(Registration { running: Arc::clone(&self.running), cookie, test, streams, _seat: seat })
    }

    /// Takes places for the streams of a test, if enough are free.
    pub fn streams(&self, peer: IpAddr, count: usize) -> Option<Seat> {
        self.streams.take_several(peer, count)
    }

    /// Ends one test that has run for longer than [`Bounds::owed`]: the oldest of the address with the most tests.
    /// Returns false if there is none.
    fn ask_for_room(&self) -> bool {
        let running = lock(&self.running);
        let mut tests_of: HashMap<IpAddr, usize> = HashMap::new();
        running.values().for_each(|test| *tests_of.entry(network(test.peer)).or_default() += 1);
        let candidates = running
            .values()
            .filter(|test| test.since.elapsed() > self.bounds.owed && !test.must_end.load(Ordering::Acquire));
        let chosen = candidates.max_by_key(|test| (tests_of[&network(test.peer)], test.since.elapsed()));
        chosen.inspect(|test| test.must_end.store(true, Ordering::Release)).is_some()
    }
}

impl Registration {
    /// Makes the test take `count` connections from now on, and no more.
    pub fn await_streams(&self, count: usize) {
        self.test.awaited.store(count, Ordering::Release);
    }

    /// Returns the number of the next connection and the connection, if one comes before `deadline`.
    pub fn stream(&self, deadline: Instant) -> Option<(u64, TcpStream)> {
        self.streams.recv_timeout(deadline.saturating_duration_since(Instant::now())).ok()
    }

    /// Returns true if the test is to end because another client waits.
    pub fn must_end(&self) -> bool {
        self.test.must_end.load(Ordering::Acquire)
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        lock(&self.running).remove(&self.cookie);
    }
}

fn lock<T>(guarded: &Mutex<T>) -> MutexGuard<'_, T> {
    guarded.lock().unwrap_or_else(PoisonError::into_inner)
}
