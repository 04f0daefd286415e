//! The future events of an engine: all of them, or those of a part of the network ([`crate::parallel`]).

use crate::engine::event::Packed;
use crate::engine::events::Events;
use crate::packets::arena::{Load, Travel};
use crate::{SackBlocks, Time};
use std::fmt::Debug;

/// The future events of an engine, in order of time; events at the same time are in the order of their creation.
pub trait Calendar: Debug {
    /// Returns the time of the last event taken.
    fn now(&self) -> Time;

    /// Adds an event, which must not be before [`Calendar::now`].
    fn push(&mut self, at: Time, event: Packed);

    /// Takes the next event, unless it is after `end`.
    fn pop(&mut self, end: Time) -> Option<Packed>;

    /// Loads the next events if there are no loaded ones; returns whether it did.
    fn turn(&mut self) -> bool;

    /// Returns the loaded events, in no particular order.
    fn upcoming(&self) -> impl Iterator<Item = Packed>;

    /// Returns the number of the part to which the node of that interface belongs; `None` if it belongs to this one.
    fn elsewhere(&self, _interface: u32) -> Option<usize> {
        None
    }

    /// Sends a packet, which was taken out of the arena, to another part, at which it arrives at `at`.
    fn send(&mut self, _part: usize, _at: Time, _packet: (Travel, Load, Option<SackBlocks>)) {}
}

impl Calendar for Events<Packed> {
    fn now(&self) -> Time {
        Self::now(self)
    }

    fn push(&mut self, at: Time, event: Packed) {
        Self::push(self, at, event);
    }

    fn pop(&mut self, end: Time) -> Option<Packed> {
        Self::pop(self, end).map(|(_, event)| event)
    }

    fn turn(&mut self) -> bool {
        Self::turn(self)
    }

    fn upcoming(&self) -> impl Iterator<Item = Packed> {
        Self::upcoming(self).copied()
    }
}
