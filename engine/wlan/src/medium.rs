//! The medium: which station begins to send at which time, and the interface of the crate.
//!
//! Each station counts its slots according to the frames that it senses itself ([`crate::airspace`]). A station
//! begins an [`exchange::Exchange`]: frames one after the other, until the acknowledgment or until a frame is not
//! received.

mod exchange;
mod sent;
mod settle;

use crate::Category;
use crate::airspace::Airspace;
use crate::contender::Contender;
use crate::counters::{Counters, DelaySeries};
use crate::outbox::{Msdu, Outbox};
use crate::propagation::Propagation;
use crate::rates::Rates;
use crate::timing::{SLOT, Timing};
use exchange::Exchange;
use nettrial_scenario::random::Random;
use nettrial_scenario::{Airtime, QueueLimit, Wlan, WlanDiscipline, WlanMode, WlanStation};
pub use sent::{Sent, SentBody, SentRate};

/// The station that is the access point; in an ad hoc network, the station that sends beacons.
const ACCESS_POINT: usize = 0;

/// A packet that arrives at a station to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    /// Its access category.
    pub category: Category,
    /// The number of its flow. Packets of one flow share a queue if flows have their own queues.
    pub flow: u32,
    /// True if its transport supports ECN, so that CoDel marks it instead of dropping it (RFC 3168).
    pub can_be_marked: bool,
    /// The number by which outcomes refer to it.
    pub tag: u32,
    /// The bytes of the IP packet.
    pub bytes: u32,
}

/// The outcome of a packet that was offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The packet arrived at its destination.
    Delivered(u32),
    /// CoDel marked the packet. Its final outcome follows later.
    Marked(u32),
    /// The packet was dropped: after its last try, by CoDel, or from a full queue that had accepted it.
    Dropped(u32),
}

/// The medium of an access point, which is station 0, and its stations; in ad hoc mode, of stations alone.
#[derive(Debug)]
pub struct Medium {
    rates: Rates,
    tries: u32,
    mpdu_loss: f64,
    limit: QueueLimit,
    is_fair: bool,
    is_ad_hoc: bool,
    has_cts_to_self: bool,
    airspace: Airspace,
    exchanges: Vec<Exchange>,
    contenders: Vec<Contender>,
    stations: Vec<Counters>,
    /// The time until which the use of the medium is accounted for.
    accounted_ps: u64,
    idle_ps: u64,
    collisions_ps: u64,
    /// The time of the next beacon, and the interval between two beacons; 0 without beacons.
    beacon_ps: (u64, u64),
    /// The outcomes of packets between events.
    early: Vec<Outcome>,
    /// The frames sent since they were last taken, if they are kept.
    sent: Option<Vec<Sent>>,
    /// The time of the next event.
    next_ps: u64,
    /// True while an event is handled.
    is_busy: bool,
    random: Random,
    drawn: u64,
}

/// Returns the next random number in [0, 1).
fn draw(random: &Random, drawn: &mut u64) -> f64 {
    *drawn += 1;
    random.at(*drawn)
}

/// Returns a backoff of 0 to `window` slots.
fn backoff(random: &Random, drawn: &mut u64, window: u64) -> u64 {
    (draw(random, drawn) * (window + 1) as f64) as u64
}

impl Medium {
    /// Returns the medium of settings that have passed their scenario's checks, and of these stations, the access
    /// point first: the result of `Link::stations`.
    pub fn new(wlan: &Wlan, stations: &[WlanStation], random: Random) -> Self {
        let interval = wlan.beacon_interval.0 * 1000;
        let beacon_ps = (if interval > 0 { 0 } else { u64::MAX }, interval);
        Self::with_rates(Rates::new(wlan, stations), wlan, stations, beacon_ps, random)
    }

