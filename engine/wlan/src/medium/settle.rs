//! The outcome of exchanges: MPDUs that arrive, are acknowledged, retransmitted or dropped, and the airtime used.

use super::exchange::{Exchange, Step};
use super::{ACCESS_POINT, Medium, Outcome, Packet, backoff, draw};
use crate::Category;
use crate::airspace::Frame;
use crate::contender::Contender;
use crate::errors::Errors;
use crate::outbox::{Aggregate, Msdu, Reception};
use crate::propagation::Propagation;
use crate::timing::{SLOT, Timing};

impl Medium {
    /// Handles the end of an exchange's data whose preamble was received: each MPDU has arrived or is lost, and if
    /// any arrived, the acknowledgment follows.
    pub(super) fn arrive(&mut self, now_ps: u64, place: usize, frame: &Frame, outcomes: &mut Vec<Outcome>) {
        let Exchange { contender, station, receiver, outbox, rate, aggregate, .. } = self.exchanges[place];
        let Some(number) = contender else { return };
        let timing = self.rates.get(rate);
        let mut chances =
            Chances::new(&self.airspace.propagation, frame, timing, &aggregate, self.mpdu_loss, now_ps);
        let (random, drawn) = (&self.random, &mut self.drawn);
        let (mut lost_pkts, mut has_collided) = (0, false);
        let reception = self.contenders[number].change(outbox, |outbox| {
            outbox.sent(self.tries, |bytes| {
                let (probability, is_interfered) = chances.of_next(bytes);
                let is_lost = probability > 0.0 && draw(random, drawn) < probability;
                lost_pkts += u64::from(is_lost);
                has_collided |= is_lost && is_interfered;
                is_lost
            })
        });
        self.stations[station].lost_mpdus_pkts += lost_pkts;
        let Reception { arrived_bytes, lost_bytes, arrived, .. } = reception;
        self.contenders[number].outboxes[outbox].choice.learn(rate, aggregate.mpdus, arrived);
        self.hand_over(now_ps, number, outbox, reception.packets, outcomes);
        let counters = &mut self.stations[station];
        if arrived == 0 && has_collided {
            counters.collisions += 1;
            counters.collided_ps += self.exchanges[place].sent_ps;
        } else {
            counters.exchanges += 1;
            let sizes = counters.aggregates.len().max(aggregate.mpdus);
            counters.aggregates.resize(sizes, 0);
            counters.aggregates[aggregate.mpdus - 1] += 1;
        }
        let ends_ps = now_ps + self.answer_ps(&self.exchanges[place]);
        let next_ps = now_ps + self.rates.get(rate).sifs_ps;
        let exchange = &mut self.exchanges[place];
        exchange.bytes = (arrived_bytes, lost_bytes);
        if arrived > 0 {
            (exchange.step, exchange.next_ps, exchange.planned_ps) = (Step::Response, next_ps, ends_ps);
            self.airspace.reserve(station, [station, receiver], ends_ps);
            return;
        }
        exchange.step = Step::Done;
        let planned_ps = exchange.planned_ps;
        self.add_airtime(place);
        self.contend_again(now_ps, now_ps, number);
        self.airspace.release(now_ps, station, planned_ps);
    }

    /// Handles the end of an exchange's acknowledgment, which was received or not.
    pub(super) fn conclude(
        &mut self,
        now_ps: u64,
        place: usize,
        is_received: bool,
        outcomes: &mut Vec<Outcome>,
    ) {
        let Exchange { contender, outbox, receiver, planned_ps, .. } = self.exchanges[place];
        let Some(number) = contender else { return };
        let tries = self.tries;
        let packets = self.contenders[number].change(outbox, |outbox| outbox.acknowledge(tries, is_received));
        self.hand_over(now_ps, number, outbox, packets, outcomes);
        self.add_airtime(place);
        self.contenders[number].over_ps = now_ps;
        if !is_received {
            self.exchanges[place].step = Step::Done;
            self.contend_again(now_ps, now_ps, number);
            self.airspace.release(now_ps, receiver, planned_ps);
        } else if !self.go_further(now_ps, place) {
            self.exchanges[place].step = Step::Done;
            self.contenders[number].on_success(|window| backoff(&self.random, &mut self.drawn, window));
        }
    }

