//! The packets from one station to another, and the BlockAck agreement for their transmission.
//!
//! The sender's window and the receiver's reorder buffer are one object here. An MPDU that arrived stays until all
//! MPDUs before it have arrived or are dropped; then its packets are delivered. The receiver therefore learns
//! immediately, without a BlockAckReq, that the sender dropped an MPDU. An MPDU whose acknowledgment is lost is
//! retransmitted, but its packets are delivered only once.

use crate::Category;
use crate::counters::Counters;
use crate::rates::Choice;
use crate::timing::Timing;
use nettrial_links::{Backlog, CoDelSettings, FqCoDel};
use std::collections::VecDeque;

/// CoDel with mac80211's settings for all stations since Linux 6.16 (ieee80211_txq_setup_flows,
/// net/mac80211/tx.c), and the bytes that a flow may send in its turn (include/net/fq_impl.h).
const CODEL: CoDelSettings =
    CoDelSettings { target_ps: 20_000_000_000, interval_ps: 100_000_000_000, frame_bytes: 0 };
const QUANTUM_BYTES: u32 = 300;
/// The airtime of a receiver's turn (IEEE80211_DEFAULT_AIRTIME_WEIGHT), in picoseconds.
const AIRTIME_PS: i64 = 256_000_000;

/// The number of sequence numbers (clause 9.2.4.4.2).
const SEQUENCE_NUMBERS: u16 = 4096;

/// A packet that waits to be sent on the channel.
#[derive(Debug, Clone, Copy)]
pub struct Msdu {
    /// The number by which the caller refers to it.
    pub tag: u32,
    /// The number of its flow.
    pub flow: u32,
    /// True if it can be marked instead of dropped (ECN).
    pub can_be_marked: bool,
    /// The bytes of the IP packet.
    pub bytes: u32,
    /// The station that is its destination on the channel.
    pub to: usize,
    /// The time at which it arrived.
    pub came_ps: u64,
}

/// The state of an MPDU at its sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Waits,
    InAir,
    /// It was acknowledged or dropped.
    Done,
}

/// An MPDU of the window.
#[derive(Debug)]
struct Mpdu {
    /// The first packet.
    first: Msdu,
    /// The further packets of an A-MSDU.
    further: Vec<Msdu>,
    /// The bytes of the MPDU, or of each of its fragments but the last.
    bytes: u64,
    /// The bytes of the last fragment.
    last_bytes: u64,
    /// The fragments that are still to be sent; 0 if the MPDU is not fragmented.
    fragments: u32,
    /// The number of times that it was sent.
    tries: u32,
    /// Its state at the sender.
    state: State,
    /// True if it arrived.
    has_arrived: bool,
    /// True if its packets were delivered or dropped.
    is_settled: bool,
    /// The sequence number, for captures.
    sequence: u16,
    /// The number of fragments that were acknowledged, for captures.
    fragment: u8,
    /// True if the MPDU was in the air before, for captures.
    has_flown: bool,
}

/// An MPDU that is sent, for captures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentMpdu {
    /// The bytes with header and FCS.
    pub bytes: u64,
    /// The bytes of each fragment but the last and the fragment's number, if it is a fragment.
    pub fragment: Option<(u64, u8)>,
    /// True if further fragments follow.
    pub has_more_fragments: bool,
    /// The sequence number.
    pub sequence: u16,
    /// True if the MPDU was in the air before.
    pub is_retry: bool,
    /// The tag, the bytes and the destination of each of its packets.
    pub packets: Vec<(u32, u32, usize)>,
    /// False if the packets were delivered before, so that they do not exist any more.
    pub has_packets: bool,
}

impl Mpdu {
    /// Returns all packets of the MPDU.
    fn packets(&self) -> impl Iterator<Item = &Msdu> {
        std::iter::once(&self.first).chain(&self.further)
    }

    /// Returns the bytes of its next transmission.
    fn next_bytes(&self) -> u64 {
        if self.fragments == 1 { self.last_bytes } else { self.bytes }
    }

    /// Returns the number of its packets that still occupy the sender.
    fn pending(&self) -> usize {
        if self.is_settled && self.state != State::Waits { 0 } else { 1 + self.further.len() }
    }
}

