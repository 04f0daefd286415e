//! Prefetches the memory of a world's upcoming events ([`crate::ahead`]).

use super::{Endpoints, Engine, World};
use crate::ahead::ReadAhead;
use crate::engine::calendar::Calendar;
use crate::engine::event::Event;
use crate::network::Network;

/// The bytes of links and endpoints that the second-level cache of a common CPU holds: below that there is nothing
/// to wait for, and prefetching would cost up to a fifth of a run's time.
const CACHED_BYTES: usize = 1 << 20;

/// Returns whether prefetching pays off, which is the case if a network's links and endpoints, of
/// `endpoints_bytes` in total, do not fit into a cache.
pub(crate) fn pays(network: &Network, endpoints_bytes: usize) -> bool {
    size_of_val(network.links.as_slice()) + endpoints_bytes > CACHED_BYTES
}

impl<E: Endpoints, C: Calendar> World<E, C> {
    /// Prefetches the memory of the loaded events once more, after events were added to them.
    pub(crate) fn read_added_ahead(&mut self) {
        if self.reads_ahead {
            self.read_ahead();
        }
    }

    /// Prefetches the memory that the events of the calendar's next bucket need: first the objects that they name,
    /// then the objects to which these refer, and so on. Within each step, the CPU waits for all objects at once,
    /// so no step reads what another read of the same step has to find first.
    pub(super) fn read_ahead(&mut self) {
        let Engine { network, events, arena, .. } = &self.engine;
        self.ahead.clear();
        for event in events.upcoming() {
            match Event::from(event) {
                Event::Enter { number, direction } => {
                    arena.read_ahead(number);
                    network.links[direction as usize].read_ahead();
                }
                Event::Arrive(number) => {
                    arena.read_ahead(number);
                    arena.read_packet_ahead(number);
                }
                _ => {}
            }
        }
        for event in events.upcoming() {
            let endpoint = match Event::from(event) {
                Event::Enter { number, direction } => {
                    network.paths.read_ahead(arena.place(number) + 1);
                    let link = &network.links[direction as usize];
                    link.read_queue_ahead();
                    if events.elsewhere(link.far()).is_some() {
                        arena.read_packet_ahead(number);
                    }
                    continue;
                }
                Event::Arrive(number) => arena.to(number),
                Event::Timer(endpoint) => endpoint,
                _ => continue,
            };
            if let Some(connection) = self.endpoints.connection(endpoint.connection) {
                connection.read_ahead(endpoint);
            }
            self.ahead.push((endpoint, None));
        }
        self.read_endpoints_ahead();
    }

    /// Prefetches the rest of the endpoints of the upcoming events, and the first links of their paths.
    fn read_endpoints_ahead(&mut self) {
        let Network { paths, links, .. } = &self.engine.network;
        for (endpoint, _) in &self.ahead {
            if let Some(connection) = self.endpoints.connection(endpoint.connection) {
                connection.read_further_ahead(*endpoint);
            }
        }
        for (endpoint, place) in &mut self.ahead {
            let connection = self.endpoints.connection(endpoint.connection);
            *place = connection.map(|connection| paths.start(connection.read_rest_ahead(*endpoint)));
        }
        let first = |place: &Option<u32>| Some(&links[paths.link((*place)?)? as usize]);
        for link in self.ahead.iter().filter_map(|(_, place)| first(place)) {
            link.read_ahead();
        }
        for link in self.ahead.iter().filter_map(|(_, place)| first(place)) {
            link.read_queue_ahead();
        }
    }
}
