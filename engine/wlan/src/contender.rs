//! Enhanced distributed channel access (clause 10.23.2): one contender for each category of each station.

use crate::outbox::Outbox;
use crate::phy::US;
use crate::rates::Choice;
use crate::timing::SLOT;

/// An access category, from the least to the most urgent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Category {
    /// AC_BK.
    Background,
    /// AC_BE.
    #[default]
    BestEffort,
    /// AC_VI.
    Video,
    /// AC_VO.
    Voice,
}

impl Category {
    /// All, in their order.
    pub const ALL: [Self; 4] = [Self::Background, Self::BestEffort, Self::Video, Self::Voice];

    /// The category of packets with that differentiated services codepoint, 0 to 63: user priorities as RFC 8325
    /// (section 4) has them and Linux since 6.8 (`cfg80211_classify8021d`, net/wireless/util.c), then table 10-1. Of a
    /// codepoint that neither names, the three highest bits are the user priority.
    pub fn of_dscp(dscp: u8) -> Self {
        let priority = match dscp {
            // AF1x, and CS2, which the highest bits would make background.
            10 | 12 | 14 | 16 => 0,
            // AF2x.
            18 | 20 | 22 => 3,
            // CS3 and AF3x.
            24 | 26 | 28 | 30 => 4,
            // VOICE-ADMIT and EF.
            44 | 46 => 6,
            // CS6.
            48 => 7,
            other => other >> 3,
        };
        match priority {
            1 | 2 => Self::Background,
            0 | 3 => Self::BestEffort,
            4 | 5 => Self::Video,
            _ => Self::Voice,
        }
    }

    /// Slots after SIFS (table 9-155; of an access point what such ship with).
    pub(crate) fn aifsn(self, is_access_point: bool) -> u64 {
        match self {
            Self::Background => 7,
            Self::BestEffort => 3,
            Self::Video | Self::Voice => 2 - u64::from(is_access_point),
        }
    }

    /// The smallest and the largest contention window (the same table, aCWmin being 15).
    pub(crate) fn windows(self) -> (u64, u64) {
        match self {
            Self::Background | Self::BestEffort => (15, 1023),
            Self::Video => (7, 15),
            Self::Voice => (3, 7),
        }
    }

    /// The TXOP limit, picoseconds; 0 for one exchange of any length.
    pub(crate) fn txop_limit_ps(self) -> u64 {
        match self {
            Self::Background | Self::BestEffort => 0,
            Self::Video => 4096 * US,
            Self::Voice => 2080 * US,
        }
    }
}

/// A contender for the medium: the packets of one category at one station.
#[derive(Debug)]
pub struct Contender {
    pub station: usize,
    pub category: Category,
    /// From the last use of the medium until the first slot.
    pub aifs_ps: u64,
    /// The packets, by receiver.
    pub outboxes: Vec<Outbox>,
    /// The outbox whose turn it is.
    turn: usize,
    /// Packets in all outboxes.
    pub packets: usize,
    /// Slots that are still to be waited for.
    backoff: u64,
    window: u64,
    windows: (u64, u64),
    /// Exchanges that failed since one succeeded or the window was reset (QSRC), and the number that may before it is.
    failures: u32,
    tries: u32,
    /// The time when it had something to send after it had nothing.
    pub ready_ps: u64,
    /// The time when its last exchange was over.
    pub over_ps: u64,
    /// The time from after AIFS to its first slot; `None` if that is as for all.
    pub defers_ps: Option<u64>,
}

impl Contender {
    pub fn new(station: usize, category: Category, aifs_ps: u64, tries: u32) -> Self {
        let windows = category.windows();
        Self {
            station,
            category,
            aifs_ps,
            outboxes: Vec::new(),
            turn: 0,
            packets: 0,
            backoff: 0,
            window: windows.0,
            windows,
            failures: 0,
            tries,
            ready_ps: 0,
            over_ps: 0,
            defers_ps: None,
        }
    }

    /// The time of its first slot where nobody has sent since `idle_ps` and all defer that long beyond AIFS.
    fn first_slot_ps(&self, idle_ps: u64, defers_ps: u64) -> u64 {
        idle_ps + self.aifs_ps + self.defers_ps.unwrap_or(defers_ps)
    }

    /// The time when it sends if nobody does before; `u64::MAX` if it has nothing to send. A packet that finds it with
    /// its backoff done is sent with the next slot.
    pub fn due_ps(&self, idle_ps: u64, defers_ps: u64) -> u64 {
        if self.packets == 0 {
            return u64::MAX;
        }
        let first = self.first_slot_ps(idle_ps, defers_ps);
        let since = self.ready_ps.saturating_sub(first).div_ceil(SLOT);
        first + self.backoff.max(since) * SLOT
    }