/// The frames that are sent together.
#[derive(Debug, Clone, Copy, Default)]
pub struct Aggregate {
    /// The number of MPDUs.
    pub mpdus: usize,
    /// The bytes of the PSDU.
    pub psdu_bytes: u64,
    /// The bytes of the largest MPDU.
    pub largest_bytes: u64,
}

/// The outcome of a transmission.
#[derive(Debug, Default)]
pub struct Reception {
    /// The bytes of the MPDUs that arrived.
    pub arrived_bytes: u64,
    /// The bytes of the MPDUs that were lost.
    pub lost_bytes: u64,
    /// The number of MPDUs that arrived.
    pub arrived: usize,
    /// The packets that are now delivered, in order, and, with `false`, those that are dropped.
    pub packets: Vec<(Msdu, bool)>,
}

/// The packets to one receiver.
#[derive(Debug)]
pub struct Outbox {
    /// The receiving station.
    pub receiver: usize,
    /// The rate control to this receiver.
    pub choice: Choice,
    /// The next packets: all of them, or those that were taken from the queues of flows.
    queue: VecDeque<Msdu>,
    /// The queues of flows and the unused airtime, if each flow has its own queue.
    fair: Option<(FqCoDel<Msdu>, i64)>,
    /// The packets that CoDel dropped and that are not yet accounted for.
    dropped: Vec<Msdu>,
    /// The tags of the packets that CoDel marked and that are not yet accounted for.
    marked: Vec<u32>,
    /// The MPDUs that were taken and are not finished, in order of their sequence numbers.
    window: VecDeque<Mpdu>,
    /// The number of packets that still occupy the sender.
    packets: usize,
    /// The sequence number of the next new MPDU, modulo 4096.
    sequence: u16,
}

impl Outbox {
    /// Returns an empty outbox, in which flows have their own queues if `is_fair`.
    pub fn new(receiver: usize, choice: Choice, is_fair: bool) -> Self {
        Self {
            receiver,
            choice,
            queue: VecDeque::new(),
            fair: is_fair.then(|| (FqCoDel::new(CODEL, Backlog::Flow, QUANTUM_BYTES), AIRTIME_PS)),
            dropped: Vec::new(),
            marked: Vec::new(),
            window: VecDeque::new(),
            packets: 0,
            sequence: 0,
        }
    }

    /// Returns the number of packets that are neither delivered nor dropped, including those that are
    /// retransmitted for lack of an acknowledgment.
    pub fn packets(&self) -> usize {
        self.packets
    }

    /// Adds a packet.
    pub fn push(&mut self, packet: Msdu) {
        match &mut self.fair {
            Some((flows, _)) => flows.push(packet.came_ps, packet.flow, packet, packet.bytes),
            None => self.queue.push_back(packet),
        }
        self.packets += 1;
    }

    /// Returns the bytes of the longest queue of a flow.
    pub fn fattest_bytes(&self) -> u64 {
        self.fair.as_ref().map_or(0, |(flows, _)| flows.fattest_bytes())
    }

    /// Drops the first packet of the flow with the most bytes.
    pub fn drop_fattest(&mut self) -> Option<Msdu> {
        let dropped = self.fair.as_mut()?.0.drop_fattest()?;
        self.packets -= 1;
        Some(dropped)
    }

    /// Takes the packets that CoDel dropped, and the tags of those that it marked.
    pub fn take_dropped_and_marked(&mut self) -> (Vec<Msdu>, Vec<u32>) {
        (std::mem::take(&mut self.dropped), std::mem::take(&mut self.marked))
    }

    /// Takes the packets of the next MPDU from the queues of flows.
    pub fn stage(&mut self, now_ps: u64, timing: &Timing) {
        let Some((flows, _)) = &mut self.fair else { return };
        let before = self.dropped.len();
        let mut mark = |packet: &mut Msdu| {
            self.marked.extend(packet.can_be_marked.then_some(packet.tag));
            packet.can_be_marked
        };
        while timing.may_take_more(self.queue.iter().map(|packet| packet.bytes.into()))
            && let Some(packet) = flows.pop(now_ps, |packet| packet.bytes, &mut mark, &mut self.dropped)
        {
            self.queue.push_back(packet);
        }
        self.packets -= self.dropped.len() - before;
    }

    /// Subtracts airtime from the receiver's share.
    pub fn use_airtime(&mut self, used_ps: u64) {
        if let Some((_, left_ps)) = &mut self.fair {
            *left_ps -= used_ps as i64;
        }
    }

