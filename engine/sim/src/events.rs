//! The queue of future events, in order of time; events at the same time keep the order in which they were added.
//!The queue is a calendar of buckets (Brown 1988, "Calendar queues") with one turn: an event within the horizon is
//!added to the list of its bucket, and an event beyond it to a heap, which it leaves when the horizon reaches it.
//!A bucket is sorted when its time comes. The width of buckets adapts to the number of events. Nothing is
//!allocated after the queue has reached its largest number of events.

#[cfg(test)]
mod tests;

use crate::Time;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// The number of buckets, a power of two: large enough that packets which wait in a fabric's queues for
/// milliseconds are within the horizon even with the narrow buckets of heavy traffic, and small enough that the
/// heads of all lists fit into the CPU's cache.
const BUCKETS: u64 = 1 << 14;
/// The initial width of a bucket in picoseconds, as a power of two: a microsecond.
const FIRST_SHIFT: u32 = 20;
/// The narrowest (a nanosecond) and the widest bucket (17 ms), as powers of two of picoseconds.
const SHIFTS: std::ops::RangeInclusive<u32> = 10..=34;
/// The number of buckets after which the width is reviewed.
const REVIEW: u32 = 1024;
/// The mean number of events in a bucket above which buckets get narrower, and below which they get wider. It is
/// large, so that the memory of many events can be prefetched at once ([`Events::upcoming`]).
const CROWDED: u32 = 96;
const SPARSE: u32 = 24;
/// The number of events in a node, which takes two cache lines.
const TOGETHER: usize = 5;
/// The number that marks the end of a list.
const NONE: u32 = u32::MAX;

/// An event of the current bucket.
#[derive(Debug, Clone, Copy)]
struct Entry<E> {
    at: Time,
    /// The order of insertion within the bucket.
    order: u32,
    event: E,
}

/// Several successive events of a bucket's list, so that not every event requires a jump in memory.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Node<E> {
    /// The node with the preceding events.
    next: u32,
    events: [(Time, E); TOGETHER],
}

/// The list of a bucket: its newest node, and the number of events in it.
#[derive(Debug, Clone, Copy)]
struct Head {
    node: u32,
    count: u32,
}

/// An empty list.
const EMPTY: Head = Head { node: NONE, count: TOGETHER as u32 };

/// An event beyond the horizon.
#[derive(Debug)]
struct Far<E> {
    at: Time,
    number: u64,
    event: E,
}

impl<E> Ord for Far<E> {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.number).cmp(&(self.at, self.number))
    }
}

impl<E> PartialOrd for Far<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> PartialEq for Far<E> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<E> Eq for Far<E> {}

/// The queue of events.
#[derive(Debug)]
pub struct Events<E> {
    now: Time,
    /// The width of a bucket in picoseconds is two to this power.
    shift: u32,
    /// The number of the current bucket; times count from 0.
    bucket: u64,
    /// The events of the current bucket, the next one last.
    current: Vec<Entry<E>>,
    /// The events of each later bucket.
    heads: Box<[Head]>,
    /// A bit for each bucket, set if it has events.
    occupied: Box<[u64]>,
    nodes: Vec<Node<E>>,
    /// The first free node.
    free: u32,
    far: BinaryHeap<Far<E>>,
    /// The number of events ever added to `far`.
    number: u64,
    count: usize,
    /// The numbers of buckets and of their events since the last review of the width.
    review: (u32, u32),
}

impl<E: Copy> Default for Events<E> {
    fn default() -> Self {
        Self {
            now: Time::ZERO,
            shift: FIRST_SHIFT,
            bucket: 0,
            current: Vec::new(),
            heads: vec![EMPTY; BUCKETS as usize].into(),
            occupied: vec![0; BUCKETS as usize / 64].into(),
            nodes: Vec::new(),
            free: NONE,
            far: BinaryHeap::new(),
            number: 0,
            count: 0,
            review: (0, 0),
        }
    }
}

impl<E: Copy> Events<E> {
    /// Returns the time of the last event taken.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Returns the number of events.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Returns whether there are no events.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Adds an event, which must not be before [`Events::now`].
    pub fn push(&mut self, at: Time, event: E) {
        assert!(at >= self.now, "an event at {at:?}, before {:?}", self.now);
        self.count += 1;
        self.place(at, event);
    }

    /// Takes the next event, unless it is after `end`.
    pub fn pop(&mut self, end: Time) -> Option<(Time, E)> {
        self.turn();
        let at = self.current.last().map(|entry| entry.at).filter(|&at| at <= end)?;
        let Entry { event, .. } = self.current.pop()?;
        self.now = at;
        self.count -= 1;
        Some((at, event))
    }

    fn place(&mut self, at: Time, event: E) {
        let bucket = at.0 >> self.shift;
        if bucket <= self.bucket {
            let later = self.current.partition_point(|entry| entry.at > at);
            self.current.insert(later, Entry { at, order: 0, event });
        } else if bucket - self.bucket < BUCKETS {
            self.list(bucket, at, event);
        } else {
            self.number += 1;
            self.far.push(Far { at, number: self.number, event });
        }
    }

