//! The queue of future events, in order of time; events at the same time keep the order in which they were added.
//! The queue is a calendar of buckets (Brown 1988, "Calendar queues") with one turn: an event within the horizon is
//! added to the list of its bucket, and an event beyond it to a heap, which it leaves when the horizon reaches it.
//! A bucket is sorted when its time comes. The width of buckets adapts to the number of events. Nothing is
//! allocated after the queue has reached its largest number of events.

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
/// The number of events in a node, which takes four cache lines if an event takes 8 bytes.
const TOGETHER: usize = 15;
/// The number of parts into which a bucket's time is divided to sort its events, as a power of two: more than
/// a bucket has events.
const PARTS_SHIFT: u32 = 7;
const PARTS: usize = 1 << PARTS_SHIFT;
/// The number of events in a part up to which they are sorted by insertion.
const FEW: u32 = 16;
/// The number that marks the end of a list.
const NONE: u32 = u32::MAX;

/// An event and its time.
#[derive(Debug, Clone, Copy)]
struct Entry<E> {
    at: Time,
    event: E,
}

/// Several successive events of a bucket's list, so that not every event requires a jump in memory.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Node<E> {
    /// The node with the preceding events.
    next: u32,
    events: [Entry<E>; TOGETHER],
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
    /// The events of a bucket before they are sorted, the one added last first.
    unsorted: Vec<Entry<E>>,
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
            unsorted: Vec::new(),
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
    /// Returns a queue without events at time `now`.
    pub fn at(now: Time) -> Self {
        Self { now, bucket: now.0 >> FIRST_SHIFT, ..Self::default() }
    }

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

    /// Returns a time before which there is no event: that of the next one, or the beginning of its bucket.
    pub fn quiet_until(&self) -> Time {
        let listed = || self.next_occupied().map(|bucket| Time(bucket << self.shift));
        let far = || self.far.peek().map(|far| far.at);
        let next = self.current.last().map(|entry| entry.at);
        next.or_else(listed).or_else(far).unwrap_or(Time::NEVER)
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
            self.current.insert(later, Entry { at, event });
        } else if bucket - self.bucket < BUCKETS {
            self.list(bucket, Entry { at, event });
        } else {
            self.number += 1;
            self.far.push(Far { at, number: self.number, event });
        }
    }

    /// Puts an event on the list of its bucket.
    fn list(&mut self, bucket: u64, entry: Entry<E>) {
        let index = (bucket % BUCKETS) as usize;
        let mut head = self.heads[index];
        if head.count == TOGETHER as u32 {
            head = Head { node: self.another_node(head.node, entry), count: 0 };
            self.occupied[index / 64] |= 1 << (index % 64);
        }
        // The old value is not read, which would mean waiting for memory.
        self.nodes[head.node as usize].events[head.count as usize] = entry;
        self.heads[index] = Head { count: head.count + 1, ..head };
    }

    /// Returns a node whose events are to be set and which is followed by `next`; a new node has this event at
    /// each position.
    fn another_node(&mut self, next: u32, entry: Entry<E>) -> u32 {
        let number = self.free;
        if let Some(node) = self.nodes.get_mut(number as usize) {
            self.free = std::mem::replace(&mut node.next, next);
            return number;
        }
        self.nodes.push(Node { next, events: [entry; TOGETHER] });
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
        let bucket = (0..=words).find_map(|turned| {
            let word = (start / 64 + turned) % words;
            let bits = if turned == 0 { ahead } else { self.occupied[word] };
            (bits != 0).then(|| word * 64 + bits.trailing_zeros() as usize)
        })?;
        Some(first + (bucket + BUCKETS as usize - start) as u64 % BUCKETS)
    }

    /// Moves events that the horizon has reached out of the heap.
    fn move_near(&mut self) {
        while let Some(far) = self.far.peek() {
            let bucket = far.at.0 >> self.shift;
            if bucket - self.bucket >= BUCKETS {
                break;
            }
            if let Some(Far { at, event, .. }) = self.far.pop() {
                self.list(bucket, Entry { at, event });
            }
        }
    }

    /// Loads and sorts the events of the new current bucket.
    fn load(&mut self) {
        let index = (self.bucket % BUCKETS) as usize;
        self.occupied[index / 64] &= !(1 << (index % 64));
        let Head { mut node, mut count } = std::mem::replace(&mut self.heads[index], EMPTY);
        self.unsorted.clear();
        while node != NONE {
            let Node { next, events } = &mut self.nodes[node as usize];
            self.unsorted.extend(events[..count as usize].iter().rev());
            count = TOGETHER as u32;
            let after = std::mem::replace(next, self.free);
            self.free = std::mem::replace(&mut node, after);
        }
        self.sort();
    }

    /// Sorts the events of the new current bucket: first by the parts of the bucket's time, then within each part.
    /// Events at the same time stay in order, because each step is stable.
    fn sort(&mut self) {
        let shift = self.shift - PARTS_SHIFT;
        let part = |entry: &Entry<E>| (entry.at.0 >> shift) as usize % PARTS;
        let mut places = [0_u32; PARTS];
        for entry in &self.unsorted {
            places[part(entry)] += 1;
        }
        let (mut place, mut most) = (0, 0);
        for count in places.iter_mut().rev() {
            most = most.max(*count);
            place += std::mem::replace(count, place);
        }
        self.current.clone_from(&self.unsorted);
        for entry in &self.unsorted {
            let place = &mut places[part(entry)];
            self.current[*place as usize] = *entry;
            *place += 1;
        }
        if most > FEW {
            self.current.sort_by_key(|entry| std::cmp::Reverse(entry.at));
        } else {
            sort_by_insertion(&mut self.current);
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
        let mut all: Vec<Entry<E>> = Vec::new();
        while let Some(bucket) = self.next_occupied() {
            self.bucket = bucket;
            self.load();
            all.extend(self.current.drain(..).rev());
        }
        self.shift = shift;
        self.bucket = self.now.0 >> shift;
        self.move_near();
        for Entry { at, event } in all {
            self.place(at, event);
        }
    }
}

/// Sorts events that are almost in order, so that the next one comes last.
fn sort_by_insertion<E: Copy>(events: &mut [Entry<E>]) {
    for end in 1..events.len() {
        let entry = events[end];
        let mut place = end;
        while place > 0 && events[place - 1].at < entry.at {
            events[place] = events[place - 1];
            place -= 1;
        }
        events[place] = entry;
    }
}
