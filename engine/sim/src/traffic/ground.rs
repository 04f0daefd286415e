//! The ground that an application stands on: its flow's sockets, the clock and its figures.

use super::datagram;
use crate::sampler::Sampler;
use crate::wiring::Wiring;
use crate::{Connection, ConnectionSettings, Endpoint, Io, Time};
use nettrial_flows::arrivals::Received;
use nettrial_flows::statistics::{Durations, Jitter};
use nettrial_flows::wire::Weight;
use nettrial_scenario::{Pacing, PacketCounts, SizeRecord};

/// The figures that an application gathers.
#[derive(Default)]
pub struct Figures {
    /// Application bytes.
    pub bytes: u64,
    /// The time they took.
    pub active_ns: u64,
    /// Connections opened.
    pub connections: u32,
    /// From the call to connect until it returns.
    pub connect: Durations,
    /// From connect to confirmation, each sized transfer.
    pub completion: Durations,
    /// From request to response.
    pub rtt: Durations,
    /// The jitter of the requests' transit times.
    pub jitter: Jitter,
    /// The counts of the datagrams.
    pub packets: Option<PacketCounts>,
    /// The packets that arrived.
    pub received: Option<Received>,
    /// The punctuality of the departures of packets.
    pub pacing: Option<Pacing>,
    /// The weight of the first host's datagrams.
    pub weight: Weight,
    /// The record of each size of a sweep.
    pub sizes: Vec<SizeRecord>,
    /// The time when the flow's last figure was there; `None` while it goes on.
    pub over: Option<Time>,
    /// The reason for which it ended before it was done.
    pub failure: Option<String>,
}

/// The connections of all flows, by number.
pub struct Connections {
    /// The number of the first.
    first: u32,
    slots: Vec<Option<Box<Slot>>>,
}

/// A connection and whose it is.
struct Slot {
    connection: Connection,
    flow: u32,
    /// True if its flow has no more use for it.
    is_released: bool,
}

impl Connections {
    /// None yet; the first will have number `first`.
    pub fn new(first: u32) -> Self {
        Self { first, slots: Vec::new() }
    }

    fn place(&self, number: u32) -> usize {
        number.wrapping_sub(self.first) as usize
    }

    /// The connection of that number, unless it is over and forgotten.
    pub fn get(&self, number: u32) -> Option<&Connection> {
        Some(&self.slots.get(self.place(number))?.as_ref()?.connection)
    }

    /// The same, to have it do something.
    pub fn get_mut(&mut self, number: u32) -> Option<&mut Connection> {
        let place = self.place(number);
        Some(&mut self.slots.get_mut(place)?.as_mut()?.connection)
    }

    /// The number of the flow that has the connection of that number.
    pub fn flow(&self, number: u32) -> Option<u32> {
        Some(self.slots.get(self.place(number))?.as_ref()?.flow)
    }

    /// Forgets the connection of that number if nothing more comes of it.
    pub fn forget_if_over(&mut self, number: u32) {
        let place = self.place(number);
        if let Some(slot) = self.slots.get_mut(place)
            && slot.as_ref().is_some_and(|slot| slot.is_released && slot.connection.is_over())
        {
            *slot = None;
        }
    }
}

/// A flow's sockets, the clock and its figures, during one event.
pub struct Ground<'w, 'a> {
    /// The world.
    pub io: &'w mut dyn Io,
    /// All connections.
    pub connections: &'w mut Connections,
    /// The paths and sockets of the flow's packets.
    pub wiring: &'w Wiring<'a>,
    /// The sampler of the flow's connection.
    pub sampler: &'w mut Sampler,
    /// The figures that the application gathers.
    pub figures: &'w mut Figures,
    /// The number of the next datagram from each side, as IP's identification.
    pub datagrams: &'w mut [u64; 2],
}

impl Ground<'_, '_> {
    /// The time.
    pub fn now(&self) -> Time {
        self.io.now()
    }

    /// Whole nanoseconds since `earlier`.
    pub fn since_ns(&self, earlier: Time) -> u64 {
        self.now().since(earlier).as_ns()
    }

    /// Has the application's `on_timer` called at that time.
    pub fn wake(&mut self, at: Time) {
        self.io.wake(Endpoint { connection: self.wiring.number, side: 0, subflow: 0 }, at);
    }

    /// Begins to open a connection of the flow; its number.
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
        let connection = Connection::open(&settings, self.io);
        let slot = Slot { connection, flow: self.wiring.number, is_released: false };
        self.connections.slots.push(Some(Box::new(slot)));
        self.sampler.opened(number);
        number
    }

    /// Writes to a connection from one side: how many of `bytes` its send buffer took.
    pub fn write(&mut self, connection: u32, side: u8, bytes: u64) -> u64 {
        self.connections.get_mut(connection).map_or(0, |connection| connection.write(side, bytes, self.io))
    }

    /// Ends one side's sending.
    pub fn close(&mut self, connection: u32, side: u8) {
        if let Some(connection) = self.connections.get_mut(connection) {
            connection.close(side, self.io);
        }
    }

    /// The flow has no more use for its connection: its totals are kept. Both sides close it by themselves.
    pub fn release(&mut self, connection: u32) {
        let place = self.connections.place(connection);
        if let Some(Some(slot)) = self.connections.slots.get_mut(place)
            && !slot.is_released
        {
            slot.is_released = true;
            self.sampler.closing(&slot.connection, self.wiring.flow);
        }
    }

    /// Sends a datagram of the flow from one side. Gives when its last bit has left the host, or `None` where the
    /// host's interface dropped some of it; [`Time::NEVER`] where the application is told once it has.
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

    /// The flow is done.
    pub fn finish(&mut self) {
        self.figures.over.get_or_insert(self.io.now());
    }

    /// The flow can't go on, unless it is done already.
    pub fn fail(&mut self, connection: u32, why: &str) {
        if self.figures.over.is_some() {
            return;
        }
        self.release(connection);
        self.figures.failure.get_or_insert_with(|| why.to_owned());
        self.finish();
    }
}
