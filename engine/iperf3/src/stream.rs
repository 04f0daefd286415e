//! One data stream, which sends or receives until the test is over, and counts its data.

use crate::arrivals::Arrivals;
use crate::datagram::{HEADER_BYTES, Header};
use crate::pace::Pace;
use crate::parameters::Parameters;
use crate::results::StreamResults;
use crate::socket;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The time that a call may block before the end of the test is noticed.
const GLANCE: Duration = Duration::from_millis(50);
/// The time after the test for reading data that has already arrived.
const DRAIN: Duration = Duration::from_secs(1);
/// The time that a sender waits after the kernel refused a datagram.
const REFUSED: Duration = Duration::from_millis(1);

/// The socket of a stream.
pub enum Carrier {
    /// A connection.
    Tcp(TcpStream),
    /// A socket with one peer.
    Udp(UdpSocket),
}

/// The direction of a stream's data, seen from here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// This side sends.
    Send,
    /// This side receives.
    Receive,
}

/// The test's clock, which all its streams watch.
pub struct Clock {
    begin: Instant,
    /// The bytes moved by all streams, which show whether the test still makes progress.
    pub moved: AtomicU64,
    omit: Duration,
    over: OnceLock<Instant>,
}

impl Clock {
    /// Starts the test now. Its first `omit` does not count.
    pub fn start(omit: Duration) -> Self {
        Self { begin: Instant::now(), moved: AtomicU64::new(0), omit, over: OnceLock::new() }
    }

    /// Ends the test.
    pub fn stop(&self) {
        self.over.get_or_init(Instant::now);
    }

    fn over(&self) -> Option<Instant> {
        self.over.get().copied()
    }
}

/// The outcome of a stream.
#[derive(Default)]
pub struct Outcome {
    /// The results as they are sent to the other side.
    pub results: StreamResults,
    /// The datagrams that arrived after later ones.
    pub late: u64,
    /// The datagrams that arrived more than once.
    pub duplicates: u64,
    /// The congestion control in force.
    pub congestion: Option<String>,
    /// The kernel's view of the connection at its end.
    pub info: Option<libc::tcp_info>,
    /// CPU time in the program and in the kernel.
    pub processor: (Duration, Duration),
}

/// Runs the stream numbered `id` until `clock` says that the test is over, or the peer is gone.
pub fn run(
    id: u32,
    carrier: &Carrier,
    direction: Direction,
    parameters: &Parameters,
    clock: &Clock,
) -> Outcome {
    let mut count = Count::new(clock, carrier);
    let mut block = vec![0; parameters.block_bytes().max(HEADER_BYTES)];
    let block = &mut block[..parameters.block_bytes()];
    match (carrier, direction) {
        (Carrier::Tcp(stream), Direction::Send) => send_bytes(stream, block, parameters, &mut count),
        (Carrier::Tcp(stream), Direction::Receive) => receive_bytes(stream, block, &mut count),
        (Carrier::Udp(socket), Direction::Send) => send_datagrams(socket, block, parameters, &mut count),
        (Carrier::Udp(socket), Direction::Receive) => {
            let mut largest = vec![0; 1 << 16];
            receive_datagrams(socket, &mut largest, parameters.udp_counters_64bit, &mut count);
        }
    }
    count.outcome(id, direction)
}

/// The data that a stream has moved since the omitted time.
struct Count<'a> {
    clock: &'a Clock,
    connection: Option<&'a TcpStream>,
    bytes: u64,
    sent_pkts: u64,
    arrivals: Arrivals,
    begin: Instant,
    last: Instant,
    omitting: bool,
    omitted_errors: u64,
    omitted_packets: u64,
    omitted_retransmissions: u64,
}

