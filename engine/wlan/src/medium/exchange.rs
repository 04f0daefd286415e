//! An exchange, frame by frame: the frames of a contender, and the responses to them.

use super::{Medium, Outcome, draw};
use crate::airspace::Frame;
use crate::outbox::Aggregate;

/// The frame of an exchange that is in the air or comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    Beacon,
    Rts,
    Cts,
    CtsToSelf,
    Data,
    /// An acknowledgment.
    Response,
    /// No frame: one was not received, and its sender waits until it hears nothing.
    Failed,
    /// No frame: the exchange is over.
    Done,
}

/// The frames that a contender sends together, and the responses to them.
#[derive(Debug, Clone, Copy)]
pub struct Exchange {
    /// Its contender; `None` for a beacon.
    pub contender: Option<usize>,
    /// The station of the contender.
    pub station: usize,
    /// The station to which it sends.
    pub receiver: usize,
    /// The index of the contender's outbox.
    pub outbox: usize,
    /// The index of the rate.
    pub rate: usize,
    /// The MPDUs that are sent.
    pub aggregate: Aggregate,
    /// The frame in the air or the next one.
    pub step: Step,
    /// The number of the frame in the air; `None` between two frames.
    pub frame: Option<u64>,
    /// The time at which that frame ends, or at which the next one begins.
    pub next_ps: u64,
    /// The time at which its acknowledgment ends, or would end.
    pub planned_ps: u64,
    /// The end of the TXOP to which it belongs.
    pub txop_ps: u64,
    /// The airtime of the frames that its station sent.
    pub sent_ps: u64,
    /// The time for which it alone used the medium and which is not yet accounted for.
    pub used_ps: u64,
    /// The bytes of MPDUs that arrived, and of those that did not.
    pub bytes: (u64, u64),
    /// True if a frame collided.
    pub has_collided: bool,
}

impl Exchange {
    /// Returns the exchange of a beacon.
    pub fn of_beacon(station: usize) -> Self {
        Self {
            contender: None,
            station,
            receiver: station,
            outbox: 0,
            rate: 0,
            aggregate: Aggregate::default(),
            step: Step::Beacon,
            frame: None,
            next_ps: 0,
            planned_ps: 0,
            txop_ps: 0,
            sent_ps: 0,
            used_ps: 0,
            bytes: (0, 0),
            has_collided: false,
        }
    }

    /// Returns the station that sends the frame in the air, or the next one.
    pub fn sender(&self) -> usize {
        if matches!(self.step, Step::Cts | Step::Response) { self.receiver } else { self.station }
    }

    /// Plans the next frame.
    fn plan(&mut self, step: Step, next_ps: u64) {
        (self.step, self.next_ps) = (step, next_ps);
    }
}

impl Medium {
    /// Returns the exchange that a contender begins after it has waited; `None` if it has nothing to send.
    pub(super) fn attempt(&mut self, now_ps: u64, number: usize) -> Option<Exchange> {
        let contender = &mut self.contenders[number];
        let (station, category) = (contender.station, contender.category);
        let waits_since_ps = contender.ready_ps.max(contender.over_ps);
        self.stations[station].contended(now_ps, now_ps - waits_since_ps);
        let outbox = contender.next_outbox()?;
        let txop_ps = now_ps + category.txop_limit_ps();
        let exchange =
            Exchange { contender: Some(number), station, outbox, txop_ps, ..Exchange::of_beacon(station) };
        let mut exchange = self.load(now_ps, exchange, None)?;
        let timing = self.rates.get(exchange.rate);
        exchange.step = if timing.needs_rts(exchange.aggregate.largest_bytes) {
            Step::Rts
        } else if self.has_cts_to_self {
            Step::CtsToSelf
        } else {
            Step::Data
        };
        let before_ps = match exchange.step {
            Step::Rts => timing.protection_ps,
            Step::CtsToSelf => timing.cts_ps + timing.sifs_ps,
            _ => 0,
        };
        exchange.planned_ps = now_ps + before_ps + self.data_ps(&exchange) + self.answer_ps(&exchange);
        Some(exchange)
    }