    /// Returns the medium of a channel with these rates.
    fn with_rates(
        rates: Rates,
        wlan: &Wlan,
        stations: &[WlanStation],
        beacon_ps: (u64, u64),
        random: Random,
    ) -> Self {
        let timing = rates.usual();
        let airspace = Airspace::new(Propagation::new(wlan, stations), stations.len(), timing.eifs_ps);
        let mut new = Self {
            rates,
            tries: wlan.tries,
            mpdu_loss: wlan.mpdu_loss,
            limit: wlan.queue,
            is_fair: wlan.discipline == WlanDiscipline::FqCodel,
            is_ad_hoc: wlan.mode == WlanMode::AdHoc,
            has_cts_to_self: wlan.cts_to_self,
            airspace,
            exchanges: Vec::new(),
            contenders: Vec::new(),
            stations: vec![Counters::default(); stations.len()],
            accounted_ps: 0,
            idle_ps: 0,
            collisions_ps: 0,
            beacon_ps,
            early: Vec::new(),
            sent: None,
            next_ps: 0,
            is_busy: false,
            random,
            drawn: 0,
        };
        new.next_ps = new.next_event_ps();
        new
    }

    /// Returns a medium on which a collision makes no station wait longer than a success, as models of saturation
    /// assume.
    #[cfg(test)]
    pub(crate) fn without_penalties(wlan: &Wlan, stations: &[WlanStation], random: Random) -> Self {
        let mut rates = Rates::new(wlan, stations);
        for timing in rates.all_mut() {
            (timing.eifs_ps, timing.ack_timeout_ps) = (0, 0);
        }
        Self::with_rates(rates, wlan, stations, (u64::MAX, 0), random)
    }

    /// Returns the times and sizes of the channel's own rate.
    pub fn timing(&self) -> &Timing {
        self.rates.usual()
    }

    /// Begins to keep the delays of all stations over time.
    pub fn keep_delays(&mut self) {
        self.stations.iter_mut().for_each(|counters| counters.delays = Some(DelaySeries::default()));
    }

    /// Offers a packet at station `from` for station `to`. Returns whether the queue accepts it.
    pub fn offer(&mut self, now_ps: u64, [from, to]: [usize; 2], packet: Packet) -> bool {
        let Packet { category, flow, can_be_marked, tag, bytes } = packet;
        let counters = &mut self.stations[from];
        counters.offered_pkts += 1;
        let is_full = match self.limit {
            QueueLimit::Packets(most) => counters.queued_pkts >= u64::from(most),
            QueueLimit::Bytes(most) => counters.queued_bytes + u64::from(bytes) > most.0,
        };
        if is_full && !self.is_fair {
            counters.queue_drops_pkts += 1;
            return false;
        }
        counters.queued_pkts += 1;
        counters.queued_bytes += u64::from(bytes);
        // A station sends only to the access point.
        let receiver = if from == ACCESS_POINT || self.is_ad_hoc { to } else { ACCESS_POINT };
        let number = self.contender(from, category);
        let is_busy = self.is_busy || self.airspace.is_busy(from, now_ps);
        let rates = &self.rates;
        let contender = &mut self.contenders[number];
        let outbox = contender.outbox(receiver, self.is_fair, || rates.choice(from, receiver));
        outbox.push(Msdu { tag, flow, can_be_marked, bytes, to, came_ps: now_ps });
        contender.on_packet(now_ps, is_busy, |window| backoff(&self.random, &mut self.drawn, window));
        if is_full {
            self.drop_fattest(from);
        }
        if !self.early.is_empty() {
            self.next_ps = self.next_ps.min(now_ps);
        } else if !self.is_busy {
            self.next_ps = self.next_ps.min(self.due_ps(&self.contenders[number]));
        }
        true
    }

    /// Drops the first packet of the flow of a station that has the most bytes.
    fn drop_fattest(&mut self, station: usize) {
        let of_station =
            (0..self.contenders.len()).filter(|number| self.contenders[*number].station == station);
        let outboxes = of_station
            .flat_map(|number| (0..self.contenders[number].outboxes.len()).map(move |place| (number, place)));
        let fattest =
            outboxes.max_by_key(|(number, place)| self.contenders[*number].outboxes[*place].fattest_bytes());
        let Some((number, place)) = fattest else { return };
        if let Some(packet) = self.contenders[number].change(place, Outbox::drop_fattest) {
            self.stations[station].queue_drops_pkts += 1;
            self.forget(station, packet);
        }
    }

