//! Controlled delay (RFC 8289): packets are dropped, or marked, at the head of the queue.
//!
//! Follows the pseudocode of section 5 of the RFC as the kernel's include/net/codel_impl.h does. A marked packet is
//! sent, so the first mark is not immediately followed by a second one (codel_dequeue). The reciprocal square root of
//! the number of drops is approximated by a step of Newton's method for each drop (codel_Newton_step), so the second drop
//! comes 50% of an interval after the first instead of 71%, and the next ones are far from the root for a while where the
//! number jumps, because a full queue dropped many at once (fq_codel_drop).

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
    /// The time of the next drop, or of the last one that was due; 0 before the first. As on a host that has just booted, the
    /// first drops of a full queue therefore count if CoDel begins to drop within 16 intervals: with `inverse_root` 0, it then
    /// drops until the delay is below the target.
    drop_next_ps: u64,
    count: u32,
    last_count: u32,
    /// The approximate reciprocal square root of `count`, in 65,536ths (rec_inv_sqrt).
    inverse_root: u16,
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
            inverse_root: 0,
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

    /// Returns whether nothing was dropped from it or marked, so that an empty one is as good as new.
    pub(crate) fn is_unused(&self) -> bool {
        self.count == 0
    }

    /// Removes the first packet, whatever its delay.
    pub fn drop_first(&mut self) -> Option<T> {
        let first = self.waiting.pop_front()?;
        self.bytes -= u64::from(first.bytes);
        Some(first.packet)
    }

    /// Counts drops that were not CoDel's own, which raise the rate of its drops.
    pub(crate) fn count_drops(&mut self, drops: u32) {
        self.count = self.count.wrapping_add(drops);
    }

    /// Returns the next packet to be sent, or none if nothing is left. `others_bytes` are waiting elsewhere, and count as
    /// if they were left in the queue. `mark` marks a packet if it supports ECN, and returns whether it does.
    pub fn pop(&mut self, now_ps: u64, others_bytes: u64, mut mark: impl FnMut(&mut T) -> bool) -> Taken<T> {
        let mut taken = Taken { packet: None, dropped: Vec::new(), marked_pkts: 0 };
        let (mut head, mut may_drop) = self.head(now_ps, others_bytes);
        if self.is_dropping {
            self.is_dropping = may_drop;
            while self.is_dropping && now_ps >= self.drop_next_ps {
                self.count = self.count.wrapping_add(1);
                self.approach_root();
                let is_marked = mark_or_drop(&mut head, &mut mark, &mut taken);
                if !is_marked {
                    (head, may_drop) = self.head(now_ps, others_bytes);
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
                (head, _) = self.head(now_ps, others_bytes);
            }
            self.begin_dropping(now_ps);
        }
        taken.packet = head;
        taken
    }

    /// Removes the head of the queue, and returns whether it may be dropped (the RFC's dodequeue).
    fn head(&mut self, now_ps: u64, others_bytes: u64) -> (Option<T>, bool) {
        let Some(head) = self.waiting.pop_front() else {
            self.first_above_ps = None;
            return (None, false);
        };
        self.bytes -= u64::from(head.bytes);
        let is_below = now_ps.saturating_sub(head.since_ps) < self.settings.target_ps;
        if is_below || self.bytes + others_bytes <= self.settings.frame_bytes {
            self.first_above_ps = None;
            return (Some(head.packet), false);
        }
        let first_above_ps = *self.first_above_ps.get_or_insert(now_ps + self.settings.interval_ps);
        (Some(head.packet), now_ps >= first_above_ps)
    }

    /// Begins to drop, with the drop rate that controlled the queue last time if that was not long ago.
    fn begin_dropping(&mut self, now_ps: u64) {
        self.is_dropping = true;
        let delta = self.count.wrapping_sub(self.last_count);
        let is_recent = now_ps.saturating_sub(self.drop_next_ps) < 16 * self.settings.interval_ps;
        if delta > 1 && is_recent {
            self.count = delta;
            self.approach_root();
        } else {
            (self.count, self.inverse_root) = (1, u16::MAX);
        }
        self.drop_next_ps = self.control_law(now_ps);
        self.last_count = self.count;
    }

    /// Returns the time of the next drop after one at `from_ps`: an interval over the square root of the number of
    /// drops.
    fn control_law(&self, from_ps: u64) -> u64 {
        from_ps + ((u128::from(self.settings.interval_ps) * u128::from(self.inverse_root)) >> 16) as u64
    }

    /// Makes a step from `inverse_root` to the reciprocal square root of `count` (codel_Newton_step), in the kernel's
    /// arithmetic, which wraps if the root is far from it.
    fn approach_root(&mut self) {
        let root = u64::from(self.inverse_root) << 16;
        let square = (root * root) >> 32;
        let step = (3_u64 << 32).wrapping_sub(u64::from(self.count) * square) >> 2;
        self.inverse_root = (step.wrapping_mul(root) >> 47) as u16;
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
            let taken = queue.pop(now * MS, 0, |()| is_capable);
            chosen.extend((0..taken.dropped.len() as u64 + taken.marked_pkts).map(|_| now));
        }
        chosen
    }

    /// After an interval above the target, drops come at intervals of 100 ms over the square root of their number
    /// (RFC 8289 section 5.5) as the kernel approximates it: at 100 + 100, + 50.0, + 56.3, + 48.8 ms.
    #[test]
    fn drops_come_at_the_control_laws_times() {
        let expected = [105, 205, 255, 312, 360];
        let found = chosen_at(6, false, 400);
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for (found, expected) in found.iter().zip(expected) {
            assert!(found.abs_diff(expected) <= 2, "{found}, not {expected}");
        }
    }

    /// The roots are those of codel_Newton_step, compiled from the kernel's source: of 2 to 6 drops, and of 75 to 77 after
    /// the number has jumped.
    #[test]
    fn roots_are_approximated_as_in_the_kernel() {
        let mut queue =
            CoDel::<()>::new(CoDelSettings { target_ps: 5 * MS, interval_ps: 100 * MS, frame_bytes: 1500 });
        queue.inverse_root = u16::MAX;
        let mut root_of = |count| {
            queue.count = count;
            queue.approach_root();
            queue.inverse_root
        };
        assert_eq!([2, 3, 4, 5, 6].map(&mut root_of), [32_769, 36_864, 31_968, 28_935, 26_481]);
        assert_eq!([7, 8, 9, 10, 11].map(&mut root_of)[4], 19_699);
        assert_eq!([75, 75, 76, 77].map(&mut root_of)[1..], [40_365, 2948, 4192]);
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
