//! The medium: nobody sends, or what is sent goes on until its response is over.

use crate::contender::{Category, Contender};
use crate::counters::Counters;
use crate::outbox::{Aggregate, Msdu};
use crate::timing::{SLOT, Timing};
use nettrial_scenario::random::Random;
use nettrial_scenario::{Airtime, QueueLimit, Wlan};

/// The station that is the access point.
const ACCESS_POINT: usize = 0;
/// The part of a new value in the mean of what a byte takes.
const WEIGHT: f64 = 0.125;

/// The outcome of a packet that was offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It has arrived at the station that it is for.
    Delivered(u32),
    /// It is dropped: its tries are used up, or the access point's queue is full.
    Dropped(u32),
}

/// An attempt to send.
#[derive(Debug, Clone, Copy)]
struct Attempt {
    contender: usize,
    outbox: usize,
    aggregate: Aggregate,
    /// The time of the frames that a collision takes, or that come before the response.
    frames_ps: u64,
}

/// The activity on the medium.
#[derive(Debug)]
enum State {
    /// Nobody sends.
    Idle,
    /// The access point sends a beacon.
    Beacon { ends_ps: u64 },
    /// One sends, and its PPDU ends then.
    Data { attempt: Attempt, ends_ps: u64 },
    /// The response to it ends then.
    Response { attempt: Attempt, ends_ps: u64, airtime: Airtime },
    /// Several send.
    Collision { attempts: Vec<Attempt>, ends_ps: u64 },
    /// The frames that were sent are being dealt with.
    Settling,
}

/// An access point, the station with the number 0, and its stations.
#[derive(Debug)]
pub struct Medium {
    timing: Timing,
    tries: u32,
    mpdu_loss: f64,
    limit: QueueLimit,
    state: State,
    contenders: Vec<Contender>,
    stations: Vec<Counters>,
    /// The time that a byte takes each station, picoseconds, as a moving mean.
    byte_ps: Vec<f64>,
    /// The time since when nobody sends, or when what is sent began.
    since_ps: u64,
    /// The time from after AIFS to the beginning of all slots.
    defers_ps: u64,
    idle_ps: u64,
    collisions_ps: u64,
    /// The time of the next beacon, and what lies between two; 0 for none.
    beacon_ps: (u64, u64),
    random: Random,
    drawn: u64,
}

/// The next random number in [0, 1).
fn draw(random: &Random, drawn: &mut u64) -> f64 {
    *drawn += 1;
    random.at(*drawn)
}

/// A backoff of 0 to `window` slots.
fn backoff(random: &Random, drawn: &mut u64, window: u64) -> u64 {
    (draw(random, drawn) * (window + 1) as f64) as u64
}

impl Medium {
    /// The medium of settings that have passed the check of their scenario, with so many stations, the access point
    /// counted.
    pub fn new(wlan: &Wlan, stations: usize, random: Random) -> Self {
        let interval = wlan.beacon_interval.0 * 1000;
        Self::with_timing(
            Timing::new(wlan),
            wlan,
            stations,
            (if interval > 0 { 0 } else { u64::MAX }, interval),
            random,
        )
    }

    fn with_timing(
        timing: Timing,
        wlan: &Wlan,
        stations: usize,
        beacon_ps: (u64, u64),
        random: Random,
    ) -> Self {
        let byte_ps = timing.phy.ppdu_ps(1500) as f64 / 1500.0;
        Self {
            timing,
            tries: wlan.tries,
            mpdu_loss: wlan.mpdu_loss,
            limit: wlan.queue,
            state: State::Idle,
            contenders: Vec::new(),
            stations: vec![Counters::default(); stations],
            byte_ps: vec![byte_ps; stations],
            since_ps: 0,
            defers_ps: 0,
            idle_ps: 0,
            collisions_ps: 0,
            beacon_ps,
            random,
            drawn: 0,
        }
    }

    /// A medium on which a collision makes nobody wait longer than a success does, as models of saturation have it.
    #[cfg(test)]
    pub(crate) fn without_penalties(wlan: &Wlan, stations: usize, random: Random) -> Self {
        let mut timing = Timing::new(wlan);
        (timing.eifs_ps, timing.ack_timeout_ps) = (0, 0);
        Self::with_timing(timing, wlan, stations, (u64::MAX, 0), random)
    }

    /// The times and sizes.
    pub fn timing(&self) -> &Timing {
        &self.timing
    }