    /// Puts an event on the list of its bucket.
    fn list(&mut self, bucket: u64, at: Time, event: E) {
        let index = (bucket % BUCKETS) as usize;
        let mut head = self.heads[index];
        if head.count == TOGETHER as u32 {
            head = Head { node: self.another_node(head.node, (at, event)), count: 0 };
            self.occupied[index / 64] |= 1 << (index % 64);
        }
        // The old value is not read, which would mean waiting for memory.
        self.nodes[head.node as usize].events[head.count as usize] = (at, event);
        self.heads[index] = Head { count: head.count + 1, ..head };
    }

    /// Returns a node whose events are to be set and which is followed by `next`; a new node has this event at
    /// each position.
    fn another_node(&mut self, next: u32, event: (Time, E)) -> u32 {
        let number = self.free;
        if let Some(node) = self.nodes.get_mut(number as usize) {
            self.free = std::mem::replace(&mut node.next, next);
            return number;
        }
        self.nodes.push(Node { next, events: [event; TOGETHER] });
        self.nodes.len() as u32 - 1
    }

    /// Moves to the next bucket with events if all events of the current one were taken; returns whether it did.
    pub fn turn(&mut self) -> bool {
        self.current.is_empty() && self.go_on()
    }

    /// Returns the events of the current bucket, in no particular order.
    pub fn upcoming(&self) -> impl Iterator<Item = &E> {
        self.current.iter().map(|entry| &entry.event)
    }

    /// Moves to the next bucket with events; returns whether there is one.
    fn go_on(&mut self) -> bool {
        if self.review.0 == REVIEW {
            self.consider_width();
            if !self.current.is_empty() {
                return true;
            }
        }
        let next = self.next_occupied().or_else(|| self.far.peek().map(|far| far.at.0 >> self.shift));
        let Some(bucket) = next else { return false };
        self.bucket = bucket;
        self.move_near();
        self.load();
        self.review.0 += 1;
        self.review.1 += self.current.len() as u32;
        true
    }

    /// Returns the first later bucket with events in its list.
    fn next_occupied(&self) -> Option<u64> {
        let first = self.bucket + 1;
        let start = (first % BUCKETS) as usize;
        let words = self.occupied.len();
        let ahead = self.occupied[start / 64] & (!0 << (start % 64));
        let found = (0..=words).find_map(|turned| {
            let word = (start / 64 + turned) % words;
            let bits = if turned == 0 { ahead } else { self.occupied[word] };
            (bits != 0).then(|| word * 64 + bits.trailing_zeros() as usize)
        })?;
        Some(first + (found + BUCKETS as usize - start) as u64 % BUCKETS)
    }

    /// Moves events that the horizon has reached out of the heap.
    fn move_near(&mut self) {
        while let Some(far) = self.far.peek() {
            let bucket = far.at.0 >> self.shift;
            if bucket - self.bucket >= BUCKETS {
                break;
            }
            if let Some(Far { at, event, .. }) = self.far.pop() {
                self.list(bucket, at, event);
            }
        }
    }

    /// Loads and sorts the events of the new current bucket.
    fn load(&mut self) {
        let index = (self.bucket % BUCKETS) as usize;
        self.occupied[index / 64] &= !(1 << (index % 64));
        let Head { mut node, mut count } = std::mem::replace(&mut self.heads[index], EMPTY);
        // The newest event is first in the list.
        let mut order = u32::MAX;
        while node != NONE {
            let Node { next, events } = &mut self.nodes[node as usize];
            for &(at, event) in events[..count as usize].iter().rev() {
                self.current.push(Entry { at, order, event });
                order -= 1;
            }
            count = TOGETHER as u32;
            let after = std::mem::replace(next, self.free);
            self.free = std::mem::replace(&mut node, after);
        }
        if self.current.len() > 1 {
            self.current.sort_unstable_by_key(|entry| std::cmp::Reverse((entry.at, entry.order)));
        }
    }

    /// Sets the width of buckets by the number of events in the last ones.
    fn consider_width(&mut self) {
        let (buckets, events) = std::mem::take(&mut self.review);
        let shift = if events > CROWDED * buckets {
            self.shift - 1
        } else if events < SPARSE * buckets {
            self.shift + 1
        } else {
            self.shift
        };
        if shift != self.shift && SHIFTS.contains(&shift) {
            self.rebuild(shift);
        }
    }

    /// Redistributes all events within the horizon to buckets, in order. Events beyond it are all later, so it
    /// does not matter that others join them with higher numbers.
    fn rebuild(&mut self, shift: u32) {
        let mut all: Vec<(Time, E)> = Vec::new();
        while let Some(bucket) = self.next_occupied() {
            self.bucket = bucket;
            self.load();
            all.extend(self.current.drain(..).rev().map(|entry| (entry.at, entry.event)));
        }
        self.shift = shift;
        self.bucket = self.now.0 >> shift;
        self.move_near();
        for (at, event) in all {
            self.place(at, event);
        }
    }
}