    /// Returns the exchange with the MPDUs to be sent next, and their rate. If `begins_ps` is given, the data
    /// begins then within a TXOP, and there is no exchange if the first MPDU and its acknowledgment would exceed
    /// the TXOP.
    fn load(&mut self, now_ps: u64, exchange: Exchange, begins_ps: Option<u64>) -> Option<Exchange> {
        let Exchange { contender, outbox: place, station, txop_ps, .. } = exchange;
        let contender = &mut self.contenders[contender?];
        let category = contender.category;
        let (rate, is_sample) = contender.outboxes[place].choice.pick(now_ps);
        let timing = self.rates.get(rate);
        contender.change(place, |outbox| outbox.stage(now_ps, timing));
        let outbox = &contender.outboxes[place];
        let most_mpdus = if is_sample { 1 } else { timing.mpdus };
        let mut most_bytes = timing.most_bytes[category as usize];
        if let Some(begins_ps) = begins_ps {
            let answer_ps = timing.sifs_ps + timing.response_ps(timing.mpdus);
            let left_ps = txop_ps.saturating_sub(begins_ps + answer_ps);
            most_bytes = most_bytes.min(timing.phy.most_bytes(left_ps));
            if timing.psdu_bytes(1, timing.ampdu_with(0, outbox.next_bytes(timing)?)) > most_bytes {
                return None;
            }
        }
        let counters = &mut self.stations[station];
        let most = (most_mpdus, most_bytes);
        let aggregate =
            contender.change(place, |outbox| outbox.take(now_ps, timing, category, most, counters));
        let outbox = &mut contender.outboxes[place];
        let (receiver, (dropped, marked)) = (outbox.receiver, outbox.take_dropped_and_marked());
        counters.codel_drops_pkts += dropped.len() as u64;
        counters.codel_marks_pkts += marked.len() as u64;
        self.early.extend(marked.into_iter().map(Outcome::Marked));
        dropped.into_iter().for_each(|packet| self.forget(station, packet));
        Some(Exchange { receiver, rate, aggregate, bytes: (0, 0), sent_ps: 0, ..exchange })
    }

    /// Continues the exchange with that index after it succeeded: after SIFS with the next fragment, or with
    /// further MPDUs if the TXOP of its category has room for them (clause 10.23.2.8). Returns whether it
    /// continues.
    pub(super) fn go_further(&mut self, now_ps: u64, place: usize) -> bool {
        let exchange = self.exchanges[place];
        let Some(number) = exchange.contender else { return false };
        let contender = &mut self.contenders[number];
        let begins_ps = now_ps + self.rates.get(exchange.rate).sifs_ps;
        let next = if contender.outboxes[exchange.outbox].has_further_fragments() {
            self.load(now_ps, exchange, None)
        } else if contender.category.txop_limit_ps() > 0
            && let Some(outbox) = contender.next_outbox()
        {
            self.load(now_ps, Exchange { outbox, ..exchange }, Some(begins_ps))
        } else {
            None
        };
        let Some(mut next) = next else { return false };
        next.plan(Step::Data, begins_ps);
        next.planned_ps = begins_ps + self.data_ps(&next) + self.answer_ps(&next);
        self.exchanges[place] = next;
        true
    }

    /// Returns the duration of an exchange's data in picoseconds.
    fn data_ps(&self, exchange: &Exchange) -> u64 {
        self.rates.get(exchange.rate).phy.ppdu_ps(exchange.aggregate.psdu_bytes)
    }

    /// Returns the time from the end of an exchange's data to the end of its acknowledgment, in picoseconds.
    pub(super) fn answer_ps(&self, exchange: &Exchange) -> u64 {
        let timing = self.rates.get(exchange.rate);
        timing.sifs_ps + timing.response_ps(exchange.aggregate.mpdus)
    }

    /// Begins the next frame of the exchange with that index.
    pub(super) fn send(&mut self, now_ps: u64, place: usize) {
        let exchange = &self.exchanges[place];
        let timing = self.rates.get(exchange.rate);
        let (to, takes_ps) = match exchange.step {
            Step::Beacon => (None, timing.beacon_ps),
            Step::Rts => (Some(exchange.receiver), timing.rts_ps),
            Step::CtsToSelf => (None, timing.cts_ps),
            Step::Cts => (Some(exchange.station), timing.cts_ps),
            Step::Data => (Some(exchange.receiver), self.data_ps(exchange)),
            Step::Response => (Some(exchange.station), timing.response_ps(exchange.aggregate.mpdus)),
            Step::Failed | Step::Done => return,
        };
        let preamble_ps =
            if exchange.step == Step::Data { timing.phy.preamble_ps() } else { timing.preamble_ps };
        let from = exchange.sender();
        let frame = self.airspace.begin(now_ps, from, to, preamble_ps);
        let exchange = &mut self.exchanges[place];
        exchange.frame = Some(frame);
        if exchange.step == Step::Data && self.rates.has_control() {
            let rate_bps = self.rates.get(exchange.rate).phy.rate_bps();
            self.stations[from].rates.add(now_ps, exchange.rate, rate_bps);
        }
        exchange.next_ps = now_ps + takes_ps;
        if from == exchange.station {
            exchange.sent_ps += takes_ps;
        }
        if self.sent.is_some() {
            self.note_sent(now_ps, place, takes_ps);
        }
    }