    /// Handles the end of a failed exchange, whose sender hears nothing any more.
    pub(super) fn give_up(&mut self, now_ps: u64, place: usize, outcomes: &mut Vec<Outcome>) {
        let Exchange { contender, station, outbox, has_collided, sent_ps, planned_ps, .. } =
            self.exchanges[place];
        let Some(number) = contender else { return };
        let tries = self.tries;
        let reception = self.contenders[number].change(outbox, |outbox| outbox.sent(tries, |_| true));
        self.hand_over(now_ps, number, outbox, reception.packets, outcomes);
        let counters = &mut self.stations[station];
        if has_collided {
            counters.collisions += 1;
            counters.collided_ps += sent_ps;
        } else {
            counters.exchanges += 1;
        }
        self.exchanges[place].step = Step::Done;
        self.add_airtime(place);
        self.contend_again(now_ps, planned_ps, number);
    }

    /// Makes a contender contend again whose frames ended at `ended_ps` without a response.
    fn contend_again(&mut self, now_ps: u64, ended_ps: u64, number: usize) {
        let ack_timeout_ps = self.timing().ack_timeout_ps;
        let contender = &mut self.contenders[number];
        contender.over_ps = now_ps;
        contender.on_failure(|window| backoff(&self.random, &mut self.drawn, window));
        let later_ps = (ended_ps + ack_timeout_ps).saturating_sub(now_ps + contender.aifs_ps);
        // If it hears other stations, it defers to them.
        let hears = self.airspace.senses_any(contender.station);
        contender.defers_ps = (!hears).then(|| later_ps.next_multiple_of(SLOT));
    }

    /// Reports packets of an outbox as delivered, or as dropped if their flag is false; packets for other stations
    /// are passed on.
    fn hand_over(
        &mut self,
        now_ps: u64,
        number: usize,
        outbox: usize,
        packets: Vec<(Msdu, bool)>,
        outcomes: &mut Vec<Outcome>,
    ) {
        let contender = &self.contenders[number];
        let (receiver, category) = (contender.outboxes[outbox].receiver, contender.category);
        let counters = &mut self.stations[contender.station];
        let mut bytes = 0;
        for (packet, has_arrived) in &packets {
            bytes += u64::from(packet.bytes);
            *(if *has_arrived { &mut counters.delivered_pkts } else { &mut counters.retry_drops_pkts }) += 1;
        }
        counters.queued_pkts -= packets.len() as u64;
        counters.queued_bytes -= bytes;
        for (packet, has_arrived) in packets {
            let outcome = match has_arrived {
                true if packet.to == receiver => Outcome::Delivered(packet.tag),
                true if self.pass_on(now_ps, packet, category) => continue,
                _ => Outcome::Dropped(packet.tag),
            };
            outcomes.push(outcome);
        }
    }

    /// Passes a packet on from the access point to another station. Returns whether its queue accepts it.
    fn pass_on(&mut self, now_ps: u64, packet: Msdu, category: Category) -> bool {
        let Msdu { tag, flow, can_be_marked, bytes, to, .. } = packet;
        self.offer(now_ps, [ACCESS_POINT, to], Packet { category, flow, can_be_marked, tag, bytes })
    }

    /// Accounts for the time in which an exchange alone used the medium.
    fn add_airtime(&mut self, place: usize) {
        self.use_airtime(place);
        let Exchange { station, rate, bytes, used_ps, .. } = self.exchanges[place];
        let phy = &self.rates.get(rate).phy;
        let data_ps = phy.payload_ps(bytes.0).min(used_ps);
        let errors_ps = phy.payload_ps(bytes.1).min(used_ps - data_ps);
        let sum = &mut self.stations[station].airtime;
        sum.data_ps += data_ps;
        sum.errors_ps += errors_ps;
        sum.overhead_ps += used_ps - data_ps - errors_ps;
        self.exchanges[place].used_ps = 0;
    }
}

