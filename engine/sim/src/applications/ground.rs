//! The environment of an application: its flow's sockets, the clock and its figures.

use super::datagram;
use crate::applications::mechanisms::Parts;
use crate::applications::sampler::Sampler;
use crate::transport::wiring::Wiring;
use crate::{Connection, ConnectionSettings, Endpoint, Io, Time};
use nettrial_flows::arrivals::Received;
use nettrial_flows::statistics::{Durations, Jitter};
use nettrial_flows::wire::Weight;
use nettrial_scenario::{Pacing, PacketCounts, SizeRecord, Span};

/// The figures that an application records.
#[derive(Default)]
pub struct Figures {
    /// The application's bytes.
    pub bytes: u64,
    /// The time in nanoseconds in which they were transferred.
    pub active_ns: u64,
    /// The time over which the flow's rates are computed. The bytes of a transfer with a duration are counted by its
    /// connections ([`Connections::counted`]).
    pub span: Option<Span>,
    /// The number of connections opened.
    pub connections: u32,
    /// The times of opening connections.
    pub connect: Durations,
    /// The times of transfers with a size, from opening the connection to the confirmation.
    pub completion: Durations,
    /// The times from request to response.
    pub rtt: Durations,
    /// The times of the parts of round trips, if the flow asks for them.
    pub mechanisms: Option<Parts>,
    /// The jitter of the one-way delays of requests.
    pub jitter: Jitter,
    /// The numbers of datagrams sent, received and lost.
    pub packets: Option<PacketCounts>,
    /// The packets that arrived.
    pub received: Option<Received>,
    /// The punctuality of the packets' departures.
    pub pacing: Option<Pacing>,
    /// The IP packets and bytes of the first host's datagrams.
    pub weight: Weight,
    /// The record of each size of a sweep.
    pub sizes: Vec<SizeRecord>,
    /// The time at which the flow ended; `None` while it runs.
    pub over: Option<Time>,
    /// The reason why the flow ended early.
    pub failure: Option<String>,
}

/// The connections of all flows, by number.
pub struct Connections {
    /// The number of the first connection.
    first: u32,
    slots: Vec<Slot>,
}

impl Connections {
    /// Divides all connections into `count` parts; the list has the parts of each flow's hosts.
    pub fn divide(self, parts: &[[u8; 2]], count: usize) -> Vec<Self> {
        let mut divided: Vec<Self> = (0..count).map(|_| Self::new(self.first)).collect();
        for mut slot in self.slots {
            let [one, other] = parts[slot.flow as usize].map(usize::from);
            let far = slot.connection.as_mut().filter(|_| one != other).map(|own| Box::new(own.divide(1)));
            let mut sides = [(one, slot.connection), (other, far)];
            for (number, part) in divided.iter_mut().enumerate() {
                let own = sides.iter_mut().find(|(part, side)| *part == number && side.is_some());
                let connection = own.and_then(|(_, side)| side.take());
                part.slots.push(Slot { connection, ..slot });
            }
        }
        divided
    }

    /// Restores the connections that were divided into these parts.
    pub fn join(divided: Vec<Self>) -> Self {
        let mut parts = divided.into_iter();
        let mut whole = parts.next().unwrap_or_else(|| Self::new(0));
        for part in parts {
            for (own, other) in whole.slots.iter_mut().zip(part.slots) {
                own.counted = own.counted.max(other.counted);
                // The application, which releases connections, is that of the first side.
                match (&mut own.connection, other.connection) {
                    (Some(one), Some(other_side)) => {
                        own.is_released = if one.has_first() { own.is_released } else { other.is_released };
                        one.join(*other_side);
                    }
                    (None, Some(connection)) => {
                        *own = Slot { connection: Some(connection), counted: own.counted, ..other };
                    }
                    (_, None) => {}
                }
            }
        }
        whole
    }
}

/// A connection and its flow. What every event asks for is here, and not in the connection's memory.
struct Slot {
    /// The connection, until it has ended and is removed.
    connection: Option<Box<Connection>>,
    flow: u32,
    /// The bytes that the second side of a removed connection had counted ([`Connection::counted_bytes`]).
    counted: u64,
    /// True if its flow no longer needs it.
    is_released: bool,
}

impl Slot {
    /// Removes the connection.
    fn clear(&mut self) {
        self.counted = self.counted();
        self.connection = None;
    }

