//! The future events of a part of the network.
//! Events for a later window are kept until the end of the present one, when those of all parts are added in the
//! order of their creation.

use super::hosts::Endings;
use super::order::{Handled, Origin};
use crate::engine::calendar::Calendar;
use crate::engine::event::Packed;
use crate::engine::events::Events;
use crate::packets::arena::{Load, Travel};
use crate::{SackBlocks, Time};
use std::sync::Arc;

/// An event with its origin.
#[derive(Debug, Clone, Copy)]
struct Known {
    event: Packed,
    origin: Origin,
}

/// A new event or packet that is not in a calendar yet.
#[derive(Debug, Clone, Copy)]
pub struct New<T> {
    /// The time of the event, or of the packet's arrival.
    pub at: Time,
    /// The time at which its creator was handled.
    pub created_at: Time,
    /// The index of its creator among the events that the part handled in this window.
    pub creator: u32,
    /// Its number among those of its creator.
    pub child: u32,
    /// The event or packet.
    pub what: T,
}

/// The packets that a part sent to another one.
#[derive(Debug, Default)]
pub struct Crossings {
    /// The packets without their SACK blocks, in order.
    pub packets: Vec<New<(Travel, Load)>>,
    /// The SACK blocks of those packets that have any.
    pub blocks: Vec<SackBlocks>,
}

/// The outcome of a window in a part, for all parts to read.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The events that it handled.
    pub handled: Handled,
    /// The packets that it sent to each part, in order.
    pub crossings: Vec<Crossings>,
    /// A time before which it has no event, and its packets cause none in other parts.
    pub quiet_until: Time,
    /// The endings of connections that other parts have to know.
    pub endings: Endings,
}

/// The future events of a part.
#[derive(Debug)]
pub struct Window {
    events: Events<Known>,
    /// The end of the present window: events from this time on belong to later ones.
    end: Time,
    /// The number of events that the event being handled has created.
    children: u32,
    /// The new events of later windows, in order.
    later: Vec<New<Packed>>,
    outcome: Outcome,
    /// The number of this part.
    part: u8,
    /// The part to which the node of each interface belongs.
    parts: Arc<[u8]>,
}

impl Window {
    /// Returns the calendar of part `part` of `count`, without events, at time `now`.
    pub fn new(part: u8, count: usize, parts: Arc<[u8]>, now: Time) -> Self {
        Self {
            events: Events::at(now),
            end: now,
            children: 0,
            later: Vec::new(),
            outcome: Outcome {
                crossings: (0..count).map(|_| Crossings::default()).collect(),
                ..Outcome::default()
            },
            part,
            parts,
        }
    }

    /// Adds an event of that origin. Events at the same time have to be added in the order of their creation.
    pub fn add(&mut self, at: Time, event: Packed, origin: Origin) {
        self.events.push(at, Known { event, origin });
    }

    /// Begins the window that ends at `end`.
    pub fn begin(&mut self, end: Time) {
        self.end = end;
    }

    /// Ends the window: exchanges its outcome with `outcome`, which is emptied, and its events of later windows with
    /// `later`, which has to be empty.
    pub fn end(&mut self, outcome: &mut Outcome, later: &mut Vec<New<Packed>>) {
        let own = self.later.iter().map(|new| new.at);
        let crossing =
            self.outcome.crossings.iter().flat_map(|crossings| &crossings.packets).map(|new| new.at);
        let new = own.chain(crossing).min().unwrap_or(Time::NEVER);
        self.outcome.quiet_until = self.events.quiet_until().min(new);
        std::mem::swap(&mut self.outcome, outcome);
        std::mem::swap(&mut self.later, later);
        self.outcome.handled.clear();
        self.outcome.crossings.resize_with(outcome.crossings.len(), Crossings::default);
        for crossings in &mut self.outcome.crossings {
            crossings.packets.clear();
            crossings.blocks.clear();
        }
    }

    /// Takes all events, in order.
    pub fn drain(&mut self) -> Vec<(Time, Origin, Packed)> {
        let next = || self.events.pop(Time::NEVER);
        std::iter::from_fn(next).map(|(at, Known { event, origin })| (at, origin, event)).collect()
    }

    /// Returns a new event of the one that is being handled.
    fn create<T>(&mut self, at: Time, what: T) -> New<T> {
        let child = self.children;
        self.children += 1;
        let creator = self.outcome.handled.len() as u32 - 1;
        New { at, created_at: self.events.now(), creator, child, what }
    }
}

impl Calendar for Window {
    fn now(&self) -> Time {
        self.events.now()
    }

    fn push(&mut self, at: Time, event: Packed) {
        let new = self.create(at, event);
        if at < self.end {
            self.add(at, event, Origin::present(new.created_at, new.creator, new.child));
        } else {
            self.later.push(new);
        }
    }

    fn pop(&mut self, end: Time) -> Option<Packed> {
        let (at, Known { event, origin }) = self.events.pop(end)?;
        self.outcome.handled.push(at, origin);
        self.children = 0;
        Some(event)
    }

    fn turn(&mut self) -> bool {
        self.events.turn()
    }

    fn upcoming(&self) -> impl Iterator<Item = Packed> {
        self.events.upcoming().map(|known| known.event)
    }

    fn elsewhere(&self, interface: u32) -> Option<usize> {
        let part = self.parts[interface as usize];
        (part != self.part).then_some(part.into())
    }

    fn send(&mut self, part: usize, at: Time, (travel, load, blocks): (Travel, Load, Option<SackBlocks>)) {
        let new = self.create(at, (travel, load));
        let crossings = &mut self.outcome.crossings[part];
        crossings.packets.push(new);
        crossings.blocks.extend(blocks);
    }
}
