//! The thread that drives a channel's medium.

use super::frames::Frames;
use super::{Driven, Held};
use crate::delay_line::{EARLY_NS, LATE_NS, Switch, is_to_a_group, monotonic_ns, wall_offset_ns};
use crate::packet_socket::{BATCH, OFFLOAD_HEADER_BYTES, Outlet, Ring};
use nettrial_scenario::random::Random;
use nettrial_scenario::{ChannelRecord, Interface, Link, Wlan, ethernet};
use nettrial_wlan::{Category, Medium, Outcome};
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// The station that is the access point.
const ACCESS_POINT: usize = 0;
/// Frames taken from each ring before it is looked again whether one is due.
const INTAKE: usize = 4 * BATCH;

/// An interface of the channel.
pub struct Station {
    pub ring: Ring,
    pub outlet: Outlet,
    pub address: Vec<u8>,
    pub held: Option<Held>,
}

/// A frame that has arrived and that the medium is still to be given.
struct Arrival {
    at_ns: u64,
    from: usize,
    to: usize,
    tag: u32,
    bytes: u32,
}

/// What drives a medium.
pub struct Worker {
    wlan: Wlan,
    random: Random,
    stations: Vec<Station>,
    switch: Arc<Switch>,
    medium: Medium,
    /// The monotonic clock where the medium's time is 0.
    began_ns: u64,
    /// Until when the medium's events have happened.
    now_ns: u64,
    is_armed: bool,
    frames: Frames,
    arrivals: Vec<Arrival>,
    outcomes: Vec<Outcome>,
    /// Frames to be handed over, each with the time when it was due.
    due: Vec<(u64, u32)>,
    driven: Driven,
}

impl Worker {
    pub fn new(wlan: Wlan, random: Random, stations: Vec<Station>, switch: Arc<Switch>) -> Self {
        let now_ns = monotonic_ns();
        Self {
            medium: Medium::new(&wlan, stations.len(), random),
            wlan,
            random,
            stations,
            switch,
            began_ns: now_ns,
            now_ns,
            is_armed: false,
            frames: Frames::default(),
            arrivals: Vec::new(),
            outcomes: Vec::new(),
            due: Vec::new(),
            driven: Driven::default(),
        }
    }

    /// Drives the medium until the channel is stopped; gives its record and the work since it was armed.
    pub fn run(mut self, link: &Link) -> (ChannelRecord, Driven) {
        while !self.switch.stopped.load(Relaxed) {
            self.take();
            self.advance(monotonic_ns());
            self.hand_over();
            self.let_go();
            self.begin_counting();
            self.rest();
        }
        self.advance(monotonic_ns());
        let interfaces: Vec<&Interface> = link.interfaces.iter().collect();
        (self.medium.record(&interfaces, self.medium_ps(self.now_ns)), self.driven)
    }

    /// The medium's time when the clock shows `now_ns`.
    fn medium_ps(&self, now_ns: u64) -> u64 {
        (now_ns - self.began_ns) * 1000
    }

    /// Starts over with a new medium once the channel is armed and nothing is in the old one.
    fn begin_counting(&mut self) {
        if !self.is_armed && self.switch.armed.load(Relaxed) && self.frames.is_empty() {
            self.is_armed = true;
            self.medium = Medium::new(&self.wlan, self.stations.len(), self.random);
            self.began_ns = self.now_ns;
            self.driven = Driven::default();
        }
    }

    /// Gives what has arrived to the medium, each frame at the time of its arrival.
    fn take(&mut self) {
        if self.stations.iter().all(|station| station.ring.peek().is_none()) {
            return;
        }
        let (begin, offset) = (monotonic_ns(), wall_offset_ns());
        for from in 0..self.stations.len() {
            for _ in 0..INTAKE {
                let Some(slot) = self.stations[from].ring.peek() else { break };
                // The wall clock may be set meanwhile: the time is kept within what is known of it.
                let at_ns = slot.arrived_unix_ns.saturating_sub(offset).clamp(self.now_ns, begin.max(self.now_ns));
                let frame = slot.bytes.get(OFFLOAD_HEADER_BYTES..).unwrap_or_default();
                let to = receiver(&self.stations, from, frame);
                if !slot.whole || frame.len() < ethernet::HEADER_BYTES as usize {
                    self.driven.lost_pkts += 1;
                } else if is_to_a_group(slot.bytes) {
                    let others = self.stations.iter().enumerate().filter(|(other, _)| *other != from);
                    for (_, other) in others {
                        self.driven.lost_pkts += other.outlet.send(std::iter::once(slot.bytes));
                    }
                } else if let Some(to) = to {
                    let bytes = frame.len() - ethernet::HEADER_BYTES as usize;
                    let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
                    let tag = self.frames.put(slot.bytes, to);
                    self.arrivals.push(Arrival { at_ns, from, to, tag, bytes });
                }
                let station = &mut self.stations[from];
                station.ring.release();
                station.held.iter_mut().for_each(Held::add);
            }
        }
        let mut arrivals = std::mem::take(&mut self.arrivals);
        arrivals.sort_by_key(|arrival| arrival.at_ns);
        for Arrival { at_ns, from, to, tag, bytes } in arrivals.drain(..) {
            self.advance(at_ns);
            let now_ps = self.medium_ps(at_ns);
            if !self.medium.offer(now_ps, [from, to], Category::BestEffort, tag, bytes) {
                self.frames.free(tag);
            }
        }
        self.arrivals = arrivals;
    }

