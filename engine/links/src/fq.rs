//! Flow queueing with controlled delay (RFC 8290): each flow has a queue with CoDel, and the queues are served by
//! deficit round robin, new flows first.
//!
//! The caller numbers the flows; they are not hashed, so no two flows share a queue. A full queue drops packets at the
//! head of the flow with the most bytes: one at a time, as mac80211 does, or several at once, as the qdisc does.
//!
//! It follows Linux where it differs from the RFC's pseudocode. A flow keeps the state of its CoDel while its queue is empty,
//! in the kernel's net/sched/sch_fq_codel.c and in net/mac80211/tx.c (cvars). In the former, a batch of drops counts as drops
//! of the flow's CoDel (fq_codel_drop), and CoDel drops as long as the queues of all flows together have more than a frame
//! (fq_codel_dequeue, [`Backlog::All`]).

use crate::{CoDel, CoDelSettings};
use std::collections::{BTreeMap, VecDeque};

/// The queues whose bytes CoDel counts. It drops nothing as long as they have a full frame at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backlog {
    /// Only the flow's own queue counts (RFC 8290, mac80211).
    Flow,
    /// The queues of all flows count together (the qdisc).
    All,
}

/// The queue of one flow, and the bytes that it may still send in its turn.
#[derive(Debug)]
struct Flow<T> {
    queue: CoDel<T>,
    deficit: i64,
    is_listed: bool,
}

/// The queues of all flows.
#[derive(Debug)]
pub struct FqCoDel<T> {
    settings: CoDelSettings,
    backlog: Backlog,
    /// The bytes that a flow may send in its turn.
    quantum: i64,
    flows: BTreeMap<u32, Flow<T>>,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    packets: usize,
    bytes: u64,
}

