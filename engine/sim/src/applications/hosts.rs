//! The endpoints at which packets arrive: the connections and applications of all flows.

use crate::applications::sampler::Sampler;
use crate::applications::{Application, Assembly, Connections, Figures, Ground, application};
use crate::error::{Context, Result};
use crate::transport::connection::Connection;
use crate::transport::wiring::Wiring;
use crate::{Endpoint, Endpoints, Io, Notice, Packet, Time};

/// A running flow.
pub struct Running<'a> {
    /// The paths and sockets of its packets.
    pub wiring: Wiring<'a>,
    /// The figures collected by its application.
    pub figures: Figures,
    /// The sampler of its transport state.
    pub sampler: Sampler,
    application: Box<dyn Application + Send + 'a>,
    assemblies: [Assembly; 2],
    datagrams: [u64; 2],
    is_started: bool,
}

/// The connections and the applications of all flows.
pub struct Hosts<'a> {
    /// The flows, in the scenario's order; datagrams and timers use their numbers, and the numbers of connections
    /// follow.
    pub flows: Vec<Running<'a>>,
    /// The open connections of all flows.
    pub connections: Connections,
    /// The interval at which transport state is sampled.
    pub interval: Time,
    going: usize,
}

/// The sides in a timer's endpoint that stand for a flow's application and for its sampler.
const APPLICATION: u8 = 0;
pub const SAMPLER: u8 = 1;

impl<'a> Hosts<'a> {
    /// Returns the hosts of flows that run already, in the scenario's order.
    pub fn of(flows: Vec<Running<'a>>, connections: Connections, interval: Time) -> Self {
        let going = flows.iter().filter(|flow| flow.figures.over.is_none()).count();
        Self { flows, connections, interval, going }
    }

    /// Creates the hosts of flows with these wirings, whose transport state is sampled at every `interval`.
    pub fn new(wirings: Vec<Wiring<'a>>, interval: Time) -> Result<Self> {
        let running = |wiring: Wiring<'a>| -> Result<Running<'a>> {
            let flow = wiring.flow;
            Ok(Running {
                application: application(flow, wiring.waits)
                    .with_context(|| format!("flow {:?}", flow.name))?,
                wiring,
                figures: Figures::default(),
                sampler: Sampler::default(),
                assemblies: Default::default(),
                datagrams: [0, 0],
                is_started: false,
            })
        };
        let flows = wirings.into_iter().map(running).collect::<Result<Vec<_>>>()?;
        let connections = Connections::new(flows.len() as u32);
        Ok(Self { going: flows.len(), flows, connections, interval })
    }

    /// Schedules the start of every flow.
    pub fn begin(&mut self, io: &mut dyn Io) {
        for flow in &self.flows {
            let endpoint = Endpoint { connection: flow.wiring.number, side: APPLICATION, subflow: 0 };
            io.wake(endpoint, flow.wiring.start);
            let first_sample = Time::from_ns(flow.wiring.flow.start.0) + self.interval;
            io.wake(Endpoint { side: SAMPLER, ..endpoint }, first_sample);
        }
    }

    /// Returns whether all flows are over.
    pub fn is_done(&self) -> bool {
        self.going == 0
    }

    /// Ends the flows that are not over, because nothing moves any more.
    pub fn give_up(&mut self, now: Time) {
        for flow in self.flows.iter_mut().filter(|flow| flow.figures.over.is_none()) {
            flow.figures.over = Some(now);
            flow.figures.failure = Some("nothing moved any more".to_owned());
        }
        self.going = 0;
    }

    /// Adds to the spans of transfers with a duration the bytes that their receivers had when it ended.
    pub fn count_spans(&mut self) {
        for (flow, bytes) in self.connections.counted() {
            if let Some(span) = &mut self.flows[flow as usize].figures.span {
                span.bytes += bytes;
            }
        }
    }

