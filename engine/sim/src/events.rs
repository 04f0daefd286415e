//! The events that are going to happen, in order of time; those at the same time in the order in which they were
//! added.
//!
//! A calendar of buckets (Brown 1988, "Calendar queues") with one turn: an event within the horizon goes on the list
//! of its bucket, one beyond it into a heap, from which it moves as the horizon does. A bucket is sorted when its
//! time comes. The width of a bucket follows how many events there are. Nothing is allocated once the queue has
//! held as many events as it ever will.

#[cfg(test)]
mod tests;

use crate::Time;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Buckets of the calendar, a power of two: enough that packets that wait in a fabric's queues for milliseconds are
/// within the horizon, though buckets are narrow where there is much traffic; few enough that the CPU's cache
/// holds where each list begins.
const BUCKETS: u64 = 1 << 14;
/// Picoseconds of a bucket at the beginning, as a power of two: a microsecond.
const FIRST_SHIFT: u32 = 20;
/// The narrowest (a nanosecond) and the widest bucket (17 ms) as powers of two.
const SHIFTS: std::ops::RangeInclusive<u32> = 10..=34;
/// After how many buckets the width is considered.
const REVIEW: u32 = 1024;
/// Mean events of a bucket above which it gets narrower, and below which it gets wider: many, so that there is much
/// whose memory can be waited for at once ([`Events::upcoming`]).
const CROWDED: u32 = 96;
const SPARSE: u32 = 24;
/// Events of a node, which is two lines of the CPU's cache.
const TOGETHER: usize = 5;
/// The end of a list.
const NONE: u32 = u32::MAX;

/// An event of the bucket whose time it is.
#[derive(Debug, Clone, Copy)]
struct Entry<E> {
    at: Time,
    /// Later in the bucket is later in order.
    order: u32,
    event: E,
}

/// Events on a bucket's list that were added one after the other: so many that one need not go from one place of
/// memory to the next for each.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Node<E> {
    /// The node with the events before these.
    next: u32,
    events: [(Time, E); TOGETHER],
}

/// The list of a bucket: its newest node, and how many events that has.
#[derive(Debug, Clone, Copy)]
struct Head {
    node: u32,
    count: u32,
}

/// A list of none.
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

/// The queue.
#[derive(Debug)]
pub struct Events<E> {
    now: Time,
    /// A bucket is two to this power of picoseconds wide.
    shift: u32,
    /// The bucket whose time it is; times count from 0.
    bucket: u64,
    /// Its events, the next one last.
    current: Vec<Entry<E>>,
    /// The events of each bucket after it.
    heads: Box<[Head]>,
    /// A bit for each bucket that has events.
    occupied: Box<[u64]>,
    nodes: Vec<Node<E>>,
    /// The first free node.
    free: u32,
    far: BinaryHeap<Far<E>>,
    /// Events ever put into `far`.
    number: u64,
    count: usize,
    /// Buckets and their events since the width was last considered.
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
    /// The time of the last event that was taken.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Returns how many events there are.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Returns whether there are none.
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
        // What is there is not read: that would be to wait for memory.
        self.nodes[head.node as usize].events[head.count as usize] = (at, event);
        self.heads[index] = Head { count: head.count + 1, ..head };
    }

    /// A node whose events are to be set, followed by `next`; a new one has this event in each place.
    fn another_node(&mut self, next: u32, event: (Time, E)) -> u32 {
        let number = self.free;
        if let Some(node) = self.nodes.get_mut(number as usize) {
            self.free = std::mem::replace(&mut node.next, next);
            return number;
        }
        self.nodes.push(Node { next, events: [event; TOGETHER] });
        self.nodes.len() as u32 - 1
    }

    /// Goes on to the next bucket that has events, if all of this one were taken; whether it did.
    pub fn turn(&mut self) -> bool {
        self.current.is_empty() && self.go_on()
    }

    /// The next events, in no order: those of the present bucket.
    pub fn upcoming(&self) -> impl Iterator<Item = &E> {
        self.current.iter().map(|entry| &entry.event)
    }

    /// Goes on to the next bucket that has events; whether there is one.
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

    /// The first bucket after this one with events on its list.
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

    /// Moves what the horizon has reached out of the heap.
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

    /// Sorts the events of the bucket whose time has come.
    fn load(&mut self) {
        let index = (self.bucket % BUCKETS) as usize;
        self.occupied[index / 64] &= !(1 << (index % 64));
        let Head { mut node, mut count } = std::mem::replace(&mut self.heads[index], EMPTY);
        // The newest is first on the list.
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

    /// Sets a bucket's width by how many events the last ones had.
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

    /// Lists all events within the horizon anew, in their order. Those beyond it are all later, so it does not
    /// matter that others join them under higher numbers.
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
