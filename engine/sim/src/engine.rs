//! The event loop: future events in order of time, and the world whose network and endpoints handle them.

pub mod calendar;
pub mod event;
pub mod events;
pub mod world;