    /// Returns whether the outbox may send in its turn, which is always the case without shares of airtime. An
    /// outbox that used more than its share gets another share and waits (ieee80211_next_txq, net/mac80211/tx.c).
    pub fn is_its_turn(&mut self) -> bool {
        match &mut self.fair {
            Some((_, left_ps)) if *left_ps < 0 => {
                *left_ps += AIRTIME_PS;
                false
            }
            _ => true,
        }
    }

    /// Returns whether the outbox keeps its turn until its share of airtime is used.
    pub fn is_fair(&self) -> bool {
        self.fair.is_some()
    }

    /// Returns the bytes of the first MPDU that is sent next, without further packets of an A-MSDU; `None` if
    /// there is none.
    pub fn next_bytes(&self, timing: &Timing) -> Option<u64> {
        let waiting = self.window.iter().find(|mpdu| mpdu.state == State::Waits).map(Mpdu::next_bytes);
        waiting.or_else(|| {
            let whole = timing.mpdu_bytes(std::iter::once(u64::from(self.queue.front()?.bytes)));
            Some(timing.fragments(whole).map_or(whole, |(_, bytes, _)| bytes))
        })
    }

    /// Returns whether an MPDU has fragments left to be sent after one that arrived.
    pub fn has_further_fragments(&self) -> bool {
        self.window
            .front()
            .is_some_and(|mpdu| mpdu.state == State::Waits && mpdu.fragments > 0 && mpdu.tries == 0)
    }

    /// Takes the MPDUs to be sent at `now_ps`: those that were lost before, then new ones as far as the window,
    /// the size and the time allow.
    pub fn take(
        &mut self,
        now_ps: u64,
        timing: &Timing,
        category: Category,
        (most_mpdus, most_bytes): (usize, u64),
        counters: &mut Counters,
    ) -> Aggregate {
        let mut taken = Aggregate::default();
        let mut ampdu_bytes = 0;
        let mut fits = |mpdu_bytes: u64, taken: &mut Aggregate| {
            let with = timing.ampdu_with(ampdu_bytes, mpdu_bytes);
            let fits = taken.mpdus < most_mpdus && (taken.mpdus == 0 || with <= most_bytes);
            if fits {
                ampdu_bytes = with;
                taken.mpdus += 1;
                taken.largest_bytes = taken.largest_bytes.max(mpdu_bytes);
            }
            fits
        };
        for mpdu in self.window.iter_mut().filter(|mpdu| mpdu.state == State::Waits) {
            if !fits(mpdu.next_bytes(), &mut taken) {
                break;
            }
            mpdu.state = State::InAir;
            counters.retries_pkts += u64::from(mpdu.tries > 0);
        }
        while self.window.len() < timing.mpdus {
            self.stage(now_ps, timing);
            if self.queue.is_empty() {
                break;
            }
            let count = self.packets_of_next(timing, category);
            let whole = timing.mpdu_bytes(self.queue.iter().take(count).map(|packet| packet.bytes.into()));
            let (fragments, bytes, last_bytes) = timing.fragments(whole).unwrap_or((0, whole, 0));
            if !fits(bytes, &mut taken) {
                break;
            }
            let mut packets = self.queue.drain(..count);
            let Some(first) = packets.next() else { break };
            let further: Vec<Msdu> = packets.collect();
            let mpdu = Mpdu {
                first,
                further,
                bytes,
                last_bytes,
                fragments,
                tries: 0,
                state: State::InAir,
                has_arrived: false,
                is_settled: false,
                sequence: self.sequence,
                fragment: 0,
                has_flown: false,
            };
            self.sequence = (self.sequence + 1) % SEQUENCE_NUMBERS;
            mpdu.packets().for_each(|packet| counters.waited(now_ps, now_ps - packet.came_ps));
            self.window.push_back(mpdu);
        }
        counters.mpdus_pkts += taken.mpdus as u64;
        taken.psdu_bytes = timing.psdu_bytes(taken.mpdus, ampdu_bytes);
        taken
    }