    /// Another one sends at `now_ps`: counts the slots that have begun, this one too. `draw` gives a backoff for a
    /// packet that came to a backoff that was done and had not been sent.
    pub fn on_busy(&mut self, now_ps: u64, idle_ps: u64, defers_ps: u64, draw: impl FnOnce(u64) -> u64) {
        let first = self.first_slot_ps(idle_ps, defers_ps);
        self.defers_ps = None;
        let Some(since) = now_ps.checked_sub(first) else { return };
        if self.packets > 0 && self.ready_ps > first + self.backoff * SLOT {
            self.backoff = draw(self.window);
        } else {
            self.backoff = self.backoff.saturating_sub(since / SLOT + 1);
        }
    }

    /// A packet has come, the first where there was none.
    pub fn on_packet(&mut self, now_ps: u64, is_busy: bool, draw: impl FnOnce(u64) -> u64) {
        self.packets += 1;
        if self.packets == 1 {
            self.ready_ps = now_ps;
            if is_busy && self.backoff == 0 {
                self.backoff = draw(self.window);
            }
        }
    }

    /// Its exchange succeeded.
    pub fn on_success(&mut self, draw: impl FnOnce(u64) -> u64) {
        (self.window, self.failures) = (self.windows.0, 0);
        self.backoff = draw(self.window);
    }

    /// Its exchange failed, or another contender of its station was before it: the window doubles, and is the smallest again
    /// with the failure after as many in a row as an MPDU has tries (clause 10.23.2.2).
    pub fn on_failure(&mut self, draw: impl FnOnce(u64) -> u64) {
        if self.failures < self.tries {
            self.failures += 1;
            self.window = (2 * self.window + 1).min(self.windows.1);
        } else {
            (self.window, self.failures) = (self.windows.0, 0);
        }
        self.backoff = draw(self.window);
    }

    /// Changes an outbox, and counts its packets.
    pub fn change<R>(&mut self, place: usize, change: impl FnOnce(&mut Outbox) -> R) -> R {
        let before = self.outboxes[place].packets();
        let result = change(&mut self.outboxes[place]);
        self.packets = self.packets + self.outboxes[place].packets() - before;
        result
    }

    /// The outbox for a receiver, where flows have queues of their own or not; `choice` gives the choice among rates of a new one.
    pub fn outbox(&mut self, receiver: usize, is_fair: bool, choice: impl FnOnce() -> Choice) -> &mut Outbox {
        let place =
            self.outboxes.iter().position(|outbox| outbox.receiver == receiver).unwrap_or_else(|| {
                self.outboxes.push(Outbox::new(receiver, choice(), is_fair));
                self.outboxes.len() - 1
            });
        &mut self.outboxes[place]
    }

    /// The place of the outbox that is to be sent from: each in turn, or until its share of airtime is used.
    pub fn next_outbox(&mut self) -> Option<usize> {
        let count = self.outboxes.len();
        loop {
            let mut turns = (0..count).map(|step| (self.turn + step) % count);
            let place = turns.find(|at| self.outboxes[*at].packets() > 0)?;
            let outbox = &mut self.outboxes[place];
            let is_its_turn = outbox.is_its_turn();
            let keeps_turn = is_its_turn && outbox.is_fair();
            self.turn = if keeps_turn { place } else { (place + 1) % count };
            if is_its_turn {
                return Some(place);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_is_the_smallest_again_after_the_last_try() {
        let mut contender = Contender::new(1, Category::BestEffort, 0, 4);
        let failed = |contender: &mut Contender| {
            contender.on_failure(|window| window);
            contender.window
        };
        let windows: Vec<u64> = (0..6).map(|_| failed(&mut contender)).collect();
        assert_eq!(windows, [31, 63, 127, 255, 15, 31]);
        contender.on_success(|window| window);
        let windows: Vec<u64> = (0..5).map(|_| failed(&mut contender)).collect();
        assert_eq!(windows, [31, 63, 127, 255, 15], "a success begins to count anew");
        let mut patient = Contender::new(1, Category::Video, 0, 7);
        let windows: Vec<u64> = (0..8).map(|_| failed(&mut patient)).collect();
        assert_eq!(windows, [15, 15, 15, 15, 15, 15, 15, 7], "the largest until then");
    }

    /// Figure 1 of RFC 8325, section 4.3.
    #[test]
    fn codepoints_have_the_categories_of_rfc_8325() {
        let of = |category: Category| -> Vec<u8> {
            let named =
                [0, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32, 34, 36, 38, 40, 44, 46, 48, 56];
            named.into_iter().filter(|dscp| Category::of_dscp(*dscp) == category).collect()
        };
        assert_eq!(of(Category::Background), [8]);
        assert_eq!(of(Category::BestEffort), [0, 10, 12, 14, 16, 18, 20, 22]);
        assert_eq!(of(Category::Video), [24, 26, 28, 30, 32, 34, 36, 38, 40]);
        assert_eq!(of(Category::Voice), [44, 46, 48, 56]);
    }
}
