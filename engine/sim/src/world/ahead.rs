//! What is about to happen, so that it need not wait for memory.
//!
//! The links, packets and connections of a large fabric do not fit the processor's cache. Were each event to wait for
//! its own, one after the other, that would be most of a hop's time. So what the events of the calendar's next bucket
//! need is read before the first of them: the processor waits for all of that at once. Nothing is changed, and no result
//! depends on it.

use super::{Endpoints, Engine, Event, World};
use crate::{Endpoint, Network};
use std::hint::black_box;

impl<E: Endpoints> World<E> {
    /// Reads what the events of the calendar's bucket need: first what they name, then what is found through that.
    pub(super) fn look_ahead(&self) {
        let Engine { network, events, arena, .. } = &self.engine;
        for event in events.upcoming() {
            match *event {
                Event::Enter { number, direction } => {
                    black_box(arena.touch(number));
                    black_box(network.links[direction as usize].touch());
                }
                Event::Arrive(number) => {
                    black_box(arena.touch_all(number));
                }
                _ => {}
            }
        }
        for event in events.upcoming() {
            let direction = match *event {
                Event::Enter { direction, .. } => Some(direction),
                Event::Arrive(number) => self.expect(arena.to(number)),
                Event::Timer(endpoint) => self.expect(endpoint),
                _ => None,
            };
            if let Some(direction) = direction {
                black_box(network.links[direction as usize].touch_waiting());
            }
        }
    }

    /// Has an endpoint touch what it needs; gives the first link of its packets.
    fn expect(&self, endpoint: Endpoint) -> Option<u32> {
        let Network { paths, links, .. } = &self.engine.network;
        let direction = paths.link(paths.start(self.endpoints.expect(endpoint)?))?;
        black_box(links[direction as usize].touch());
        Some(direction)
    }
}