    /// A packet of so many bytes comes to station `from` for station `to`; gives whether the queue takes it.
    pub fn offer(
        &mut self,
        now_ps: u64,
        [from, to]: [usize; 2],
        category: Category,
        tag: u32,
        bytes: u32,
    ) -> bool {
        let counters = &mut self.stations[from];
        counters.offered_pkts += 1;
        let is_full = match self.limit {
            QueueLimit::Packets(most) => counters.queued_pkts >= u64::from(most),
            QueueLimit::Bytes(most) => counters.queued_bytes + u64::from(bytes) > most.0,
        };
        if is_full {
            counters.queue_drops_pkts += 1;
            return false;
        }
        counters.queued_pkts += 1;
        counters.queued_bytes += u64::from(bytes);
        let number = self.contender(from, category);
        let contender = &mut self.contenders[number];
        // A station sends to the access point alone.
        let receiver = if from == ACCESS_POINT { to } else { ACCESS_POINT };
        contender.outbox(receiver).push(Msdu { tag, bytes, to, came_ps: now_ps });
        let is_busy = !matches!(self.state, State::Idle);
        contender.on_packet(now_ps, is_busy, |window| backoff(&self.random, &mut self.drawn, window));
        true
    }

    /// About when what station `from` has now will have left, from how long its bytes took of late.
    pub fn leaves_ps(&self, now_ps: u64, from: usize) -> u64 {
        now_ps + (self.stations[from].queued_bytes as f64 * self.byte_ps[from]) as u64
    }

    /// Returns what station `number` has done.
    pub fn counters(&self, number: usize) -> &Counters {
        &self.stations[number]
    }

    /// The time until `now_ps` in which nobody had the medium, and that of collisions, picoseconds.
    pub fn unused_ps(&self, now_ps: u64) -> (u64, u64) {
        let going_on = now_ps - self.since_ps;
        match self.state {
            State::Idle => (self.idle_ps + going_on, self.collisions_ps),
            State::Collision { .. } => (self.idle_ps, self.collisions_ps + going_on),
            _ => (self.idle_ps, self.collisions_ps),
        }
    }

    /// Returns what station `number` used the medium for until `now_ps`. An exchange that goes on is overhead.
    pub fn airtime(&self, now_ps: u64, number: usize) -> Airtime {
        let station = match &self.state {
            State::Idle | State::Collision { .. } | State::Settling => None,
            State::Beacon { .. } => Some(ACCESS_POINT),
            State::Data { attempt, .. } | State::Response { attempt, .. } => {
                Some(self.contenders[attempt.contender].station)
            }
        };
        let mut airtime = self.stations[number].airtime;
        if station == Some(number) {
            airtime.overhead_ps += now_ps - self.since_ps;
        }
        airtime
    }

    /// The time of the next event; `u64::MAX` if there is none until a packet is offered.
    pub fn next(&self) -> u64 {
        match self.state {
            State::Idle => self.next_sender_ps().min(self.next_beacon_ps()),
            State::Beacon { ends_ps }
            | State::Data { ends_ps, .. }
            | State::Response { ends_ps, .. }
            | State::Collision { ends_ps, .. } => ends_ps,
            State::Settling => u64::MAX,
        }
    }

    /// The event of that time happens, which [`Medium::next`] has given. What becomes of packets is added to
    /// `outcomes`.
    pub fn advance(&mut self, now_ps: u64, outcomes: &mut Vec<Outcome>) {
        match std::mem::replace(&mut self.state, State::Settling) {
            State::Idle => self.begin(now_ps),
            State::Beacon { .. } => {
                let counters = &mut self.stations[ACCESS_POINT];
                counters.beacons += 1;
                counters.airtime.overhead_ps += now_ps - self.since_ps;
                self.rest(now_ps, 0);
            }
            State::Data { attempt, .. } => self.arrive(now_ps, attempt, outcomes),
            State::Response { attempt, airtime, .. } => self.succeed(now_ps, attempt, airtime),
            State::Collision { attempts, .. } => self.collide(now_ps, &attempts, outcomes),
            State::Settling => {}
        }
    }

    /// Nobody sends any more, and all defer that long beyond AIFS.
    fn rest(&mut self, now_ps: u64, defers_ps: u64) {
        self.state = State::Idle;
        self.since_ps = now_ps;
        self.defers_ps = defers_ps;
    }

    /// The number of a station's contender of a category, which is made where there is none.
    fn contender(&mut self, station: usize, category: Category) -> usize {
        let is_it = |contender: &Contender| contender.station == station && contender.category == category;
        self.contenders.iter().position(is_it).unwrap_or_else(|| {
            let aifs_ps = self.timing.aifs_ps(category.aifsn(station == ACCESS_POINT));
            self.contenders.push(Contender::new(station, category, aifs_ps));
            self.contenders.len() - 1
        })
    }

    fn next_sender_ps(&self) -> u64 {
        let due = |contender: &Contender| contender.due_ps(self.since_ps, self.defers_ps);
        self.contenders.iter().map(due).min().unwrap_or(u64::MAX)
    }

