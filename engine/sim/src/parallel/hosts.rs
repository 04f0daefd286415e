//! The endpoints of a part of the network.

use crate::applications::hosts::{Hosts, Running, SAMPLER};
use crate::applications::{Application, Connections, Ground, confirm};
use crate::{Connection, Endpoint, Endpoints, Io, Notice, Packet, Time};
use std::collections::HashMap;

/// The sides of connections whose hosts are in a part, and the applications of the flows whose first host is.
pub struct PartHosts<'a> {
    /// The flows, by number; `None` for those of other parts.
    pub flows: Vec<Option<Running<'a>>>,
    /// The connections with this part's sides.
    pub connections: Connections,
    interval: Time,
    /// The connections whose other side is in another part, and which are about to end.
    ending: HashMap<u32, Ending>,
    endings: Endings,
    is_dependent: bool,
}

/// The endings of connections in a window, for other parts to read.
#[derive(Debug, Default)]
pub struct Endings {
    /// The number of connections whose second side is here and does not know yet that the first one has closed.
    pub open: usize,
    /// The connections whose side here has ended in this window, with the times.
    pub ended: Vec<(u32, Time)>,
}

/// A connection of which one side has all that it needs. It is removed with the event by which both sides have ended.
#[derive(Debug, Default)]
struct Ending {
    /// The time at which this part's side ended.
    own: Option<Time>,
    /// The time at which the other side ended.
    other: Option<Time>,
    /// The time at which this part's side last sent a packet. Its other events have no effect once it has ended.
    sent_at: Time,
}

/// The simulated world, which remembers whether a packet was sent.
struct Watched<'a> {
    io: &'a mut dyn Io,
    has_sent: bool,
}

impl Io for Watched<'_> {
    fn now(&self) -> Time {
        self.io.now()
    }

    fn send(&mut self, packet: &Packet) -> Option<Time> {
        self.has_sent = true;
        self.io.send(packet)
    }

    fn send_cut(&mut self, packet: &Packet) -> Option<Time> {
        self.has_sent = true;
        self.io.send_cut(packet)
    }

    fn wake(&mut self, endpoint: Endpoint, at: Time) {
        self.io.wake(endpoint, at);
    }

    fn tell(&mut self, notice: Notice) {
        self.io.tell(notice);
    }
}

impl<'a> PartHosts<'a> {
    /// Creates a part's endpoints; transport state is sampled at every `interval`.
    pub fn new(flows: Vec<Option<Running<'a>>>, connections: Connections, interval: Time) -> Self {
        let endings = Endings { open: connections.open(), ended: Vec::new() };
        Self { flows, connections, interval, ending: HashMap::new(), endings, is_dependent: false }
    }

    /// Divides hosts into `count` parts; the list has the parts of each flow's hosts.
    pub fn divide(hosts: Hosts<'a>, parts: &[[u8; 2]], count: usize) -> Vec<Self> {
        let mut flows: Vec<Vec<Option<Running<'a>>>> = (0..count).map(|_| Vec::new()).collect();
        for (flow, [part, _]) in hosts.flows.into_iter().zip(parts) {
            flows.iter_mut().for_each(|flows| flows.push(None));
            if let Some(place) = flows[usize::from(*part)].last_mut() {
                *place = Some(flow);
            }
        }
        let parts = flows.into_iter().zip(hosts.connections.divide(parts, count));
        parts.map(|(flows, connections)| Self::new(flows, connections, hosts.interval)).collect()
    }

