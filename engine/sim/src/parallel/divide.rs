//! The division of a world into parts, and its restoration.

use super::Span;
use super::calendar::Window;
use super::hosts::PartHosts;
use super::order::Origin;
use crate::applications::hosts::Hosts;
use crate::engine::event::Event;
use crate::engine::events::Events;
use crate::engine::world::Balance;
use crate::{Endpoint, Engine, Io, Link, Time, World};
use std::sync::Arc;

/// A divided world.
pub struct Divided<'a> {
    /// The parts.
    pub(super) worlds: Vec<World<PartHosts<'a>, Window>>,
    /// The time up to which all events before it were handled.
    pub(super) reached: Time,
    /// The length of a window.
    pub(super) lookahead: Time,
    /// The part of each interface's node.
    interfaces: Arc<[u8]>,
    balance: Balance,
}

impl<'a> Divided<'a> {
    /// Divides a world, all of whose events before `span.begin` were handled.
    pub fn new(world: World<Hosts<'a>>, span: &Span) -> Self {
        let World { engine, endpoints, reads_ahead, .. } = world;
        let Engine { network, mut events, mut arena, balance, .. } = engine;
        let now = events.now();
        let networks = network.divide(&span.interfaces, span.count);
        let calendar = |part| Window::new(part as u8, span.count, Arc::clone(&span.interfaces), now);
        let mut engines: Vec<_> = networks
            .into_iter()
            .enumerate()
            .map(|(part, network)| Engine::with(network, calendar(part)))
            .collect();
        let of = |Endpoint { connection, side, .. }: Endpoint| match span.flows.get(connection as usize) {
            // The timers of the flow itself.
            Some(hosts) => hosts[0],
            // Nobody waits for events of a connection that is gone.
            None => {
                let flow = endpoints.flow_of(connection);
                flow.map_or(0, |flow| span.flows[flow as usize][usize::from(side)])
            }
        };
        let mut number = 0;
        while let Some((at, event)) = events.pop(Time::NEVER) {
            let (part, event) = match Event::from(event) {
                Event::Timer(endpoint) => (usize::from(of(endpoint)), Event::Timer(endpoint).into()),
                Event::Enter { number, .. } | Event::Arrive(number) => {
                    let (travel, load, blocks) = arena.take(number);
                    let part = match engines[0].network.paths.link(travel.next) {
                        Some(direction) => span.interfaces[direction as usize],
                        None => of(load.to),
                    };
                    let part = usize::from(part);
                    (part, engines[part].receive(travel, load, &mut blocks.iter()))
                }
                // `Span` excludes what has other events.
                other => unreachable!("{other:?} in a divided network"),
            };
            engines[part].events.add(at, event, Origin::initial(number));
            number += 1;
        }
        debug_assert_eq!(arena.len(), 0, "packets without an event");
        let parts = PartHosts::divide(endpoints, &span.flows, span.count);
        let worlds = engines
            .into_iter()
            .zip(parts)
            .map(|(engine, hosts)| World { engine, endpoints: hosts, reads_ahead, ahead: Vec::new() })
            .collect();
        let interfaces = Arc::clone(&span.interfaces);
        Self { worlds, reached: span.begin, lookahead: span.lookahead, interfaces, balance }
    }

    /// Returns the time before which all events were handled.
    pub fn reached(&self) -> Time {
        self.reached
    }

    /// Returns a link direction.
    pub fn link(&mut self, direction: u32) -> &mut Link {
        let part = self.interfaces[direction as usize];
        self.worlds[usize::from(part)].engine.network().link(direction)
    }

    /// Restores the whole world.
    pub fn join(self) -> World<Hosts<'a>> {
        let now = self.worlds.iter().map(|world| world.engine.now()).max().unwrap_or_default();
        let reads_ahead = self.worlds.iter().any(|world| world.reads_ahead);
        let (mut networks, mut hosts, mut pending) = (Vec::new(), Vec::new(), Vec::new());
        let mut balance = self.balance;
        for World {
            engine: Engine { network, mut events, arena, balance: of_part, .. }, endpoints, ..
        } in self.worlds
        {
            balance += of_part;
            pending.extend(
                events.drain().into_iter().map(|(at, origin, event)| (at, origin, networks.len(), event)),
            );
            networks.push((network, arena));
            hosts.push(endpoints);
        }
        pending.sort_by_key(|&(at, origin, _, _)| (at, origin));
        let (networks, mut arenas): (Vec<_>, Vec<_>) = networks.into_iter().unzip();
        let network = crate::Network::join(networks, &self.interfaces);
        let mut engine = Engine::with(network, Events::at(now));
        engine.balance = balance;
        for (at, _, part, event) in pending {
            let event = match Event::from(event) {
                Event::Enter { number, .. } | Event::Arrive(number) => {
                    let (travel, load, blocks) = arenas[part].take(number);
                    engine.receive(travel, load, &mut blocks.iter())
                }
                other => other.into(),
            };
            engine.events.push(at, event);
        }
        World { engine, endpoints: PartHosts::join(hosts), reads_ahead, ahead: Vec::new() }
    }
}