    /// A beacon is sent one slot after SIFS, before all others (PIFS).
    fn next_beacon_ps(&self) -> u64 {
        let first = self.since_ps + self.timing.aifs_ps(1);
        if self.beacon_ps.1 == 0 {
            return u64::MAX;
        }
        first + self.beacon_ps.0.saturating_sub(first).div_ceil(SLOT) * SLOT
    }

    /// Has those contenders begin to send whose time it is.
    fn begin(&mut self, now_ps: u64) {
        let (idle_since, defers_ps) = (self.since_ps, self.defers_ps);
        let is_beacon = self.next_beacon_ps() == now_ps;
        self.idle_ps += now_ps - idle_since;
        self.since_ps = now_ps;
        let mut senders = Vec::new();
        for number in 0..self.contenders.len() {
            let (random, drawn) = (&self.random, &mut self.drawn);
            let contender = &mut self.contenders[number];
            if contender.due_ps(idle_since, defers_ps) == now_ps {
                contender.defers_ps = None;
                senders.push(number);
            } else {
                contender.on_busy(now_ps, idle_since, defers_ps, |window| backoff(random, drawn, window));
            }
        }
        // Of one station the most urgent sends; a beacon is before all others of its access point.
        let is_first = |number: &usize| {
            let Contender { station, category, .. } = self.contenders[*number];
            let is_of_beacon = is_beacon && station == ACCESS_POINT;
            let before = |other: &usize| {
                self.contenders[*other].station == station && self.contenders[*other].category > category
            };
            !is_of_beacon && !senders.iter().any(before)
        };
        let (first, postponed): (Vec<usize>, Vec<usize>) =
            senders.iter().partition(|number| is_first(number));
        for number in postponed {
            let (random, drawn) = (&self.random, &mut self.drawn);
            self.contenders[number].on_failure(|window| backoff(random, drawn, window));
        }
        let attempts: Vec<Attempt> =
            first.into_iter().filter_map(|number| self.attempt(now_ps, number)).collect();
        if is_beacon {
            self.beacon_ps.0 += self.beacon_ps.1;
        }
        self.state = match (is_beacon, attempts.as_slice()) {
            (true, []) => State::Beacon { ends_ps: now_ps + self.timing.beacon_ps },
            (false, &[attempt]) => {
                let attempt = Attempt { frames_ps: self.whole_ps(&attempt.aggregate), ..attempt };
                State::Data { attempt, ends_ps: now_ps + attempt.frames_ps }
            }
            _ => {
                let beacon = if is_beacon { self.timing.beacon_ps } else { 0 };
                let longest = attempts.iter().map(|attempt| attempt.frames_ps).fold(beacon, u64::max);
                State::Collision { attempts, ends_ps: now_ps + longest }
            }
        };
    }

    /// Returns what a contender sends now.
    fn attempt(&mut self, now_ps: u64, number: usize) -> Option<Attempt> {
        let contender = &mut self.contenders[number];
        let counters = &mut self.stations[contender.station];
        counters.contention_delay.add(now_ps - contender.ready_ps.max(contender.over_ps));
        let outbox = contender.next_outbox()?;
        let aggregate = contender.outboxes[outbox].take(now_ps, &self.timing, contender.category, counters);
        let needs_rts = self.timing.needs_rts(aggregate.largest_bytes);
        let ppdu_ps = self.timing.phy.ppdu_ps(aggregate.psdu_bytes);
        let frames_ps = if needs_rts { self.timing.rts_ps } else { ppdu_ps };
        Some(Attempt { contender: number, outbox, aggregate, frames_ps })
    }

    /// Returns how long the frames of an aggregate take up to the response.
    fn whole_ps(&self, aggregate: &Aggregate) -> u64 {
        let needs_rts = self.timing.needs_rts(aggregate.largest_bytes);
        let before = if needs_rts { self.timing.protection_ps } else { 0 };
        before + self.timing.phy.ppdu_ps(aggregate.psdu_bytes)
    }

    /// A PPDU that did not collide is over: what it brought is delivered, and its response begins if there is one.
    fn arrive(&mut self, now_ps: u64, attempt: Attempt, outcomes: &mut Vec<Outcome>) {
        let Attempt { contender, aggregate, .. } = attempt;
        let station = self.contenders[contender].station;
        let arrived = self.settle(now_ps, &attempt, false, outcomes);
        let counters = &mut self.stations[station];
        counters.exchanges += 1;
        let sizes = counters.aggregates.len().max(aggregate.mpdus);
        counters.aggregates.resize(sizes, 0);
        counters.aggregates[aggregate.mpdus - 1] += 1;
        let took_ps = now_ps - self.since_ps;
        let phy = &self.timing.phy;
        let airtime = Airtime {
            data_ps: phy.payload_ps(arrived.0),
            errors_ps: phy.payload_ps(arrived.1),
            overhead_ps: took_ps - phy.payload_ps(arrived.0) - phy.payload_ps(arrived.1),
        };
        if arrived.0 > 0 {
            let ends_ps = now_ps + self.timing.sifs_ps + self.timing.response_ps(aggregate.mpdus);
            self.state = State::Response { attempt, ends_ps, airtime };
        } else {
            self.add_airtime(station, airtime, 0);
            self.fail(now_ps, now_ps, contender);
            self.rest(now_ps, self.timing.eifs_ps);
        }
    }