    /// Returns the number of waiting packets that form the next MPDU.
    fn packets_of_next(&self, timing: &Timing, category: Category) -> usize {
        let sizes = |count: usize| self.queue.iter().take(count).map(|packet| u64::from(packet.bytes));
        let is_more =
            |count: &usize| *count <= self.queue.len() && timing.fits_amsdu(sizes(*count), category);
        (2..).take_while(is_more).last().unwrap_or(1)
    }

    /// Records the transmission of the MPDUs that were taken. `is_lost` returns for each MPDU, of that many bytes,
    /// whether it was lost; `tries` is the largest number of transmissions of an MPDU. MPDUs that arrived stay in
    /// the air until [`Outbox::acknowledge`].
    pub fn sent(&mut self, tries: u32, mut is_lost: impl FnMut(u64) -> bool) -> Reception {
        let mut reception = Reception::default();
        for mpdu in self.window.iter_mut().filter(|mpdu| mpdu.state == State::InAir) {
            let bytes = mpdu.next_bytes();
            if is_lost(bytes) {
                mpdu.tries += 1;
                reception.lost_bytes += bytes;
                mpdu.state = if mpdu.tries < tries { State::Waits } else { State::Done };
            } else {
                reception.arrived_bytes += bytes;
                reception.arrived += 1;
                // An MPDU has arrived only when its last fragment has.
                mpdu.has_arrived |= mpdu.fragments <= 1;
            }
        }
        self.settle(&mut reception.packets);
        reception
    }

    /// Records whether the sender received the acknowledgment of the MPDUs that arrived. Returns packets as in
    /// [`Reception::packets`].
    pub fn acknowledge(&mut self, tries: u32, is_acknowledged: bool) -> Vec<(Msdu, bool)> {
        let mut packets = Vec::new();
        for mpdu in self.window.iter_mut().filter(|mpdu| mpdu.state == State::InAir) {
            if is_acknowledged {
                mpdu.fragments = mpdu.fragments.saturating_sub(1);
                mpdu.fragment = mpdu.fragment.wrapping_add(1);
                mpdu.has_flown = false;
                mpdu.tries = 0;
                mpdu.state = if mpdu.fragments > 0 { State::Waits } else { State::Done };
            } else {
                mpdu.tries += 1;
                mpdu.state = if mpdu.tries < tries { State::Waits } else { State::Done };
            }
        }
        self.settle(&mut packets);
        packets
    }

    /// Returns the MPDUs in the air, for a capture.
    pub fn in_air(&mut self) -> Vec<SentMpdu> {
        let in_air = self.window.iter_mut().filter(|mpdu| mpdu.state == State::InAir);
        in_air
            .map(|mpdu| SentMpdu {
                bytes: mpdu.next_bytes(),
                fragment: (mpdu.last_bytes > 0).then_some((mpdu.bytes, mpdu.fragment)),
                has_more_fragments: mpdu.fragments > 1,
                sequence: mpdu.sequence,
                is_retry: std::mem::replace(&mut mpdu.has_flown, true),
                packets: mpdu.packets().map(|packet| (packet.tag, packet.bytes, packet.to)).collect(),
                has_packets: !mpdu.is_settled,
            })
            .collect()
    }

    /// Returns the window at its receiver: the sequence number at which it begins, and those of the MPDUs that
    /// arrived.
    pub fn scoreboard(&self) -> (u16, Vec<u16>) {
        let starts = self.window.front().map_or(self.sequence, |first| first.sequence);
        (starts, self.window.iter().filter(|mpdu| mpdu.has_arrived).map(|mpdu| mpdu.sequence).collect())
    }

    /// Appends the packets whose outcome is now known, removes finished MPDUs at the beginning of the window, and
    /// counts the remaining packets.
    fn settle(&mut self, packets: &mut Vec<(Msdu, bool)>) {
        for mpdu in &mut self.window {
            if !mpdu.is_settled {
                if !mpdu.has_arrived && mpdu.state != State::Done {
                    break;
                }
                mpdu.is_settled = true;
                packets.extend(mpdu.packets().map(|packet| (*packet, mpdu.has_arrived)));
            }
        }
        while self.window.front().is_some_and(|mpdu| mpdu.state == State::Done && mpdu.is_settled) {
            self.window.pop_front();
        }
        let of_flows = self.fair.as_ref().map_or(0, |(flows, _)| flows.packets());
        self.packets = of_flows + self.queue.len() + self.window.iter().map(Mpdu::pending).sum::<usize>();
    }
}
