//! Controlled delay (RFC 8289): packets are dropped, or marked, at the head of the queue.
//!
//! Follows the pseudocode of section 5 of the RFC, with marks as in codel_dequeue of the kernel's net/sched: a
//! marked packet is sent, so the first mark is not immediately followed by a second one.

use std::collections::VecDeque;

/// The settings of CoDel.
#[derive(Debug, Clone, Copy)]
pub struct CoDelSettings {
    /// The delay that may persist, in picoseconds.
    pub target_ps: u64,
    /// The time for which the delay may exceed the target, in picoseconds.
    pub interval_ps: u64,
    /// The number of bytes left in the queue at or below which nothing is dropped: a full frame.
    pub frame_bytes: u64,
}

/// A packet that waits in the queue.
#[derive(Debug)]
struct Waiting<T> {
    packet: T,
    bytes: u32,
    since_ps: u64,
}

/// The outcome of taking the queue's head.
#[derive(Debug)]
pub struct Taken<T> {
    /// The packet to be sent.
    pub packet: Option<T>,
    /// The packets that were dropped before it.
    pub dropped: Vec<T>,
    /// The number of packets that were marked.
    pub marked_pkts: u64,
}

/// A queue with the state of its CoDel.
#[derive(Debug)]
pub struct CoDel<T> {
    settings: CoDelSettings,
    waiting: VecDeque<Waiting<T>>,
    bytes: u64,
    /// The time at which the delay will have exceeded the target for an interval; `None` while it is below the
    /// target.
    first_above_ps: Option<u64>,
    drop_next_ps: u64,
    count: u32,
    last_count: u32,
    is_dropping: bool,
}

impl<T> CoDel<T> {
    /// Returns an empty queue.
    pub fn new(settings: CoDelSettings) -> Self {
        Self {
            settings,
            waiting: VecDeque::new(),
            bytes: 0,
            first_above_ps: None,
            drop_next_ps: 0,
            count: 0,
            last_count: 0,
            is_dropping: false,
        }
    }

    /// Returns the number of packets in the queue.
    pub fn packets(&self) -> usize {
        self.waiting.len()
    }

    /// Returns the bytes in the queue.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Adds a packet of `bytes` bytes.
    pub fn push(&mut self, now_ps: u64, packet: T, bytes: u32) {
        self.waiting.push_back(Waiting { packet, bytes, since_ps: now_ps });
        self.bytes += u64::from(bytes);
    }

    /// Removes the first packet, whatever its delay.
    pub fn drop_first(&mut self) -> Option<T> {
        let first = self.waiting.pop_front()?;
        self.bytes -= u64::from(first.bytes);
        Some(first.packet)
    }

    /// Returns the next packet to be sent, or none if nothing is left. `mark` marks a packet if it supports ECN,
    /// and returns whether it does.
    pub fn pop(&mut self, now_ps: u64, mut mark: impl FnMut(&mut T) -> bool) -> Taken<T> {
        let mut taken = Taken { packet: None, dropped: Vec::new(), marked_pkts: 0 };
        let (mut head, mut may_drop) = self.head(now_ps);
        if self.is_dropping {
            self.is_dropping = may_drop;
            while self.is_dropping && now_ps >= self.drop_next_ps {
                self.count += 1;
                let is_marked = mark_or_drop(&mut head, &mut mark, &mut taken);
                if !is_marked {
                    (head, may_drop) = self.head(now_ps);
                    self.is_dropping = may_drop;
                }
                if self.is_dropping {
                    self.drop_next_ps = self.control_law(self.drop_next_ps);
                }
                if is_marked {
                    break;
                }
            }
        } else if may_drop {
            if !mark_or_drop(&mut head, &mut mark, &mut taken) {
                (head, _) = self.head(now_ps);
            }
            self.begin_dropping(now_ps);
        }
        taken.packet = head;
        taken
    }

    /// Removes the head of the queue, and returns whether it may be dropped (the RFC's dodequeue).
    fn head(&mut self, now_ps: u64) -> (Option<T>, bool) {
        let Some(head) = self.waiting.pop_front() else {
            self.first_above_ps = None;
            return (None, false);
        };
        self.bytes -= u64::from(head.bytes);
        let is_below = now_ps.saturating_sub(head.since_ps) < self.settings.target_ps;
        if is_below || self.bytes <= self.settings.frame_bytes {
            self.first_above_ps = None;
            return (Some(head.packet), false);
        }
        let first_above_ps = *self.first_above_ps.get_or_insert(now_ps + self.settings.interval_ps);
        (Some(head.packet), now_ps >= first_above_ps)
    }

    /// Begins to drop, with the drop rate that controlled the queue last time if that was not long ago.
    fn begin_dropping(&mut self, now_ps: u64) {
        self.is_dropping = true;
        let delta = self.count.saturating_sub(self.last_count);
        let is_recent = now_ps.saturating_sub(self.drop_next_ps) < 16 * self.settings.interval_ps;
        self.count = if delta > 1 && is_recent { delta } else { 1 };
        self.drop_next_ps = self.control_law(now_ps);
        self.last_count = self.count;
    }

    /// Returns the time of the next drop after one at `from_ps`: an interval over the square root of the number of
    /// drops.
    fn control_law(&self, from_ps: u64) -> u64 {
        from_ps + (self.settings.interval_ps as f64 / f64::from(self.count).sqrt()) as u64
    }
}

/// Marks the packet or drops it. Returns whether it was marked.
fn mark_or_drop<T>(
    head: &mut Option<T>,
    mark: &mut impl FnMut(&mut T) -> bool,
    taken: &mut Taken<T>,
) -> bool {
    let is_marked = head.as_mut().is_some_and(mark);
    if is_marked {
        taken.marked_pkts += 1;
    } else {
        taken.dropped.extend(head.take());
    }
    is_marked
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000_000;

    /// Returns the times in milliseconds at which packets were dropped or marked. The packets of the queue always
    /// have the given delay, and one is taken every millisecond.
    fn chosen_at(delay_ms: u64, is_capable: bool, until_ms: u64) -> Vec<u64> {
        let settings = CoDelSettings { target_ps: 5 * MS, interval_ps: 100 * MS, frame_bytes: 1500 };
        let mut queue = CoDel::new(settings);
        let mut chosen = Vec::new();
        for now in 0..until_ms {
            // The arrival time of each packet is set as if the queue had been long enough.
            while queue.packets() < 10 {
                queue.push(0, (), 1500);
            }
            queue.waiting.iter_mut().for_each(|waiting| waiting.since_ps = now.saturating_sub(delay_ms) * MS);
            let taken = queue.pop(now * MS, |()| is_capable);
            chosen.extend((0..taken.dropped.len() as u64 + taken.marked_pkts).map(|_| now));
        }
        chosen
    }

    /// After an interval above the target, drops come at intervals of 100 ms over the square root of their number
    /// (RFC 8289 section 5.5): at 100 + 100, + 70.7, + 57.7 ms.
    #[test]
    fn drops_come_at_the_control_laws_times() {
        let expected = [105, 205, 276, 334, 384];
        let found = chosen_at(6, false, 400);
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for (found, expected) in found.iter().zip(expected) {
            assert!(found.abs_diff(expected) <= 2, "{found}, not {expected}");
        }
    }

    #[test]
    fn packets_that_can_be_marked_are_not_dropped() {
        assert_eq!(chosen_at(6, true, 400), chosen_at(6, false, 400));
    }

    #[test]
    fn a_delay_below_the_target_may_stay() {
        assert!(chosen_at(4, false, 1000).is_empty());
    }
}