    /// Updates the counters after a station dropped a packet.
    fn forget(&mut self, station: usize, packet: Msdu) {
        let counters = &mut self.stations[station];
        counters.queued_pkts -= 1;
        counters.queued_bytes -= u64::from(packet.bytes);
        self.early.push(Outcome::Dropped(packet.tag));
    }

    /// Returns the counters of station `number`.
    pub fn counters(&self, number: usize) -> &Counters {
        &self.stations[number]
    }

    /// Returns the streams and the MCS of a rate by its index, as in [`crate::RateCounts`].
    pub fn rate(&self, place: usize) -> (u32, u32) {
        self.rates.name(place)
    }

    /// Returns the time until `now_ps` in which no station used the medium, and the time in which several did, in
    /// picoseconds.
    pub fn unused_ps(&self, now_ps: u64) -> (u64, u64) {
        let since_ps = now_ps - self.accounted_ps;
        match self.user() {
            User::Nobody => (self.idle_ps + since_ps, self.collisions_ps),
            User::Several => (self.idle_ps, self.collisions_ps + since_ps),
            User::One(_) => (self.idle_ps, self.collisions_ps),
        }
    }

    /// Returns the airtime of station `number` until `now_ps`. An exchange in progress counts as overhead.
    pub fn airtime(&self, now_ps: u64, number: usize) -> Airtime {
        let mut airtime = self.stations[number].airtime;
        let going_on = self.exchanges.iter().filter(|exchange| exchange.station == number);
        airtime.overhead_ps += going_on.map(|exchange| exchange.used_ps).sum::<u64>();
        if let User::One(place) = self.user()
            && self.exchanges[place].station == number
        {
            airtime.overhead_ps += now_ps - self.accounted_ps;
        }
        airtime
    }

    /// Returns the time of the next event; `u64::MAX` if there is none until a packet is offered.
    pub fn next(&self) -> u64 {
        self.next_ps
    }

    /// Handles the event at the time that [`Medium::next`] returned. The outcomes of packets are added to
    /// `outcomes`.
    pub fn advance(&mut self, now_ps: u64, outcomes: &mut Vec<Outcome>) {
        self.account(now_ps);
        self.is_busy = true;
        self.end_frames(now_ps, outcomes);
        self.begin_frames(now_ps);
        self.is_busy = false;
        outcomes.append(&mut self.early);
        self.next_ps = self.next_event_ps();
    }

    /// Returns the current user of the medium.
    fn user(&self) -> User {
        match self.exchanges.as_slice() {
            [] => User::Nobody,
            [one] if !one.has_collided && one.frame.is_none_or(|frame| !self.airspace.is_lost(frame)) => {
                User::One(0)
            }
            _ => User::Several,
        }
    }

    /// Accounts for the use of the medium until now.
    fn account(&mut self, now_ps: u64) {
        let since_ps = now_ps - self.accounted_ps;
        match self.user() {
            User::Nobody => self.idle_ps += since_ps,
            User::Several => self.collisions_ps += since_ps,
            User::One(place) => self.exchanges[place].used_ps += since_ps,
        }
        self.accounted_ps = now_ps;
    }

    /// Returns the number of a station's contender of a category, which is created if there is none.
    fn contender(&mut self, station: usize, category: Category) -> usize {
        let is_it = |contender: &Contender| contender.station == station && contender.category == category;
        self.contenders.iter().position(is_it).unwrap_or_else(|| {
            let is_access_point = station == ACCESS_POINT && !self.is_ad_hoc;
            let aifs_ps = self.timing().aifs_ps(category.aifsn(is_access_point));
            self.contenders.push(Contender::new(station, category, aifs_ps, self.tries));
            self.contenders.len() - 1
        })
    }

    /// Returns the time of the next event.
    fn next_event_ps(&self) -> u64 {
        let of_exchanges = self.exchanges.iter().map(|exchange| exchange.next_ps);
        let of_contenders = self.contenders.iter().map(|contender| self.due_ps(contender));
        of_exchanges.chain(of_contenders).min().unwrap_or(u64::MAX).min(self.next_beacon_ps())
    }

