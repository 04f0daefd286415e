//! Tests of connections over pipes, which have a rate, a delay and a queue, and decide the fate of each packet.

mod acks;
mod basics;
mod bursts;
mod loss;
mod mptcp;
mod pace;
mod probing;
mod random;

use crate::{
    Connection, ConnectionSettings, Endpoint, Flags, Io, Notice, Packet, PathId, SubflowSettings, Time,
};
use nettrial_scenario::{Buffer, IpVersion, Offloads, Scheduler, Size, SocketOptions, Stack};
use std::collections::BTreeMap;

/// The fate of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Pass,
    Drop,
    Twice,
    Late(Time),
    Mark,
}

/// A path from one side to the other. Its queue is that of the host's own interface if `is_own`.
struct Pipe {
    rate_bps: u64,
    delay: Time,
    queue_bytes: u64,
    is_own: bool,
    /// The times between which the pipe forwards nothing.
    stops: Option<(Time, Time)>,
    free_at: Time,
    drops: u64,
}

enum Event {
    Deliver(Packet),
    Wake(Endpoint),
}

type Judge = Box<dyn FnMut(&Packet) -> Fate>;

/// The world of one connection.
struct World {
    now: Time,
    events: BTreeMap<(Time, u64), Event>,
    count: u64,
    pipes: Vec<Pipe>,
    judge: Judge,
    /// Every packet that was sent, with its time.
    sent: Vec<(Time, Packet)>,
    arrived: Vec<(Time, Packet)>,
    notices: Vec<(Time, Notice)>,
    wakes: u64,
}

const FRAME_BYTES: u64 = 38;

impl World {
    fn at(&mut self, time: Time, event: Event) {
        self.events.insert((time, self.count), event);
        self.count += 1;
    }
}

impl Io for World {
    fn now(&self) -> Time {
        self.now
    }

    fn send(&mut self, packet: &Packet) -> Option<Time> {
        let packet = *packet;
        self.sent.push((self.now, packet));
        let pipe = &mut self.pipes[packet.path.0 as usize];
        let size = u64::from(packet.ip_bytes) + FRAME_BYTES;
        let start = pipe.free_at.max(self.now);
        let queued = Time::of_bytes(pipe.queue_bytes, pipe.rate_bps);
        let is_dropped = start.since(self.now) > queued;
        if is_dropped {
            pipe.drops += 1;
            return if pipe.is_own { None } else { Some(self.now) };
        }
        let stop = pipe.stops.filter(|(from, to)| (*from..*to).contains(&start));
        let start = stop.map_or(start, |(_, to)| to);
        pipe.free_at = start + Time::of_bytes(size, pipe.rate_bps);
        let left = pipe.free_at;
        let arrives = left + pipe.delay;
        let result = if pipe.is_own { start } else { self.now };
        match (self.judge)(&packet) {
            Fate::Pass => self.at(arrives, Event::Deliver(packet)),
            Fate::Drop => {}
            Fate::Twice => {
                self.at(arrives, Event::Deliver(packet));
                self.at(arrives, Event::Deliver(packet));
            }
            Fate::Late(by) => self.at(arrives + by, Event::Deliver(packet)),
            Fate::Mark => {
                let ecn = match packet.ecn {
                    crate::Codepoint::NotCapable => crate::Codepoint::NotCapable,
                    _ => crate::Codepoint::Experienced,
                };
                self.at(arrives, Event::Deliver(Packet { ecn, ..packet }));
            }
        }
        Some(result)
    }

    fn wake(&mut self, endpoint: Endpoint, at: Time) {
        assert!(at >= self.now, "woken in the past");
        self.wakes += 1;
        self.at(at, Event::Wake(endpoint));
    }

    fn tell(&mut self, notice: Notice) {
        self.notices.push((self.now, notice));
    }
}

/// A connection in its world, with an application at each side that writes some bytes and closes.
struct Trial {
    world: World,
    connection: Connection,
    to_write: [u64; 2],
    closes: [bool; 2],
    handled: usize,
    readable: [u64; 2],
}

impl Trial {
    fn new(settings: &ConnectionSettings<'_>, pipes: Vec<Pipe>, judge: Judge) -> Self {
        let mut world = World {
            now: Time::ZERO,
            events: BTreeMap::new(),
            count: 0,
            pipes,
            judge,
            sent: Vec::new(),
            arrived: Vec::new(),
            notices: Vec::new(),
            wakes: 0,
        };
        let connection = Connection::open(settings, &mut world);
        Self { world, connection, to_write: [0; 2], closes: [false; 2], handled: 0, readable: [0; 2] }
    }