    /// Restores the hosts that were divided into these parts.
    pub fn join(divided: Vec<Self>) -> Hosts<'a> {
        let interval = divided.first().map_or(Time::NEVER, |part| part.interval);
        let (flows, connections): (Vec<_>, Vec<_>) =
            divided.into_iter().map(|part| (part.flows, part.connections)).unzip();
        let mut flows: Vec<Running<'a>> = flows.into_iter().flatten().flatten().collect();
        flows.sort_by_key(|flow| flow.wiring.number);
        Hosts::of(flows, Connections::join(connections), interval)
    }

    /// Returns whether everything so far needed one side of a connection at a time.
    pub fn is_independent(&self) -> bool {
        !self.is_dependent
    }

    /// Moves to `endings` what other parts have to know of this window.
    pub fn tell(&mut self, endings: &mut Endings) {
        endings.open = self.endings.open;
        endings.ended.clear();
        endings.ended.append(&mut self.endings.ended);
    }

    /// Learns of connections whose side in another part has ended in this window.
    pub fn learn(&mut self, ended: &[(u32, Time)]) {
        for &(number, at) in ended {
            if self.connections.get(number).is_none() {
                continue;
            }
            let ending = self.ending.entry(number).or_default();
            ending.other = Some(at);
            let Some(own) = ending.own else { continue };
            // In one thread, the connection would have been gone, and would not have sent the packet.
            self.is_dependent |= ending.sent_at > own.max(at) || (ending.sent_at == at && own < at);
            self.connections.remove(number);
        }
    }

    /// Passes a packet or a timer to a connection, and removes the connection if it has ended.
    fn pass(&mut self, number: u32, io: &mut dyn Io, act: impl FnOnce(&mut Connection, &mut dyn Io)) {
        let is_released = self.connections.is_released(number);
        let Some(connection) = self.connections.get_mut(number) else { return };
        if !is_released {
            return act(connection, io);
        }
        let mut watched = Watched { io, has_sent: false };
        act(connection, &mut watched);
        let Watched { io, has_sent } = watched;
        if connection.is_whole() {
            return self.connections.forget_if_over(number);
        }
        self.note_end(number, io.now());
        if let Some(ending) = self.ending.get_mut(&number) {
            if has_sent {
                ending.sent_at = io.now();
            }
            if ending.own.is_some() && ending.other.is_some() {
                self.connections.remove(number);
            }
        }
    }

    /// Notes that this part's side of a connection has ended, if it has.
    fn note_end(&mut self, number: u32, now: Time) {
        let Some(connection) = self.connections.get(number) else { return };
        let ending = self.ending.entry(number).or_default();
        if ending.own.is_some() {
            return;
        }
        match connection.half_is_over() {
            Some(true) => {
                ending.own = Some(now);
                self.endings.ended.push((number, now));
            }
            Some(false) => {}
            None => self.is_dependent = true,
        }
    }

    /// Calls a function with the application of a connection's flow, which is that of the first host.
    fn act(
        &mut self,
        number: u32,
        io: &mut dyn Io,
        act: impl FnOnce(&mut dyn Application, &mut Ground<'_, 'a>),
    ) {
        let flow = self.connections.flow(number).and_then(|flow| self.flows.get_mut(flow as usize));
        if let Some(Some(flow)) = flow {
            flow.act(io, &mut self.connections, act);
        }
        let is_half = self.connections.get(number).is_some_and(|connection| !connection.is_whole());
        if is_half && self.connections.is_released(number) {
            self.note_end(number, io.now());
            // The end of the other side comes later: it needs an acknowledgment of this one's.
            self.is_dependent |= self.ending.get(&number).is_some_and(|ending| ending.other.is_some());
        }
    }
}

impl Endpoints for PartHosts<'_> {
    fn on_packet(&mut self, packet: &Packet, io: &mut impl Io) {
        self.pass(packet.to.connection, io, |connection, io| connection.on_packet(packet, io));
    }

    fn on_timer(&mut self, endpoint: Endpoint, io: &mut impl Io) {
        let number = endpoint.connection;
        let Some(flow) = self.flows.get_mut(number as usize) else {
            return self.pass(number, io, |connection, io| connection.on_timer(endpoint, io));
        };
        let Some(flow) = flow else { return };
        if endpoint.side == SAMPLER {
            flow.sample(&self.connections, self.interval, io);
        } else {
            flow.act(io, &mut self.connections, |application, ground| application.on_timer(ground));
        }
    }

    fn connection(&self, number: u32) -> Option<&Connection> {
        self.connections.get(number)
    }

    fn on_notice(&mut self, notice: Notice, io: &mut impl Io) {
        match notice {
            // Only first hosts write.
            Notice::Connected { side: 1, .. }
            | Notice::Writable { side: 1, .. }
            | Notice::Readable { side: 1, .. } => {}
            Notice::Closed { side: 0, .. } => {}
            Notice::Connected { connection, .. }
            | Notice::Writable { connection, .. }
            | Notice::Readable { connection, .. } => {
                self.act(connection, io, |application, ground| application.on_notice(notice, ground));
            }
            Notice::Closed { connection: number, .. } => {
                self.endings.open -= 1;
                if let Some(connection) = self.connections.get_mut(number) {
                    confirm(connection, io);
                    if !connection.is_whole() {
                        self.connections.set_released(number);
                    }
                }
            }
            Notice::Failed { .. } => self.is_dependent = true,
        }
    }
}