    /// Returns the time at which a contender sends if nobody whom it hears does before.
    fn due_ps(&self, contender: &Contender) -> u64 {
        let idle = self.airspace.idle(contender.station);
        idle.map_or(u64::MAX, |(since_ps, defers_ps)| contender.due_ps(since_ps, defers_ps))
    }

    /// Returns the time of the next beacon, which is sent one slot after SIFS, before all other frames (PIFS).
    fn next_beacon_ps(&self) -> u64 {
        let Some((since_ps, _)) = self.airspace.idle(ACCESS_POINT) else { return u64::MAX };
        if self.beacon_ps.1 == 0 {
            return u64::MAX;
        }
        let first = since_ps + self.timing().aifs_ps(1);
        first + self.beacon_ps.0.saturating_sub(first).div_ceil(SLOT) * SLOT
    }

    /// Begins all frames whose time it is: those of contenders that have waited, and those of exchanges in
    /// progress.
    fn begin_frames(&mut self, now_ps: u64) {
        let is_beacon = self.next_beacon_ps() == now_ps;
        let is_due = |number: &usize| self.due_ps(&self.contenders[*number]) == now_ps;
        let due: Vec<usize> = (0..self.contenders.len()).filter(is_due).collect();
        let goes_on = |exchange: &Exchange| exchange.frame.is_none() && exchange.next_ps == now_ps;
        let going_on: Vec<usize> =
            (0..self.exchanges.len()).filter(|place| goes_on(&self.exchanges[*place])).collect();
        if !is_beacon && due.is_empty() && going_on.is_empty() {
            return;
        }
        let of_due = due.iter().map(|number| self.contenders[*number].station);
        let of_exchanges = going_on.iter().map(|place| self.exchanges[*place].sender());
        let senders: Vec<usize> =
            of_due.chain(of_exchanges).chain(is_beacon.then_some(ACCESS_POINT)).collect();
        self.interrupt(now_ps, &due, &senders);
        // The most urgent contender of a station sends; a beacon comes before all others of its access point.
        let is_first = |number: &usize| {
            let Contender { station, category, .. } = self.contenders[*number];
            let is_of_beacon = is_beacon && station == ACCESS_POINT;
            let before = |other: &usize| {
                self.contenders[*other].station == station && self.contenders[*other].category > category
            };
            !is_of_beacon && !due.iter().any(before)
        };
        let (first, postponed): (Vec<usize>, Vec<usize>) = due.iter().partition(|number| is_first(number));
        for number in postponed {
            let (random, drawn) = (&self.random, &mut self.drawn);
            self.contenders[number].on_failure(|window| backoff(random, drawn, window));
        }
        for place in going_on {
            self.send(now_ps, place);
        }
        for number in first {
            if let Some(exchange) = self.attempt(now_ps, number) {
                self.exchanges.push(exchange);
                self.send(now_ps, self.exchanges.len() - 1);
            }
        }
        if is_beacon {
            self.beacon_ps.0 += self.beacon_ps.1;
            self.exchanges.push(Exchange::of_beacon(ACCESS_POINT));
            self.send(now_ps, self.exchanges.len() - 1);
        }
        self.airspace.interfere(now_ps);
    }

    /// Makes the contenders that are not due count the slots that have begun, where they hear one of the stations
    /// that begin to send.
    fn interrupt(&mut self, now_ps: u64, due: &[usize], senders: &[usize]) {
        for number in 0..self.contenders.len() {
            let (random, drawn) = (&self.random, &mut self.drawn);
            let contender = &mut self.contenders[number];
            if due.contains(&number) {
                contender.defers_ps = None;
                continue;
            }
            let Some((since_ps, defers_ps)) = self.airspace.idle(contender.station) else { continue };
            let station = contender.station;
            let senses = |from: &usize| self.airspace.propagation.senses(*from, station);
            if since_ps <= now_ps && senders.iter().any(senses) {
                contender.on_busy(now_ps, since_ps, defers_ps, |window| backoff(random, drawn, window));
            }
        }
    }
}

/// The user of the medium: the exchange with this index.
enum User {
    Nobody,
    One(usize),
    Several,
}

#[cfg(test)]
mod tests;
