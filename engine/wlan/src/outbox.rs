//! The packets from one station to another, and the BlockAck agreement by which they are sent.
//!
//! The sender's window and the receiver's reorder buffer are one here: an MPDU that has arrived stays until all before it
//! have arrived or are given up, and then what is in it is delivered. So the receiver learns at once, without a
//! BlockAckReq, that the sender has given an MPDU up.

use crate::Category;
use crate::counters::Counters;
use crate::timing::Timing;
use std::collections::VecDeque;

/// A packet.
#[derive(Debug, Clone, Copy)]
pub struct Msdu {
    /// The number by which the caller knows it.
    pub tag: u32,
    /// Bytes of the IP packet.
    pub bytes: u32,
    /// The station that it is for.
    pub to: usize,
    /// The time when it came.
    pub came_ps: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Waits,
    InAir,
    Arrived,
    GivenUp,
}

#[derive(Debug)]
struct Mpdu {
    first: Msdu,
    /// The further packets of an A-MSDU.
    further: Vec<Msdu>,
    bytes: u64,
    tries: u32,
    state: State,
}

impl Mpdu {
    fn packets(&self) -> impl Iterator<Item = &Msdu> {
        std::iter::once(&self.first).chain(&self.further)
    }
}

/// The frames that are sent at once.
#[derive(Debug, Clone, Copy, Default)]
pub struct Aggregate {
    pub mpdus: usize,
    pub psdu_bytes: u64,
    /// Bytes of the largest MPDU.
    pub largest_bytes: u64,
}

/// The outcome of what was sent.
#[derive(Debug, Default)]
pub struct Reception {
    /// Bytes of the MPDUs that arrived.
    pub arrived_bytes: u64,
    /// Bytes of those that were lost.
    pub lost_bytes: u64,
    /// Packets that are now delivered, in their order, and with false those that are given up.
    pub packets: Vec<(Msdu, bool)>,
}

/// The packets to one receiver.
#[derive(Debug)]
pub struct Outbox {
    pub receiver: usize,
    queue: VecDeque<Msdu>,
    window: VecDeque<Mpdu>,
    /// Packets in both.
    packets: usize,
}

impl Outbox {
    pub fn new(receiver: usize) -> Self {
        Self { receiver, queue: VecDeque::new(), window: VecDeque::new(), packets: 0 }
    }

    /// Packets that are neither delivered nor given up.
    pub fn packets(&self) -> usize {
        self.packets
    }

    pub fn push(&mut self, packet: Msdu) {
        self.queue.push_back(packet);
        self.packets += 1;
    }

    /// Takes what is sent at `now_ps`: what was lost before, then new MPDUs as far as window, size and time let.
    pub fn take(
        &mut self,
        now_ps: u64,
        timing: &Timing,
        category: Category,
        counters: &mut Counters,
    ) -> Aggregate {
        let most_bytes = timing.most_bytes[category as usize];
        let mut taken = Aggregate::default();
        let mut ampdu_bytes = 0;
        let mut fits = |mpdu_bytes: u64, taken: &mut Aggregate| {
            let with = timing.ampdu_with(ampdu_bytes, mpdu_bytes);
            let fits = taken.mpdus < timing.mpdus && (taken.mpdus == 0 || with <= most_bytes);
            if fits {
                ampdu_bytes = with;
                taken.mpdus += 1;
                taken.largest_bytes = taken.largest_bytes.max(mpdu_bytes);
            }
            fits
        };
        for mpdu in self.window.iter_mut().filter(|mpdu| mpdu.state == State::Waits) {
            if !fits(mpdu.bytes, &mut taken) {
                break;
            }
            mpdu.state = State::InAir;
            counters.retries_pkts += 1;
        }
        while self.window.len() < timing.mpdus && !self.queue.is_empty() {
            let count = self.packets_of_next(timing, category);
            let bytes = timing.mpdu_bytes(self.queue.iter().take(count).map(|packet| packet.bytes.into()));
            if !fits(bytes, &mut taken) {
                break;
            }
            let mut packets = self.queue.drain(..count);
            let Some(first) = packets.next() else { break };
            let further: Vec<Msdu> = packets.collect();
            let mpdu = Mpdu { first, further, bytes, tries: 0, state: State::InAir };
            mpdu.packets().for_each(|packet| counters.queue_delay.add(now_ps - packet.came_ps));
            self.window.push_back(mpdu);
        }
        counters.mpdus_pkts += taken.mpdus as u64;
        taken.psdu_bytes = timing.psdu_bytes(taken.mpdus, ampdu_bytes);
        taken
    }

    /// Returns the number of waiting packets that make up the next MPDU.
    fn packets_of_next(&self, timing: &Timing, category: Category) -> usize {
        let sizes = |count: usize| self.queue.iter().take(count).map(|packet| u64::from(packet.bytes));
        let is_more =
            |count: &usize| *count <= self.queue.len() && timing.fits_amsdu(sizes(*count), category);
        (2..).take_while(is_more).last().unwrap_or(1)
    }

    /// Notes that what was taken has been sent: `is_lost` says of each MPDU whether it was lost, and `tries` how often one is sent at
    /// the most.
    pub fn sent(&mut self, tries: u32, mut is_lost: impl FnMut() -> bool) -> Reception {
        let mut reception = Reception::default();
        for mpdu in self.window.iter_mut().filter(|mpdu| mpdu.state == State::InAir) {
            mpdu.tries += 1;
            if is_lost() {
                reception.lost_bytes += mpdu.bytes;
                mpdu.state = if mpdu.tries < tries { State::Waits } else { State::GivenUp };
            } else {
                reception.arrived_bytes += mpdu.bytes;
                mpdu.state = State::Arrived;
            }
        }
        while self.window.front().is_some_and(|mpdu| matches!(mpdu.state, State::Arrived | State::GivenUp)) {
            let Some(mpdu) = self.window.pop_front() else { break };
            let has_arrived = mpdu.state == State::Arrived;
            reception.packets.extend(mpdu.packets().map(|packet| (*packet, has_arrived)));
        }
        self.packets -= reception.packets.len();
        reception
    }
}