    /// Makes side 0 write `bytes` bytes and close; side 1 closes when it is notified of that.
    fn transfer(mut self, bytes: u64) -> Self {
        self.to_write[0] = bytes;
        self.closes = [true; 2];
        self
    }

    fn write(&mut self, side: u8) {
        let left = &mut self.to_write[usize::from(side)];
        if *left > 0 {
            *left -= self.connection.write(side, *left, &mut self.world);
            if *left == 0 && self.closes[usize::from(side)] && side == 0 {
                self.connection.close(0, &mut self.world);
            }
        }
    }

    fn heed(&mut self) {
        while let Some(&(_, notice)) = self.world.notices.get(self.handled) {
            self.handled += 1;
            match notice {
                Notice::Connected { side, .. } | Notice::Writable { side, .. } => self.write(side),
                Notice::Closed { side: 1, .. } if self.closes[1] => {
                    self.connection.close(1, &mut self.world);
                }
                Notice::Readable { side, total_bytes, .. } => {
                    let before = std::mem::replace(&mut self.readable[usize::from(side)], total_bytes);
                    assert!(total_bytes > before);
                }
                _ => {}
            }
        }
    }

    /// Runs until no event is left, or until that time.
    fn run(&mut self, until: Time) {
        while let Some((&(time, count), _)) = self.world.events.first_key_value()
            && time <= until
        {
            let event = self.world.events.remove(&(time, count)).unwrap();
            self.world.now = time;
            match event {
                Event::Deliver(packet) => {
                    self.world.arrived.push((time, packet));
                    self.connection.on_packet(&packet, &mut self.world);
                }
                Event::Wake(endpoint) => self.connection.on_timer(endpoint, &mut self.world),
            }
            self.heed();
        }
        self.world.now = self.world.now.max(until.min(Time::from_ms(100_000_000)));
    }

    /// Runs until the connection has ended.
    fn run_to_end(&mut self) {
        while !self.connection.is_over() && !self.world.events.is_empty() {
            let next = self.world.events.first_key_value().unwrap().0.0;
            self.run(next);
        }
        assert!(self.connection.is_over());
    }

    /// Returns the data packets that side 0 sent.
    fn data(&self) -> impl Iterator<Item = &(Time, Packet)> {
        self.world.sent.iter().filter(|(_, packet)| packet.payload_bytes > 0 && packet.to.side == 1)
    }

    /// Returns the acknowledgments without data that side 1 sent after the handshake.
    fn acks(&self) -> impl Iterator<Item = &(Time, Packet)> {
        self.world.sent.iter().filter(|(_, packet)| {
            packet.payload_bytes == 0 && packet.to.side == 0 && !packet.flags.has(Flags::SYN)
        })
    }

    fn told_at(&self, is_it: impl Fn(&Notice) -> bool) -> Option<Time> {
        self.world.notices.iter().find(|(_, notice)| is_it(notice)).map(|(time, _)| *time)
    }
}

fn pass() -> Judge {
    Box::new(|_| Fate::Pass)
}

fn pipe(rate_bps: u64, delay: Time) -> Pipe {
    Pipe {
        rate_bps,
        delay,
        queue_bytes: u64::MAX >> 24,
        is_own: true,
        stops: None,
        free_at: Time::ZERO,
        drops: 0,
    }
}

fn bottleneck(rate_bps: u64, delay: Time, queue_bytes: u64) -> Pipe {
    Pipe { queue_bytes, is_own: false, ..pipe(rate_bps, delay) }
}

/// Returns a pipe for each direction.
fn both_directions(rate_bps: u64, delay: Time) -> Vec<Pipe> {
    vec![pipe(rate_bps, delay), pipe(rate_bps, delay)]
}

pub(crate) fn stack(control: &str) -> Stack {
    Stack {
        name: "test".into(),
        congestion_control: control.into(),
        receive_buffer: Buffer { minimum: Size(4096), initial: Size(131_072), maximum: Size(6_291_456) },
        send_buffer: Buffer { minimum: Size(4096), initial: Size(16_384), maximum: Size(4_194_304) },
        window_scaling: true,
        sack: true,
        timestamps: true,
        mtu_probing: false,
        ecn: false,
        minimum_rto: None,
        small_queues: true,
        program: None,
        scheduler: Scheduler::LowestRtt,
    }
}

fn settings(stack: &Stack) -> ConnectionSettings<'_> {
    ConnectionSettings {
        number: 7,
        is_mptcp: false,
        ip: IpVersion::V4,
        stacks: [stack; 2],
        offloads: [Offloads::default(); 2],
        socket: SocketOptions::default(),
        subflows: vec![SubflowSettings { paths: [PathId(0), PathId(1)], path_mtu_bytes: [1500; 2] }],
    }
}
