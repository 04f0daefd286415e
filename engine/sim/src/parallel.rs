//! One trial in several threads, with the same record as in one.
//!
//! The network is divided into parts ([`partition`]), and a thread handles the events of each. A frame needs at least
//! the transmission time of the smallest frame and the delay of the link to reach another part. Within a window of
//! that length, no part can affect another one, so all parts handle the events of a window, wait for each other, and
//! exchange the packets that crossed (conservative synchronisation, Chandy and Misra 1979, "Distributed simulation").
//! New events are added in the order in which one thread would have created them ([`order`]), so every queue and
//! every connection sees the same events in the same order.
//!
//! Both sides of a flow are one application, so the network is divided only while no application needs both: after
//! the last flow has begun, and before the last one may end. In between, flows that transfer data need one side at a
//! time ([`hosts`]). All other trials, and the rest of these, run in one thread ([`span`]). A connection that fails
//! meanwhile concerns both sides; then the trial is repeated in one thread. So it is if a connection still sends a packet
//! after both of its sides have ended in the same window, because neither knew of the other's end.

mod barrier;
mod calendar;
mod divide;
mod hosts;
mod order;
mod partition;
mod span;
#[cfg(test)]
mod tests;

pub use divide::Divided;
pub use hosts::PartHosts;
pub use span::Span;

use crate::ahead::ReadAhead;
use crate::engine::event::Packed;
use crate::packets::arena::{Load, Travel};
use crate::{SackBlocks, Time, World};
use barrier::Barrier;
use calendar::{Crossings, New, Outcome, Window};
use order::{Handled, Origin, Ranks, Reader, rank};
use std::hint::black_box;
use std::slice::Iter;
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

/// The state that all parts share while they run.
struct Shared {
    barrier: Barrier,
    /// The outcomes of each part in the present window and in the one before it, which parts may still be reading.
    outcomes: [Vec<RwLock<Outcome>>; 2],
}

impl Shared {
    fn new(parts: usize) -> Self {
        let outcomes = || (0..parts).map(|_| RwLock::default()).collect();
        Self { barrier: Barrier::new(parts), outcomes: [outcomes(), outcomes()] }
    }
}

/// The state of a divided world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// All events up to the given time were handled.
    Reached,
    /// The last flow may end soon, which is for one thread to handle.
    Ending,
    /// Something needed both sides of a connection, so the trial has to be repeated in one thread.
    Dependent,
}

impl Divided<'_> {
    /// Runs all parts up to and including `until`, or to the time after which the last flow may end.
    pub fn run(&mut self, until: Time) -> State {
        let (begin, end, lookahead) = (self.reached, Time(until.0 + 1), self.lookahead);
        let shared = &Shared::new(self.worlds.len());
        let mut ends = vec![(begin, false); self.worlds.len()];
        std::thread::scope(|scope| {
            for ((part, world), ends) in self.worlds.iter_mut().enumerate().zip(&mut ends) {
                scope.spawn(move || {
                    shared.barrier.guard(|| *ends = run(world, part, [begin, end], lookahead, shared));
                });
            }
        });
        let (reached, is_ending) = ends[0];
        self.reached = reached;
        if !self.worlds.iter().all(|world| world.endpoints.is_independent()) {
            State::Dependent
        } else if is_ending {
            State::Ending
        } else {
            State::Reached
        }
    }
}