    /// Returns the bytes that the connection's second side counted.
    fn counted(&self) -> u64 {
        self.counted.max(self.connection.as_ref().map_or(0, |connection| connection.counted_bytes(1)))
    }
}

impl Connections {
    /// Returns an empty list, whose first connection will have the number `first`.
    pub fn new(first: u32) -> Self {
        Self { first, slots: Vec::new() }
    }

    /// Returns the index of a connection.
    fn place(&self, number: u32) -> usize {
        number.wrapping_sub(self.first) as usize
    }

    /// Returns the connection of that number, unless it ended and was removed.
    pub fn get(&self, number: u32) -> Option<&Connection> {
        self.slots.get(self.place(number))?.connection.as_deref()
    }

    /// Returns the connection of that number to be changed, unless it ended and was removed.
    pub fn get_mut(&mut self, number: u32) -> Option<&mut Connection> {
        let place = self.place(number);
        self.slots.get_mut(place)?.connection.as_deref_mut()
    }

    /// Returns the number of the flow to which the connection of that number belongs.
    pub fn flow(&self, number: u32) -> Option<u32> {
        let slot = self.slots.get(self.place(number))?;
        slot.connection.is_some().then_some(slot.flow)
    }

    /// Returns whether the flow of a connection no longer needs it.
    pub fn is_released(&self, number: u32) -> bool {
        self.slots.get(self.place(number)).is_some_and(|slot| slot.is_released)
    }

    /// Notes that the flow of a connection no longer needs it.
    pub fn set_released(&mut self, number: u32) {
        let place = self.place(number);
        if let Some(slot) = self.slots.get_mut(place) {
            slot.is_released = true;
        }
    }

    /// Removes the connection of that number.
    pub fn remove(&mut self, number: u32) {
        let place = self.place(number);
        if let Some(slot) = self.slots.get_mut(place) {
            slot.clear();
        }
    }

    /// Returns the bytes that the second side of each connection counted, with the number of the connection's flow.
    pub fn counted(&self) -> impl Iterator<Item = (u32, u64)> {
        self.slots.iter().map(|slot| (slot.flow, slot.counted()))
    }

    /// Returns the number of connections that have not been removed.
    pub fn count(&self) -> usize {
        self.slots.iter().filter(|slot| slot.connection.is_some()).count()
    }

    /// Returns the number of connections that have their second side here, which does not know yet that the first one
    /// has closed.
    pub fn open(&self) -> usize {
        let connections = self.slots.iter().filter_map(|slot| slot.connection.as_ref());
        connections.filter(|connection| connection.has_second() && !connection.is_closed(1)).count()
    }

    /// Removes the connection of that number if it has ended.
    pub fn forget_if_over(&mut self, number: u32) {
        let place = self.place(number);
        if let Some(slot) = self.slots.get_mut(place)
            && slot.is_released
            && slot.connection.as_ref().is_some_and(|connection| connection.is_over())
        {
            slot.clear();
        }
    }
}

/// The environment of an application during one event: its flow's sockets, the clock and its figures.
pub struct Ground<'w, 'a> {
    /// The simulated world.
    pub io: &'w mut dyn Io,
    /// All connections.
    pub connections: &'w mut Connections,
    /// The paths and sockets of the flow's packets.
    pub wiring: &'w Wiring<'a>,
    /// The sampler of the flow's connection.
    pub sampler: &'w mut Sampler,
    /// The figures that the application records.
    pub figures: &'w mut Figures,
    /// The number of the next datagram of each side, which is its IP identification.
    pub datagrams: &'w mut [u64; 2],
}

impl Ground<'_, '_> {
    /// Returns the current time.
    pub fn now(&self) -> Time {
        self.io.now()
    }

    /// Returns the whole nanoseconds since `earlier`.
    pub fn since_ns(&self, earlier: Time) -> u64 {
        self.now().since(earlier).as_ns()
    }

    /// Requests a call of the application's `on_timer` at that time.
    pub fn wake(&mut self, at: Time) {
        self.io.wake(Endpoint { connection: self.wiring.number, side: 0, subflow: 0 }, at);
    }

