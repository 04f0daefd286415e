//! Controlled delay (RFC 8289): packets are dropped, or marked, at the queue's head.
//!
//! Follows the pseudocode of the RFC's section 5, with marks as net/sched's codel_dequeue has them: a marked packet
//! is sent, so that one that begins to be marked is not followed by another at once.

use super::Length;
use crate::Codepoint;
use crate::Time;
use crate::arena::Arena;
use std::collections::VecDeque;

/// The settings.
#[derive(Debug, Clone, Copy)]
pub struct CoDelSettings {
    /// The delay that may persist.
    pub target: Time,
    /// The time for which it may.
    pub interval: Time,
    /// True if packets that can be marked are.
    pub ecn: bool,
    /// With so many bytes or fewer left in the queue nothing is dropped: a full frame.
    pub frame_bytes: u64,
}

/// A packet that waits.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    number: u32,
    wire_bytes: u32,
    since: Time,
}

/// The outcome of taking the queue's head.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Taken {
    /// The packet to be sent.
    pub packet: Option<u32>,
    /// Packets dropped before it.
    pub dropped_pkts: u64,
    /// Packets marked.
    pub marked_pkts: u64,
}

/// A queue with its state.
#[derive(Debug)]
pub struct CoDel {
    settings: CoDelSettings,
    waiting: VecDeque<Waiting>,
    length: Length,
    /// The time when the delay will have been above the target for an interval; `None` while it is below.
    first_above: Option<Time>,
    drop_next: Time,
    count: u32,
    last_count: u32,
    is_dropping: bool,
}

impl CoDel {
    /// An empty queue.
    pub fn new(settings: CoDelSettings) -> Self {
        Self {
            settings,
            waiting: VecDeque::new(),
            length: Length::default(),
            first_above: None,
            drop_next: Time::ZERO,
            count: 0,
            last_count: 0,
            is_dropping: false,
        }
    }

    /// Returns how long the queue is.
    pub fn length(&self) -> Length {
        self.length
    }

    /// Adds a packet.
    pub fn push(&mut self, now: Time, number: u32, wire_bytes: u32) {
        self.waiting.push_back(Waiting { number, wire_bytes, since: now });
        self.length = self.length.with(wire_bytes);
    }

    /// The packet to be sent next, `None` if nothing is left.
    pub fn pop(&mut self, now: Time, arena: &mut Arena) -> Taken {
        let mut taken = Taken::default();
        let (mut head, mut may_drop) = self.head(now);
        if self.is_dropping {
            self.is_dropping = may_drop;
            while self.is_dropping && now >= self.drop_next {
                self.count += 1;
                let is_marked = self.mark_or_drop(head, arena, &mut taken);
                if !is_marked {
                    (head, may_drop) = self.head(now);
                    self.is_dropping = may_drop;
                }
                if self.is_dropping {
                    self.drop_next = self.control_law(self.drop_next);
                }
                if is_marked {
                    break;
                }
            }
        } else if may_drop {
            if !self.mark_or_drop(head, arena, &mut taken) {
                (head, _) = self.head(now);
            }
            self.begin_dropping(now);
        }
        taken.packet = head.map(|head| head.number);
        taken
    }

    /// Takes the head; and whether it may be dropped (the RFC's dodequeue).
    fn head(&mut self, now: Time) -> (Option<Waiting>, bool) {
        let Some(head) = self.waiting.pop_front() else {
            self.first_above = None;
            return (None, false);
        };
        self.length = self.length.without(head.wire_bytes);
        let is_below = now.since(head.since) < self.settings.target;
        if is_below || self.length.bytes <= self.settings.frame_bytes {
            self.first_above = None;
            return (Some(head), false);
        }
        let first_above = *self.first_above.get_or_insert(now + self.settings.interval);
        (Some(head), now >= first_above)
    }