/// Runs a part from a time up to but not including another. Returns the end of its last window, and whether all
/// connections are closed on one side then, so that the last flow may end.
fn run(
    world: &mut World<PartHosts<'_>, Window>,
    part: usize,
    [mut begin, end]: [Time; 2],
    lookahead: Time,
    shared: &Shared,
) -> (Time, bool) {
    let (mut later, mut ranks) = (Vec::new(), Vec::new());
    let mut outcomes = shared.outcomes.iter().cycle();
    while begin < end
        && let Some(outcomes) = outcomes.next()
    {
        let window_end = (begin + lookahead).min(end);
        world.engine.events.begin(window_end);
        world.run(Time(window_end.0 - 1));
        {
            let mut outcome = outcomes[part].write().unwrap_or_else(PoisonError::into_inner);
            world.engine.events.end(&mut outcome, &mut later);
            world.endpoints.tell(&mut outcome.endings);
        }
        if !shared.barrier.wait() {
            break;
        }
        let read = |outcome| RwLock::read(outcome).unwrap_or_else(PoisonError::into_inner);
        let outcomes: Vec<RwLockReadGuard<'_, Outcome>> = outcomes.iter().map(read).collect();
        exchange(world, part, &outcomes, &mut later, &mut ranks);
        for (_, other) in outcomes.iter().enumerate().filter(|&(other, _)| other != part) {
            world.endpoints.learn(&other.endings.ended);
        }
        let next = outcomes.iter().map(|outcome| outcome.quiet_until).min().unwrap_or(end);
        begin = window_end.max(next).min(end);
        if outcomes.iter().all(|outcome| outcome.endings.open == 0) {
            return (window_end, true);
        }
        world.read_added_ahead();
    }
    (begin, false)
}

/// Adds the new events of `later` and the packets that other parts sent to this one to its calendar, in the order of
/// their creation.
fn exchange(
    world: &mut World<PartHosts<'_>, Window>,
    part: usize,
    outcomes: &[RwLockReadGuard<'_, Outcome>],
    later: &mut Vec<New<Packed>>,
    ranks: &mut Vec<Ranks>,
) {
    let handled: Vec<&Handled> = outcomes.iter().map(|outcome| &outcome.handled).collect();
    rank(&handled, ranks);
    let mut others: Vec<_> = outcomes
        .iter()
        .zip(&*ranks)
        .enumerate()
        .filter(|&(other, _)| other != part)
        .map(|(_, (outcome, ranks))| Incoming::new(&outcome.crossings[part], ranks))
        .collect();
    let mut own_ranks = ranks[part].reader();
    let mut own = later.drain(..).peekable();
    loop {
        let next = others.iter().zip(0..).filter_map(|(other, number)| Some((other.creator?, number))).min();
        while let Some(new) = own.peek() {
            let creator = (new.created_at, own_ranks.next(new.creator));
            if next.is_some_and(|(crossing, _)| crossing < creator) {
                break;
            }
            world.engine.events.add(new.at, new.what, Origin::of(creator, new.child));
            own.next();
        }
        let Some((creator, other)) = next else { break };
        let other = &mut others[other];
        if let Some(New { at, child, what: (travel, load), .. }) = other.packets.next() {
            let event = world.engine.receive(*travel, *load, &mut other.blocks);
            world.engine.events.add(*at, event, Origin::of(creator, *child));
        }
        other.look();
    }
}

/// The packets from another part that have not been added.
struct Incoming<'a> {
    packets: Iter<'a, New<(Travel, Load)>>,
    blocks: Iter<'a, SackBlocks>,
    ranks: Reader<'a>,
    /// The time at which the creator of the next one was handled, and its rank.
    creator: Option<(Time, u32)>,
}

impl<'a> Incoming<'a> {
    fn new(crossings: &'a Crossings, ranks: &'a Ranks) -> Self {
        // The packets are in another CPU's cache, and this waits for all of them at once.
        for packet in &crossings.packets {
            black_box(packet.at);
            packet.what.1.read_ahead();
        }
        let (packets, blocks) = (crossings.packets.iter(), crossings.blocks.iter());
        let mut new = Self { packets, blocks, ranks: ranks.reader(), creator: None };
        new.look();
        new
    }

    /// Determines the creator of the next packet.
    fn look(&mut self) {
        let next = self.packets.as_slice().first();
        self.creator = next.map(|next| (next.created_at, self.ranks.next(next.creator)));
    }
}