    /// Has everything in the medium happen until then.
    fn advance(&mut self, until_ns: u64) {
        let until_ps = self.medium_ps(until_ns);
        while self.medium.next() <= until_ps {
            let at_ps = self.medium.next();
            self.medium.advance(at_ps, &mut self.outcomes);
            for outcome in self.outcomes.drain(..) {
                match outcome {
                    Outcome::Delivered(tag) => self.due.push((self.began_ns + at_ps / 1000, tag)),
                    Outcome::Dropped(tag) => self.frames.free(tag),
                }
            }
        }
        self.now_ns = until_ns;
    }

    /// Hands over what the medium has delivered, as many frames at a time as one station gets in a row.
    fn hand_over(&mut self) {
        let due = std::mem::take(&mut self.due);
        let frames = &self.frames;
        let same = |(_, one): &(u64, u32), (_, other): &(u64, u32)| frames.get(*one).to == frames.get(*other).to;
        for row in due.chunk_by(same).flat_map(|row| row.chunks(BATCH)) {
            let outlet = &self.stations[frames.get(row[0].1).to].outlet;
            let refused = outlet.send(row.iter().map(|(_, tag)| frames.get(*tag).bytes.as_slice()));
            let sent_ns = monotonic_ns();
            let Driven { passed_pkts, late_pkts, latest_ns, lost_pkts } = &mut self.driven;
            for (due_ns, _) in row {
                *late_pkts += u64::from(sent_ns > due_ns + LATE_NS);
                *latest_ns = (*latest_ns).max(sent_ns.saturating_sub(*due_ns));
            }
            *lost_pkts += refused;
            *passed_pkts += row.len() as u64 - refused;
        }
        due.iter().for_each(|(_, tag)| self.frames.free(*tag));
        self.due = due;
        self.due.clear();
    }

    /// Lets go of frames that are no longer at their stations.
    fn let_go(&mut self) {
        for (number, station) in self.stations.iter_mut().enumerate() {
            if let Some(held) = &mut station.held {
                held.keep(self.medium.counters(number).queued_pkts);
            }
        }
    }

    /// Sleeps until shortly before the medium's next event, or until a frame comes.
    fn rest(&self) {
        let mut ends = vec![PollFd::new(self.switch.wake.as_fd(), PollFlags::POLLIN)];
        ends.extend(self.stations.iter().map(|station| PollFd::new(station.ring.as_fd(), PollFlags::POLLIN)));
        let next_ps = self.medium.next();
        let sleep = (next_ps != u64::MAX).then(|| {
            let due_ns = self.began_ns + next_ps.div_ceil(1000);
            due_ns.saturating_sub(monotonic_ns()).saturating_sub(EARLY_NS)
        });
        if sleep == Some(0) {
            std::hint::spin_loop();
            return;
        }
        // An interrupted sleep is a short one.
        let _ = ppoll(&mut ends, sleep.map(|ns| TimeSpec::from_duration(Duration::from_nanos(ns))), None);
        for (station, end) in self.stations.iter().zip(&ends[1..]) {
            if end.revents().is_some_and(|events| events.contains(PollFlags::POLLERR)) {
                station.ring.forget_error();
            }
        }
    }
}

/// The station that a frame of station `from` is for: the one with its address, or else the access point, behind which
/// others are; `None` if it is for nobody.
fn receiver(stations: &[Station], from: usize, frame: &[u8]) -> Option<usize> {
    let destination = frame.get(..6)?;
    let found = stations.iter().position(|station| station.address == destination);
    found.or(Some(ACCESS_POINT)).filter(|to| *to != from)
}