impl<'a> Count<'a> {
    fn new(clock: &'a Clock, carrier: &'a Carrier) -> Self {
        let connection = if let Carrier::Tcp(stream) = carrier { Some(stream) } else { None };
        Self {
            clock,
            connection,
            bytes: 0,
            sent_pkts: 0,
            arrivals: Arrivals::default(),
            begin: clock.begin,
            last: clock.begin,
            omitting: !clock.omit.is_zero(),
            omitted_errors: 0,
            omitted_packets: 0,
            omitted_retransmissions: 0,
        }
    }

    fn moved(&mut self, bytes: usize) {
        self.advance();
        self.add(bytes);
    }

    fn add(&mut self, bytes: usize) {
        self.bytes += bytes as u64;
        self.clock.moved.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Ends the omission once its time is over. A datagram's number is counted after this, as its bytes are; otherwise
    /// the number of the first datagram after the omission would be omitted, while its bytes would count.
    fn advance(&mut self) {
        self.last = Instant::now();
        if self.omitting && self.last >= self.clock.begin + self.clock.omit {
            self.end_omission();
        }
    }

    fn end_omission(&mut self) {
        self.omitting = false;
        self.begin = self.clock.begin + self.clock.omit;
        self.bytes = 0;
        self.omitted_errors = self.arrivals.lost;
        self.omitted_packets = self.packets();
        self.omitted_retransmissions = self.info().map_or(0, |info| info.tcpi_total_retrans.into());
        self.arrivals.begin();
    }

    fn packets(&self) -> u64 {
        self.sent_pkts.max(self.arrivals.highest)
    }

    fn info(&self) -> Option<libc::tcp_info> {
        socket::tcp_info(self.connection?).ok()
    }

    fn outcome(&mut self, id: u32, direction: Direction) -> Outcome {
        if self.omitting {
            self.end_omission();
        }
        let info = self.info();
        let retransmits = info
            .filter(|_| direction == Direction::Send)
            .map_or(-1, |info| i64::from(info.tcpi_total_retrans) - self.omitted_retransmissions as i64);
        let end = self.clock.over().map_or(self.last, |over| over.max(self.last));
        let whole = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        Outcome {
            results: StreamResults {
                id,
                bytes: self.bytes,
                retransmits,
                jitter: self.arrivals.jitter,
                errors: whole(self.arrivals.lost),
                packets: whole(self.packets()),
                omitted_errors: Some(whole(self.omitted_errors)),
                omitted_packets: Some(whole(self.omitted_packets)),
                start_time: 0.0,
                end_time: end.saturating_duration_since(self.begin).as_secs_f64(),
            },
            late: self.arrivals.late,
            duplicates: self.arrivals.duplicates,
            congestion: self.connection.and_then(socket::congestion_control),
            info,
            processor: socket::thread_time(),
        }
    }
}

/// Waits until `pace` allows the next block to be sent; returns false if the test is over.
fn may_send(pace: &mut Option<Pace>, clock: &Clock) -> bool {
    let due = pace.as_mut().map(|pace| pace.next(Instant::now()));
    while clock.over().is_none() {
        let left = due.map_or(Duration::ZERO, |due| due.saturating_duration_since(Instant::now()));
        if left.is_zero() {
            return true;
        }
        std::thread::sleep(left.min(GLANCE));
    }
    false
}

fn send_bytes(mut stream: &TcpStream, block: &[u8], parameters: &Parameters, count: &mut Count) {
    let mut pace = Pace::new(parameters.bandwidth, block.len());
    let _ = stream.set_write_timeout(Some(GLANCE));
    while may_send(&mut pace, count.clock) {
        let mut left = block.len();
        while left > 0 && count.clock.over().is_none() {
            match stream.write(&block[..left]) {
                Ok(sent) => {
                    left -= sent;
                    count.moved(sent);
                }
                Err(error) if is_pause(&error) => {}
                Err(_) => return,
            }
        }
    }
}

fn send_datagrams(socket: &UdpSocket, block: &mut [u8], parameters: &Parameters, count: &mut Count) {
    let mut pace = Pace::new(parameters.bandwidth, block.len());
    let _ = socket.set_write_timeout(Some(GLANCE));
    while may_send(&mut pace, count.clock) {
        let header = Header { sent: socket::monotonic(), number: count.sent_pkts + 1 };
        header.write(block, parameters.udp_counters_64bit);
        match socket.send(block) {
            Ok(sent) => {
                count.advance();
                count.sent_pkts += 1;
                count.add(sent);
            }
            Err(error) if is_pause(&error) => {}
            // The queue is full, or an earlier datagram caused an ICMP error. Only the client ends the test.
            Err(_) => std::thread::sleep(REFUSED),
        }
    }
}

fn receive_bytes(stream: &TcpStream, block: &mut [u8], count: &mut Count) {
    let _ = stream.set_read_timeout(Some(GLANCE));
    let read = |count: &mut Count| {
        let bytes = (&*stream).read(block)?;
        if bytes > 0 {
            count.advance();
        }
        Ok(bytes)
    };
    receive(count, read, || stream.set_nonblocking(true));
}

fn receive_datagrams(socket: &UdpSocket, block: &mut [u8], wide: bool, count: &mut Count) {
    let _ = socket.set_read_timeout(Some(GLANCE));
    let datagram = |count: &mut Count| match socket.recv(block) {
        // An empty datagram or an ICMP error does not mean that the peer has ended.
        Ok(0) => Err(ErrorKind::Interrupted.into()),
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => Err(ErrorKind::Interrupted.into()),
        Ok(length) => {
            match Header::read(&block[..length], wide) {
                Some(header) => {
                    count.advance();
                    count.arrivals.count(header, socket::monotonic());
                }
                None => return Err(ErrorKind::Interrupted.into()),
            }
            Ok(length)
        }
        Err(error) => Err(error),
    };
    receive(count, datagram, || socket.set_nonblocking(true));
}

/// Receives until the test is over and all data that had arrived by then is read. `read` advances `count` when
/// something has arrived, and `hurry` makes it return without waiting.
fn receive(
    count: &mut Count,
    mut read: impl FnMut(&mut Count) -> io::Result<usize>,
    hurry: impl Fn() -> io::Result<()>,
) {
    let mut draining = false;
    loop {
        match read(count) {
            Ok(0) => return,
            Ok(bytes) => count.add(bytes),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if is_pause(&error) && !draining => {}
            Err(_) => return,
        }
        let Some(over) = count.clock.over() else { continue };
        if over.elapsed() > DRAIN || (!draining && hurry().is_err()) {
            return;
        }
        draining = true;
    }
}

fn is_pause(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DATAGRAM_BYTES: usize = 1000;

    /// The numbers and the bytes that a stream counts after the omission are those of the same datagrams.
    #[test]
    fn what_counts_after_the_omission_is_whole_datagrams() {
        let (sender, receiver) =
            (UdpSocket::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
        sender.connect(receiver.local_addr().unwrap()).unwrap();
        receiver.connect(sender.local_addr().unwrap()).unwrap();
        let len = u32::try_from(DATAGRAM_BYTES).unwrap();
        let parameters = Parameters { udp: true, bandwidth: 4_000_000, len, ..Parameters::default() };
        let clock = Clock::start(Duration::from_millis(30));
        let outcomes = std::thread::scope(|scope| {
            let streams =
                [(sender, Direction::Send), (receiver, Direction::Receive)].map(|(socket, direction)| {
                    let (clock, parameters) = (&clock, &parameters);
                    scope.spawn(move || run(1, &Carrier::Udp(socket), direction, parameters, clock))
                });
            while clock.begin.elapsed() < clock.omit * 3 {
                std::thread::sleep(clock.omit);
            }
            clock.stop();
            streams.map(|stream| stream.join().unwrap().results)
        });
        for results in outcomes {
            let packets = results.packets - results.omitted_packets.unwrap();
            let lost = results.errors - results.omitted_errors.unwrap();
            assert_eq!(u64::try_from(packets - lost).unwrap() * DATAGRAM_BYTES as u64, results.bytes);
        }
    }
}