    /// Marks the packet, or drops it; whether it is still there.
    fn mark_or_drop(&self, head: Option<Waiting>, arena: &mut Arena, taken: &mut Taken) -> bool {
        let Some(Waiting { number, .. }) = head else { return false };
        let ecn = &mut arena.travel(number).ecn;
        if self.settings.ecn && *ecn != Codepoint::NotCapable {
            *ecn = Codepoint::Experienced;
            taken.marked_pkts += 1;
            return true;
        }
        arena.discard(number);
        taken.dropped_pkts += 1;
        false
    }

    /// Begins with the rate of drops that controlled the queue last time, if that is not long ago.
    fn begin_dropping(&mut self, now: Time) {
        let Time(interval) = self.settings.interval;
        self.is_dropping = true;
        let delta = self.count.saturating_sub(self.last_count);
        let is_recent = now.since(self.drop_next) < Time(16 * interval);
        self.count = if delta > 1 && is_recent { delta } else { 1 };
        self.drop_next = self.control_law(now);
        self.last_count = self.count;
    }

    fn control_law(&self, from: Time) -> Time {
        from + Time((self.settings.interval.0 as f64 / f64::from(self.count).sqrt()) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Endpoint, Flags, Packet, PathId, SackBlocks};

    const INTERVAL: Time = Time::from_ms(100);

    fn packet(ecn: Codepoint) -> Packet {
        Packet {
            path: PathId(0),
            segment_bytes: 0,
            ecn,
            flags: Flags::NONE,
            ip_bytes: 1462,
            payload_bytes: 0,
            to: Endpoint { connection: 0, side: 0, subflow: 0 },
            sequence: 0,
            ack: 0,
            window_bytes: 0,
            timestamp: Time::ZERO,
            echo: Time::NEVER,
            sack: SackBlocks::default(),
            data_sequence: 0,
            data_ack: u64::MAX,
        }
    }

    /// A queue that always holds packets of so many milliseconds' delay, from which one is taken each millisecond:
    /// when packets were dropped or marked.
    fn chosen_at(delay_ms: u64, ecn: Codepoint, until_ms: u64) -> Vec<u64> {
        let (target, frame_bytes) = (Time::from_ms(5), 1500);
        let mut queue = CoDel::new(CoDelSettings { target, interval: INTERVAL, ecn: true, frame_bytes });
        let mut arena = Arena::default();
        let mut chosen = Vec::new();
        for now in 0..until_ms {
            // Each packet's time of arrival is set, as if the queue had been as long as need be.
            while queue.length().packets < 10 {
                let number = arena.insert(packet(ecn), 0);
                queue.push(Time::ZERO, number, 1500);
            }
            queue.waiting.iter_mut().for_each(|waiting| {
                waiting.since = Time::from_ms(now.saturating_sub(delay_ms));
            });
            let taken = queue.pop(Time::from_ms(now), &mut arena);
            chosen.extend((0..taken.dropped_pkts + taken.marked_pkts).map(|_| now));
            if let Some(number) = taken.packet {
                arena.discard(number);
            }
        }
        chosen
    }

    /// After an interval above the target, drops come at intervals of 100 ms over the square root of their number
    /// (RFC 8289 section 5.5): at 100 + 100, + 70.7, + 57.7 ms.
    #[test]
    fn drops_come_at_the_control_laws_times() {
        let expected = [105, 205, 276, 334, 384];
        let found = chosen_at(6, Codepoint::NotCapable, 400);
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for (found, expected) in found.iter().zip(expected) {
            assert!(found.abs_diff(expected) <= 2, "{found}, not {expected}");
        }
    }

    #[test]
    fn packets_that_can_be_marked_are_not_dropped() {
        let dropped = chosen_at(6, Codepoint::NotCapable, 400);
        let marked = chosen_at(6, Codepoint::Capable, 400);
        assert_eq!(marked, dropped);
    }

    #[test]
    fn a_delay_below_the_target_may_stay() {
        assert!(chosen_at(4, Codepoint::NotCapable, 1000).is_empty());
    }
}