    /// An exchange is over.
    fn succeed(&mut self, now_ps: u64, attempt: Attempt, airtime: Airtime) {
        let contender = &mut self.contenders[attempt.contender];
        contender.over_ps = now_ps;
        contender.on_success(|window| backoff(&self.random, &mut self.drawn, window));
        let station = contender.station;
        let known_ps = airtime.data_ps + airtime.errors_ps + airtime.overhead_ps;
        self.add_airtime(station, airtime, now_ps - self.since_ps - known_ps);
        self.rest(now_ps, 0);
    }

    /// A collision is over.
    fn collide(&mut self, now_ps: u64, attempts: &[Attempt], outcomes: &mut Vec<Outcome>) {
        self.collisions_ps += now_ps - self.since_ps;
        let began_ps = self.since_ps;
        for attempt in attempts {
            self.settle(now_ps, attempt, true, outcomes);
            let counters = &mut self.stations[self.contenders[attempt.contender].station];
            counters.collisions += 1;
            counters.collided_ps += attempt.frames_ps;
            self.fail(now_ps, began_ps + attempt.frames_ps, attempt.contender);
        }
        self.rest(now_ps, self.timing.eifs_ps);
    }

    /// A contender whose frames ended then, and had no response, contends again.
    fn fail(&mut self, now_ps: u64, ended_ps: u64, number: usize) {
        let contender = &mut self.contenders[number];
        contender.over_ps = now_ps;
        contender.on_failure(|window| backoff(&self.random, &mut self.drawn, window));
        let timeout_ps = ended_ps + self.timing.ack_timeout_ps;
        let later_ps = timeout_ps.saturating_sub(now_ps + contender.aifs_ps);
        contender.defers_ps = Some(later_ps.next_multiple_of(SLOT));
    }

    /// Has the MPDUs of an attempt arrive, or not if it collided; gives the bytes of those that did and did not.
    fn settle(
        &mut self,
        now_ps: u64,
        attempt: &Attempt,
        has_collided: bool,
        outcomes: &mut Vec<Outcome>,
    ) -> (u64, u64) {
        let (random, drawn, loss) = (&self.random, &mut self.drawn, self.mpdu_loss);
        let contender = &mut self.contenders[attempt.contender];
        let counters = &mut self.stations[contender.station];
        let mut lost_pkts = 0;
        let reception = contender.outboxes[attempt.outbox].sent(self.tries, || {
            let is_lost = has_collided || (loss > 0.0 && draw(random, drawn) < loss);
            lost_pkts += u64::from(is_lost && !has_collided);
            is_lost
        });
        counters.lost_mpdus_pkts += lost_pkts;
        contender.packets -= reception.packets.len();
        let mut bytes = 0;
        for (packet, has_arrived) in &reception.packets {
            bytes += u64::from(packet.bytes);
            if *has_arrived {
                counters.delivered_pkts += 1;
            } else {
                counters.retry_drops_pkts += 1;
            }
        }
        counters.queued_pkts -= reception.packets.len() as u64;
        counters.queued_bytes -= bytes;
        if bytes > 0 {
            let since = contender.ready_ps.max(contender.over_ps);
            let mean = &mut self.byte_ps[contender.station];
            *mean += WEIGHT * ((now_ps - since) as f64 / bytes as f64 - *mean);
        }
        let (receiver, category) = (contender.outboxes[attempt.outbox].receiver, contender.category);
        for (packet, has_arrived) in reception.packets {
            let outcome = match has_arrived {
                true if packet.to == receiver => Outcome::Delivered(packet.tag),
                true if self.pass_on(now_ps, packet, category) => continue,
                _ => Outcome::Dropped(packet.tag),
            };
            outcomes.push(outcome);
        }
        (reception.arrived_bytes, reception.lost_bytes)
    }

    /// The access point sends a packet on to another station; gives whether its queue takes it.
    fn pass_on(&mut self, now_ps: u64, packet: Msdu, category: Category) -> bool {
        self.offer(now_ps, [ACCESS_POINT, packet.to], category, packet.tag, packet.bytes)
    }

    fn add_airtime(&mut self, station: usize, airtime: Airtime, further_overhead_ps: u64) {
        let sum = &mut self.stations[station].airtime;
        sum.data_ps += airtime.data_ps;
        sum.errors_ps += airtime.errors_ps;
        sum.overhead_ps += airtime.overhead_ps + further_overhead_ps;
    }
}

#[cfg(test)]
mod tests;