    /// Begins to open a connection of the flow, and returns its number.
    pub fn open(&mut self) -> u32 {
        let number = self.connections.first + self.connections.slots.len() as u32;
        let turn = self.figures.connections as usize % self.wiring.subflows.len();
        let settings = ConnectionSettings {
            number,
            is_mptcp: self.wiring.flow.transport == nettrial_scenario::Transport::Mptcp,
            ip: self.wiring.flow.ip,
            stacks: self.wiring.stacks,
            offloads: self.wiring.offloads,
            socket: self.wiring.socket(),
            subflows: self.wiring.subflows[turn].clone(),
        };
        self.figures.connections += 1;
        self.io.opens(number, self.wiring.number, turn);
        let connection = Some(Box::new(Connection::open(&settings, self.io)));
        let flow = self.wiring.number;
        self.connections.slots.push(Slot { connection, flow, counted: 0, is_released: false });
        self.sampler.opened(number);
        number
    }

    /// Writes to a connection from one side. Returns the number of bytes that its send buffer accepted.
    pub fn write(&mut self, connection: u32, side: u8, bytes: u64) -> u64 {
        self.connections.get_mut(connection).map_or(0, |connection| connection.write(side, bytes, self.io))
    }

    /// Stops notices of new data at one side of a connection, which would come with almost every packet.
    pub fn unwatch(&mut self, connection: u32, side: u8) {
        if let Some(connection) = self.connections.get_mut(connection) {
            connection.unwatch(side);
        }
    }

    /// Lets the data that the second side of a connection receives until that time count for the flow's span, except its
    /// first `uncounted` bytes.
    pub fn count_until(&mut self, connection: u32, until: Time, uncounted: u64) {
        if let Some(connection) = self.connections.get_mut(connection) {
            connection.count_until(1, until, uncounted);
        }
    }

    /// Sets the flow's span, in which it was active for so many nanoseconds, to one that includes all of its bytes.
    pub fn set_span(&mut self, began: Time, ended: Time, active_ns: u64) {
        let (began_ns, ended_ns, bytes) = (began.as_ns(), ended.as_ns(), self.figures.bytes);
        self.figures.span = Some(Span { began_ns, ended_ns, active_ns, bytes });
    }

    /// Returns the number of bytes that one side of a connection has received; 0 if the connection is gone.
    pub fn received(&self, connection: u32, side: u8) -> u64 {
        self.connections.get(connection).map_or(0, |connection| connection.received_bytes(side))
    }

    /// Ends the data that a side sends.
    pub fn close(&mut self, connection: u32, side: u8) {
        if let Some(connection) = self.connections.get_mut(connection) {
            connection.close(side, self.io);
        }
    }

    /// Releases a connection that the flow no longer needs; its totals are kept. Both sides still close it.
    pub fn release(&mut self, connection: u32) {
        let place = self.connections.place(connection);
        if let Some(Slot { connection: Some(connection), is_released, .. }) =
            self.connections.slots.get_mut(place)
            && !*is_released
        {
            *is_released = true;
            self.sampler.closing(connection, self.wiring.flow);
        }
    }

    /// Sends a datagram of the flow from one side. Returns the time at which its last bit leaves the host, or
    /// `None` if the host's interface dropped a part of it; [`Time::NEVER`] if the departure is reported later.
    pub fn send(&mut self, side: u8, datagram: super::Datagram) -> Option<Time> {
        let (path, mtu) = self.wiring.datagrams(side);
        let ip = self.wiring.flow.ip;
        let identification = self.datagrams[usize::from(side)];
        self.datagrams[usize::from(side)] += 1;
        let to = Endpoint { connection: self.wiring.number, side: 1 - side, subflow: 0 };
        let leaves = datagram::send(self.io, &datagram, identification, path, mtu, ip, to)?;
        if side == 0 {
            self.figures.weight.add_datagram(datagram.payload_bytes, mtu, ip);
            self.sampler.datagram(datagram.payload_bytes);
        }
        Some(leaves)
    }

    /// Ends the flow.
    pub fn finish(&mut self) {
        self.figures.over.get_or_insert(self.io.now());
    }

    /// Ends the flow with a failure, unless it has already ended.
    pub fn fail(&mut self, connection: u32, why: &str) {
        if self.figures.over.is_some() {
            return;
        }
        self.release(connection);
        self.figures.failure.get_or_insert_with(|| why.to_owned());
        self.finish();
    }
}
