//! The tests that run, and what strangers can take of the server with them.

use crate::message::Cookie;
use nettrial_admission::{Seat, Seats};
use std::collections::HashMap;
use std::net::{IpAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The interval at which it is looked whether a test that is to make room has done so.
const GLANCE: Duration = Duration::from_millis(20);

/// The bounds of what strangers can take.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Tests at a time, in all and of one address; more are told that the server is busy.
    pub tests: (usize, usize),
    /// Streams at a time, in all and of one address.
    pub streams: (usize, usize),
    /// The time for which a test may move less than [`Bounds::progress`], or go on after its time.
    pub silence: Duration,
    /// The least that a test moves in [`Bounds::silence`], bytes.
    pub progress: u64,
    /// The longest test that names no time.
    pub untimed: Duration,
    /// A test that has run for so long makes room when all places are taken and another client waits.
    pub owed: Duration,
    /// The time for which a client waits for such a place.
    pub waiting: Duration,
}

impl Bounds {
    /// The bounds of a server that may have so many descriptors: half of them are for streams.
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

/// No place is free.
#[derive(Debug)]
pub struct Refused;

/// The tests that run.
pub struct Guests {
    pub bounds: Bounds,
    tests: Seats,
    streams: Seats,
    running: Arc<Mutex<HashMap<Cookie, Arc<Test>>>>,
}

/// A test, as others see it.
pub struct Test {
    peer: IpAddr,
    since: Instant,
    /// Connections that it still waits for.
    awaited: AtomicUsize,
    streams: Mutex<Sender<(u64, TcpStream)>>,
    /// Another client waits for its place.
    must_end: AtomicBool,
}

impl Test {
    /// Gives the test the connection numbered `number`; gives it back if the test waits for none.
    pub fn give(&self, number: u64, stream: TcpStream) -> Result<(), TcpStream> {
        let one_less = |awaited: usize| awaited.checked_sub(1);
        if self.awaited.fetch_update(Ordering::AcqRel, Ordering::Acquire, one_less).is_err() {
            return Err(stream);
        }
        let streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        streams.send((number, stream)).map_err(|unsent| unsent.0.1)
    }
}

/// A test's place; it is free when this is dropped.
pub struct Place {
    running: Arc<Mutex<HashMap<Cookie, Arc<Test>>>>,
    cookie: Cookie,
    test: Arc<Test>,
    streams: Receiver<(u64, TcpStream)>,
    _seat: Seat,
}

impl Guests {
    /// Nobody is there yet.
    pub fn new(bounds: Bounds) -> Self {
        Self {
            bounds,
            tests: Seats::new(bounds.tests.0, bounds.tests.1),
            streams: Seats::new(bounds.streams.0, bounds.streams.1),
            running: Arc::default(),
        }
    }

    /// The test that has this cookie.
    pub fn test_of(&self, cookie: &Cookie) -> Option<Arc<Test>> {
        lock(&self.running).get(cookie).cloned()
    }

    /// Gives a new test of `peer` a place, if need be that of a test that has run for longer than it is owed.
    ///
    /// # Errors
    /// Fails if there is no place, or another test has the same cookie.
    pub fn begin(&self, cookie: Cookie, peer: IpAddr) -> Result<Place, Refused> {
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
        Ok(Place { running: Arc::clone(&self.running), cookie, test, streams, _seat: seat })
    }

    /// Places for the streams of a test, if so many are free.
    pub fn streams(&self, peer: IpAddr, count: usize) -> Option<Seat> {
        self.streams.take_several(peer, count)
    }

    /// Has one test end that has run for longer than it is owed: the oldest of the address with the most
    /// tests. False if there is none.
    fn ask_for_room(&self) -> bool {
        let running = lock(&self.running);
        let mut tests_of: HashMap<IpAddr, usize> = HashMap::new();
        running.values().for_each(|test| *tests_of.entry(test.peer).or_default() += 1);
        let candidates = running
            .values()
            .filter(|test| test.since.elapsed() > self.bounds.owed && !test.must_end.load(Ordering::Acquire));
        let chosen = candidates.max_by_key(|test| (tests_of[&test.peer], test.since.elapsed()));
        chosen.inspect(|test| test.must_end.store(true, Ordering::Release)).is_some()
    }
}

impl Place {
    /// From now on the test takes so many connections, and no more.
    pub fn await_streams(&self, count: usize) {
        self.test.awaited.store(count, Ordering::Release);
    }

    /// The next connection, if one comes before `deadline`, and its number.
    pub fn stream(&self, deadline: Instant) -> Option<(u64, TcpStream)> {
        self.streams.recv_timeout(deadline.saturating_duration_since(Instant::now())).ok()
    }

    /// Returns true if the test is to end because another client waits.
    pub fn must_end(&self) -> bool {
        self.test.must_end.load(Ordering::Acquire)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        lock(&self.running).remove(&self.cookie);
    }
}

fn lock<T>(guarded: &Mutex<T>) -> MutexGuard<'_, T> {
    guarded.lock().unwrap_or_else(PoisonError::into_inner)
}