    /// Ends all frames whose time it is, and lets their exchanges continue or fail.
    pub(super) fn end_frames(&mut self, now_ps: u64, outcomes: &mut Vec<Outcome>) {
        let mut ended = Vec::new();
        for place in 0..self.exchanges.len() {
            let exchange = &mut self.exchanges[place];
            if exchange.next_ps == now_ps
                && let Some(number) = exchange.frame.take()
                && let Some(frame) = self.airspace.end(now_ps, number)
            {
                exchange.has_collided |= frame.is_lost;
                ended.push((place, frame));
            }
        }
        if ended.is_empty() {
            return;
        }
        self.airspace.interfere(now_ps);
        for (place, frame) in &ended {
            self.go_on(now_ps, *place, frame, outcomes);
        }
        for place in 0..self.exchanges.len() {
            let Exchange { step, station, .. } = self.exchanges[place];
            if step == Step::Failed && !self.airspace.senses_any(station) {
                self.give_up(now_ps, place, outcomes);
            }
        }
        self.exchanges.retain(|exchange| exchange.step != Step::Done);
    }

    /// Continues an exchange after the end of a frame.
    fn go_on(&mut self, now_ps: u64, place: usize, frame: &Frame, outcomes: &mut Vec<Outcome>) {
        let Exchange { step, station, receiver, rate, planned_ps, .. } = self.exchanges[place];
        let timing = self.rates.get(rate);
        let next_ps = now_ps + timing.sifs_ps;
        let bytes = match step {
            Step::Rts => timing.rts_bytes(),
            Step::Response => timing.response_bytes(self.exchanges[place].aggregate.mpdus),
            _ => timing.cts_bytes(),
        };
        match step {
            Step::Beacon => self.end_beacon(place),
            Step::Rts => {
                let answers = !self.airspace.is_reserved(receiver, now_ps);
                if self.has_control(frame, rate, bytes) && answers {
                    self.airspace.reserve(station, [station, receiver], planned_ps);
                    self.exchanges[place].plan(Step::Cts, next_ps);
                } else {
                    self.fail(now_ps, place, frame);
                }
            }
            Step::Cts => {
                if self.has_control(frame, rate, bytes) {
                    self.airspace.reserve(receiver, [station, receiver], planned_ps);
                    self.exchanges[place].plan(Step::Data, next_ps);
                } else {
                    self.fail(now_ps, place, frame);
                }
            }
            Step::CtsToSelf => {
                self.airspace.reserve(station, [station, station], planned_ps);
                self.exchanges[place].plan(Step::Data, next_ps);
            }
            Step::Data if frame.is_lost => self.fail(now_ps, place, frame),
            Step::Data => self.arrive(now_ps, place, frame, outcomes),
            Step::Response => {
                let is_received = self.has_control(frame, rate, bytes);
                self.conclude(now_ps, place, is_received, outcomes);
            }
            Step::Failed | Step::Done => {}
        }
    }

    /// Ends a beacon, which counts if nothing collided with it.
    fn end_beacon(&mut self, place: usize) {
        let Exchange { station, used_ps, .. } = self.exchanges[place];
        self.stations[station].beacons += u64::from(!self.airspace.has_clash(station));
        self.stations[station].airtime.overhead_ps += used_ps;
        self.exchanges[place].step = Step::Done;
    }

    /// Returns whether a control frame is received.
    fn has_control(&mut self, frame: &Frame, rate: usize, bytes: u64) -> bool {
        let Some(to) = frame.to.filter(|_| !frame.is_lost) else { return false };
        let worst_mw = frame.worst_mw(frame.began_ps, u64::MAX);
        let timing = self.rates.get(rate);
        let Some(errors) = timing.control_errors else {
            return self.airspace.propagation.captures(frame.from, to, worst_mw);
        };
        let snr = self.airspace.propagation.sinr(frame.from, to, worst_mw);
        let lost = -(bytes as f64 * errors.log_success(snr)).exp_m1();
        lost <= 0.0 || draw(&self.random, &mut self.drawn) >= lost
    }

    /// Notes that a frame of an exchange was not received; its sender waits until it hears nothing.
    fn fail(&mut self, now_ps: u64, place: usize, frame: &Frame) {
        let Exchange { contender, outbox, rate, aggregate, step, planned_ps, .. } = self.exchanges[place];
        if step == Step::Data
            && let Some(number) = contender
        {
            self.contenders[number].outboxes[outbox].choice.learn(rate, aggregate.mpdus, 0);
        }
        self.airspace.release(now_ps, frame.from, planned_ps);
        let exchange = &mut self.exchanges[place];
        exchange.has_collided |= frame.is_interfered();
        exchange.planned_ps = now_ps;
        exchange.plan(Step::Failed, u64::MAX);
    }
}