    /// Calls a function with the application of flow `number`.
    fn with(
        &mut self,
        number: usize,
        io: &mut dyn Io,
        act: impl FnOnce(&mut Running<'a>, &mut dyn Io, &mut Connections),
    ) {
        let flow = &mut self.flows[number];
        let was_going = flow.figures.over.is_none();
        act(flow, io, &mut self.connections);
        if was_going && flow.figures.over.is_some() {
            self.going -= 1;
        }
    }

    /// Returns the number of the flow of connection `number`; `None` if the connection is gone.
    pub fn flow_of(&self, number: u32) -> Option<u32> {
        self.connections.flow(number)
    }

    /// Returns whether there are connections, and none of them is about to end.
    pub fn is_divisible(&self) -> bool {
        let open = self.connections.open();
        open > 0 && open == self.connections.count()
    }
}

impl<'a> Running<'a> {
    /// Takes a sample of its transport state, and schedules the next one, unless it is over.
    pub fn sample(&mut self, connections: &Connections, interval: Time, io: &mut dyn Io) {
        if self.figures.over.is_some() {
            return;
        }
        let connection = self.sampler.connection().and_then(|number| connections.get(number));
        self.sampler.sample(io.now(), connection, self.wiring.flow);
        let endpoint = Endpoint { connection: self.wiring.number, side: SAMPLER, subflow: 0 };
        io.wake(endpoint, io.now() + interval);
    }

    /// Calls a function with its application.
    pub fn act(
        &mut self,
        io: &mut dyn Io,
        connections: &mut Connections,
        act: impl FnOnce(&mut dyn Application, &mut Ground<'_, 'a>),
    ) {
        let mut ground = Ground {
            io,
            connections,
            wiring: &self.wiring,
            sampler: &mut self.sampler,
            figures: &mut self.figures,
            datagrams: &mut self.datagrams,
        };
        act(&mut *self.application, &mut ground);
    }
}

impl Endpoints for Hosts<'_> {
    fn on_packet(&mut self, packet: &Packet, io: &mut impl Io) {
        let number = packet.to.connection as usize;
        if number >= self.flows.len() {
            if let Some(connection) = self.connections.get_mut(packet.to.connection) {
                connection.on_packet(packet, io);
                self.connections.forget_if_over(packet.to.connection);
            }
            return;
        }
        let (side, now) = (packet.to.side, io.now());
        let whole = self.flows[number].assemblies[usize::from(side)].arrived(packet, now);
        if let Some(datagram) = whole {
            self.with(number, io, |flow, io, connections| {
                flow.act(io, connections, |application, ground| {
                    application.on_datagram(side, datagram, ground);
                });
            });
        }
    }

    fn connection(&self, number: u32) -> Option<&Connection> {
        self.connections.get(number)
    }

    fn size_bytes(&self) -> usize {
        // Most flows have one connection at a time.
        self.flows.len() * Connection::SIZE_BYTES
    }

    fn on_timer(&mut self, endpoint: Endpoint, io: &mut impl Io) {
        let number = endpoint.connection as usize;
        if number >= self.flows.len() {
            if let Some(connection) = self.connections.get_mut(endpoint.connection) {
                connection.on_timer(endpoint, io);
                self.connections.forget_if_over(endpoint.connection);
            }
        } else if endpoint.side == SAMPLER {
            self.flows[number].sample(&self.connections, self.interval, io);
        } else {
            self.with(number, io, |flow, io, connections| {
                let begins = !std::mem::replace(&mut flow.is_started, true);
                flow.act(io, connections, |application, ground| {
                    if begins { application.start(ground) } else { application.on_timer(ground) }
                });
            });
        }
    }

    fn on_left(&mut self, endpoint: Endpoint, io: &mut impl Io) {
        let number = endpoint.connection as usize;
        if number < self.flows.len() {
            self.with(number, io, |flow, io, connections| {
                flow.act(io, connections, |application, ground| application.on_left(endpoint.side, ground));
            });
        } else if let Some(connection) = self.connections.get_mut(endpoint.connection) {
            connection.on_left(endpoint, io);
        }
    }

    fn on_notice(&mut self, notice: Notice, io: &mut impl Io) {
        let (Notice::Connected { connection, .. }
        | Notice::Readable { connection, .. }
        | Notice::Writable { connection, .. }
        | Notice::Closed { connection, .. }
        | Notice::Failed { connection, .. }) = notice;
        if let Some(flow) = self.connections.flow(connection) {
            self.with(flow as usize, io, |flow, io, connections| {
                flow.act(io, connections, |application, ground| application.on_notice(notice, ground));
            });
        }
    }

    fn is_over(&self) -> bool {
        self.is_done()
    }
}