impl Medium {
    /// Subtracts the transmissions of an exchange's sender from its receiver's share of airtime, and, if anything
    /// arrived, also from the sender's share at that receiver (AIRTIME_USE_TX and AIRTIME_USE_RX of mac80211).
    fn use_airtime(&mut self, place: usize) {
        let Exchange { contender, station, receiver, outbox, sent_ps, bytes, .. } = self.exchanges[place];
        let Some(number) = contender.filter(|_| self.is_fair) else { return };
        self.contenders[number].outboxes[outbox].use_airtime(sent_ps);
        let category = self.contenders[number].category;
        let is_receiver =
            |other: &&mut Contender| other.station == receiver && other.category == category && bytes.0 > 0;
        let of_receiver =
            self.contenders.iter_mut().filter(is_receiver).flat_map(|other| &mut other.outboxes);
        of_receiver.filter(|back| back.receiver == station).for_each(|back| back.use_airtime(sent_ps));
    }
}

/// The loss probabilities of the MPDUs of a PPDU, one after the other.
struct Chances<'a> {
    propagation: &'a Propagation,
    frame: &'a Frame,
    to: usize,
    errors: Option<Errors>,
    loss: f64,
    /// The time at which the PSDU begins, in picoseconds.
    begins_ps: u64,
    /// The duration of the PSDU in picoseconds.
    takes_ps: u64,
    /// The bytes of the PSDU.
    psdu_bytes: u64,
    /// The bytes of the MPDUs before the next one.
    before_bytes: u64,
    /// The logarithm of the probability that a byte is received with noise alone.
    clean: f64,
}

impl<'a> Chances<'a> {
    /// Returns the loss probabilities of the MPDUs of a PPDU.
    fn new(
        propagation: &'a Propagation,
        frame: &'a Frame,
        timing: &Timing,
        aggregate: &Aggregate,
        loss: f64,
        now_ps: u64,
    ) -> Self {
        let begins_ps = frame.began_ps + timing.phy.preamble_ps();
        let to = frame.to.unwrap_or(frame.from);
        let snr = propagation.sinr(frame.from, to, 0.0);
        Self {
            propagation,
            frame,
            to,
            errors: timing.errors,
            loss,
            begins_ps,
            takes_ps: now_ps - begins_ps,
            psdu_bytes: aggregate.psdu_bytes,
            before_bytes: 0,
            clean: timing.errors.map_or(0.0, |errors| errors.log_success(snr)),
        }
    }

    /// Returns the probability that the next MPDU, of that many bytes, is lost, and whether there was interference
    /// during it. Delimiters and padding are distributed over the MPDUs.
    fn of_next(&mut self, bytes: u64) -> (f64, bool) {
        let mut log_success = self.clean;
        let mut worst_mw = 0.0;
        if self.frame.is_interfered() {
            let at = |bytes: u64| {
                let since_ps = u128::from(self.takes_ps) * u128::from(bytes) / u128::from(self.psdu_bytes);
                self.begins_ps + since_ps as u64
            };
            worst_mw = self.frame.worst_mw(at(self.before_bytes), at(self.before_bytes + bytes + 4));
        }
        self.before_bytes += bytes.next_multiple_of(4) + 4;
        if worst_mw > 0.0 {
            let sinr = self.propagation.sinr(self.frame.from, self.to, worst_mw);
            let captures = self.propagation.captures(self.frame.from, self.to, worst_mw);
            let without = if captures { 0.0 } else { f64::NEG_INFINITY };
            log_success = self.errors.map_or(without, |errors| errors.log_success(sinr));
        }
        let lost = self.loss - (1.0 - self.loss) * (bytes as f64 * log_success).exp_m1();
        (lost, worst_mw > 0.0)
    }
}
