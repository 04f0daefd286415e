//! Enhanced distributed channel access (clause 10.23.2), with a contender for each category of each station.

use crate::Category;
use crate::outbox::Outbox;
use crate::rates::Choice;
use crate::timing::SLOT;

/// A contender for the medium, which sends the packets of one category at one station.
#[derive(Debug)]
pub struct Contender {
    /// The number of its station.
    pub station: usize,
    /// The category of its packets.
    pub category: Category,
    /// The time from the last use of the medium until the first slot, in picoseconds.
    pub aifs_ps: u64,
    /// The packets, in one outbox for each receiver.
    pub outboxes: Vec<Outbox>,
    /// The index of the outbox whose turn it is.
    turn: usize,
    /// The number of packets in all outboxes.
    pub packets: usize,
    /// The number of slots left to wait for.
    backoff: u64,
    window: u64,
    windows: (u64, u64),
    /// The number of exchanges that failed since the last successful one or the last reset of the window (QSRC).
    failures: u32,
    tries: u32,
    /// The time at which it had something to send after it had nothing.
    pub ready_ps: u64,
    /// The time at which its last exchange ended.
    pub over_ps: u64,
    /// The additional time between AIFS and its first slot; `None` if it is that of its station.
    pub defers_ps: Option<u64>,
}

impl Contender {
    /// Returns a contender without packets. Its window is reset after `tries` failures.
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

    /// Returns the time of its first slot if nobody has sent since `idle_ps` and all defer `defers_ps` beyond
    /// AIFS.
    fn first_slot_ps(&self, idle_ps: u64, defers_ps: u64) -> u64 {
        idle_ps + self.aifs_ps + self.defers_ps.unwrap_or(defers_ps)
    }

    /// Returns the time at which it sends if nobody else does before; `u64::MAX` if it has nothing to send. A
    /// packet that arrives after the end of the backoff is sent in the next slot.
    pub fn due_ps(&self, idle_ps: u64, defers_ps: u64) -> u64 {
        if self.packets == 0 {
            return u64::MAX;
        }
        let first = self.first_slot_ps(idle_ps, defers_ps);
        let since = self.ready_ps.saturating_sub(first).div_ceil(SLOT);
        first + self.backoff.max(since) * SLOT
    }

    /// Counts the slots that have begun when another contender sends at `now_ps`, including the current one.
    /// `draw` returns the backoff for a packet that arrived after the end of the backoff and was not yet sent.
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

    /// Notes that a packet arrived while there was none.
    pub fn on_packet(&mut self, now_ps: u64, is_busy: bool, draw: impl FnOnce(u64) -> u64) {
        self.packets += 1;
        if self.packets == 1 {
            self.ready_ps = now_ps;
            if is_busy && self.backoff == 0 {
                self.backoff = draw(self.window);
            }
        }
    }

    /// Notes that its exchange succeeded, and draws the next backoff.
    pub fn on_success(&mut self, draw: impl FnOnce(u64) -> u64) {
        (self.window, self.failures) = (self.windows.0, 0);
        self.backoff = draw(self.window);
    }

    /// Notes that its exchange failed, or that another contender of its station was first. The window doubles; it
    /// is reset after as many failures in a row as an MPDU has tries (clause 10.23.2.2).
    pub fn on_failure(&mut self, draw: impl FnOnce(u64) -> u64) {
        if self.failures < self.tries {
            self.failures += 1;
            self.window = (2 * self.window + 1).min(self.windows.1);
        } else {
            (self.window, self.failures) = (self.windows.0, 0);
        }
        self.backoff = draw(self.window);
    }

    /// Changes an outbox, and updates the number of packets.
    pub fn change<R>(&mut self, place: usize, change: impl FnOnce(&mut Outbox) -> R) -> R {
        let before = self.outboxes[place].packets();
        let result = change(&mut self.outboxes[place]);
        self.packets = self.packets + self.outboxes[place].packets() - before;
        result
    }

    /// Returns the outbox for a receiver. If there is none, it is created, with a queue for each flow if
    /// `is_fair`, and with the rate control that `choice` returns.
    pub fn outbox(&mut self, receiver: usize, is_fair: bool, choice: impl FnOnce() -> Choice) -> &mut Outbox {
        let place =
            self.outboxes.iter().position(|outbox| outbox.receiver == receiver).unwrap_or_else(|| {
                self.outboxes.push(Outbox::new(receiver, choice(), is_fair));
                self.outboxes.len() - 1
            });
        &mut self.outboxes[place]
    }

    /// Returns the index of the next outbox to send from: each in turn, or one until its share of airtime is used.
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

    /// Compares with figure 1 of RFC 8325, section 4.3.
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