impl<T> FqCoDel<T> {
    /// Returns queues without flows, each of which may send `quantum_bytes` in its turn.
    pub fn new(settings: CoDelSettings, backlog: Backlog, quantum_bytes: u32) -> Self {
        Self {
            settings,
            backlog,
            quantum: quantum_bytes.into(),
            flows: BTreeMap::new(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            packets: 0,
            bytes: 0,
        }
    }

    /// Returns the number of packets in all queues.
    pub fn packets(&self) -> usize {
        self.packets
    }

    /// Returns the bytes in all queues.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the bytes in the longest queue.
    pub fn fattest_bytes(&self) -> u64 {
        self.flows.values().map(|flow| flow.queue.bytes()).max().unwrap_or(0)
    }

    /// Adds a packet of a flow, of `bytes` bytes.
    pub fn push(&mut self, now_ps: u64, flow: u32, packet: T, bytes: u32) {
        let (settings, quantum) = (self.settings, self.quantum);
        let new = || Flow { queue: CoDel::new(settings), deficit: quantum, is_listed: false };
        let own = self.flows.entry(flow).or_insert_with(new);
        own.queue.push(now_ps, packet, bytes);
        self.packets += 1;
        self.bytes += u64::from(bytes);
        if !own.is_listed {
            (own.is_listed, own.deficit) = (true, self.quantum);
            self.new.push_back(flow);
        }
    }

    /// Drops the first packet of the flow with the most bytes.
    pub fn drop_fattest(&mut self) -> Option<T> {
        let fattest = self.flows.values_mut().max_by_key(|flow| flow.queue.bytes())?;
        let before = fattest.queue.bytes();
        let dropped = fattest.queue.drop_first()?;
        self.packets -= 1;
        self.bytes -= before - fattest.queue.bytes();
        Some(dropped)
    }

    /// Drops packets at the head of the flow with the most bytes, until it has half of them or `most` packets were
    /// dropped (RFC 8290 section 4.1.2; fq_codel_drop of the kernel's net/sched/sch_fq_codel.c), and counts them as drops
    /// of its CoDel.
    pub fn drop_batch(&mut self, most: usize) -> Vec<T> {
        let mut dropped = Vec::new();
        let Some(fattest) = self.flows.values_mut().max_by_key(|flow| flow.queue.bytes()) else {
            return dropped;
        };
        let before = fattest.queue.bytes();
        while dropped.len() < most && 2 * (before - fattest.queue.bytes()) < before {
            let Some(packet) = fattest.queue.drop_first() else { break };
            dropped.push(packet);
        }
        fattest.queue.count_drops(dropped.len() as u32);
        self.packets -= dropped.len();
        self.bytes -= before - fattest.queue.bytes();
        dropped
    }

    /// Returns the next packet to be sent; `bytes` returns the size of a packet. Packets that CoDel drops are
    /// appended to `dropped`. `mark` marks a packet if it supports ECN, and returns whether it does.
    pub fn pop(
        &mut self,
        now_ps: u64,
        bytes: impl Fn(&T) -> u32,
        mut mark: impl FnMut(&mut T) -> bool,
        dropped: &mut Vec<T>,
    ) -> Option<T> {
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let number = *list.front()?;
            let flow = self.flows.get_mut(&number)?;
            if flow.deficit <= 0 {
                flow.deficit += self.quantum;
                list.pop_front();
                self.old.push_back(number);
                continue;
            }
            let before = flow.queue.bytes();
            let others_bytes = if self.backlog == Backlog::All { self.bytes - before } else { 0 };
            let taken = flow.queue.pop(now_ps, others_bytes, &mut mark);
            self.packets -= taken.dropped.len();
            self.bytes -= before - flow.queue.bytes();
            dropped.extend(taken.dropped);
            if let Some(packet) = taken.packet {
                flow.deficit -= i64::from(bytes(&packet));
                self.packets -= 1;
                return Some(packet);
            }
            list.pop_front();
            // A new flow that becomes empty continues as an old one; otherwise it would always be served first.
            if is_new && !self.old.is_empty() {
                self.old.push_back(number);
            } else if flow.queue.is_unused() {
                self.flows.remove(&number);
            } else {
                flow.is_listed = false;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SETTINGS: CoDelSettings =
        CoDelSettings { target_ps: 5_000_000_000, interval_ps: 100_000_000_000, frame_bytes: 1500 };

    #[test]
    fn flows_share_by_bytes_and_a_new_one_goes_first() {
        let mut queue = FqCoDel::new(SETTINGS, Backlog::Flow, 300);
        for _ in 0..100 {
            queue.push(0, 1, 1, 1500);
            (0..5).for_each(|_| queue.push(0, 2, 2, 300));
        }
        let mut dropped = Vec::new();
        let mut next = |queue: &mut FqCoDel<u32>| {
            queue.pop(0, |flow| if *flow == 1 { 1500 } else { 300 }, |_| false, &mut dropped)
        };
        let served: Vec<u32> = (0..300).filter_map(|_| next(&mut queue)).collect();
        let [one, two] = [1, 2].map(|flow| served.iter().filter(|other| **other == flow).count());
        assert!((48..=52).contains(&one) && (248..=252).contains(&two), "{one} {two}");
        queue.push(0, 3, 3, 300);
        assert_eq!(next(&mut queue), Some(3));
    }

    #[test]
    fn the_longest_queue_is_dropped_from() {
        let mut queue = FqCoDel::new(SETTINGS, Backlog::Flow, 300);
        (0..5).for_each(|_| queue.push(0, 1, 1, 100));
        queue.push(0, 2, 2, 1500);
        assert_eq!((queue.drop_fattest(), queue.fattest_bytes(), queue.packets()), (Some(2), 500, 5));
    }

    #[test]
    fn a_batch_takes_half_of_the_longest_queue() {
        let mut queue = FqCoDel::new(SETTINGS, Backlog::Flow, 300);
        (0..10).for_each(|number| queue.push(0, 1, number, 100));
        queue.push(0, 2, 99, 300);
        assert_eq!(queue.drop_batch(64), [0, 1, 2, 3, 4]);
        assert_eq!((queue.packets(), queue.bytes()), (6, 800));
        assert_eq!(queue.drop_batch(2), [5, 6]);
        assert_eq!(queue.bytes(), 600);
    }

    /// Returns the number of packets that CoDel drops from flow 1, of which one waits longer than an interval behind another.
    fn drops_beside_another_flow(backlog: Backlog) -> usize {
        const MS: u64 = 1_000_000_000;
        let mut queue = FqCoDel::new(SETTINGS, backlog, 1500);
        [1, 1, 2, 2, 2].into_iter().for_each(|flow| queue.push(0, flow, flow, 1500));
        let mut dropped = Vec::new();
        let served = [10, 115, 120].map(|at| queue.pop(at * MS, |_| 1500, |_| false, &mut dropped));
        assert_eq!(served[..2], [Some(1), Some(2)]);
        dropped.len()
    }

    #[test]
    fn codel_counts_the_bytes_of_all_flows_or_of_one() {
        assert_eq!([Backlog::Flow, Backlog::All].map(drops_beside_another_flow), [0, 1]);
    }

    /// Every 10 ms a packet leaves that has waited for 10 ms, and one arrives. Returns the number of packets that CoDel has
    /// dropped by 500 ms; `interrupt` is called at 250 ms.
    fn drops_of_a_standing_queue(interrupt: impl Fn(&mut FqCoDel<u32>)) -> usize {
        const MS: u64 = 1_000_000_000;
        let mut queue = FqCoDel::new(SETTINGS, Backlog::All, 1500);
        let mut dropped = Vec::new();
        for step in 0..50 {
            let now_ps = step * 10 * MS;
            if step == 25 {
                interrupt(&mut queue);
            }
            while queue.packets() < 10 {
                queue.push(now_ps.saturating_sub(10 * MS), 1, 1, 1500);
            }
            queue.pop(now_ps, |_| 1500, |_| false, &mut dropped);
        }
        dropped.len()
    }

    /// After a batch of drops, CoDel goes on with a higher rate of drops; after an empty queue with the one that it had.
    #[test]
    fn drops_of_a_full_queue_count_and_an_empty_one_forgets_nothing() {
        let undisturbed = drops_of_a_standing_queue(|_| ());
        let batch = drops_of_a_standing_queue(|queue| drop(queue.drop_batch(5)));
        assert!(batch > undisturbed, "{batch} {undisturbed}");
        let mut queue = FqCoDel::new(SETTINGS, Backlog::All, 1500);
        queue.push(0, 1, 1, 1500);
        queue.push(0, 1, 1, 1500);
        queue.drop_batch(1);
        let mut dropped = Vec::new();
        while queue.pop(0, |_| 1500, |_| false, &mut dropped).is_some() {}
        assert!(queue.flows.contains_key(&1));
        queue.push(0, 2, 2, 1500);
        while queue.pop(0, |_| 1500, |_| false, &mut dropped).is_some() {}
        assert!(!queue.flows.contains_key(&2));
    }

    proptest! {
        /// Every packet is sent, dropped, or still queued.
        #[test]
        fn nothing_is_lost(events in prop::collection::vec((0_u64..50_000_000_000, 0_u32..5, 0_u32..3), 1..400)) {
            let mut queue = FqCoDel::new(SETTINGS, Backlog::Flow, 300);
            let (mut now_ps, mut pushed, mut sent, mut dropped) = (0, 0, 0, Vec::new());
            for (later_ps, flow, what) in events {
                now_ps += later_ps;
                match what {
                    0 => sent += usize::from(queue.pop(now_ps, |_| 1500, |_| false, &mut dropped).is_some()),
                    1 if flow == 4 => dropped.extend(queue.drop_fattest()),
                    _ => {
                        queue.push(now_ps, flow, flow, 1500);
                        pushed += 1;
                    }
                }
                prop_assert_eq!(pushed, sent + dropped.len() + queue.packets());
                prop_assert_eq!(queue.bytes(), 1500 * queue.packets() as u64);
            }
            while queue.pop(now_ps, |_| 1500, |_| false, &mut dropped).is_some() {
                sent += 1;
            }
            prop_assert_eq!((pushed, queue.packets()), (sent + dropped.len(), 0));
        }
    }
}
