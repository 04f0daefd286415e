//! A TCP or MPTCP (RFC 8684) connection: both sides, and all subflows.
//! This MPTCP differs from Linux's as follows: there are no tokens or keys, so a subflow opens with the same
//! packets as TCP, and the fourth, which Linux waits for before it uses a further subflow; no connection falls back to
//! TCP; the end of the data is signalled by the subflows' FINs, which leave once all data is acknowledged (DATA_FIN
//! would signal it up to a round trip earlier). A connection with one subflow sends as TCP does. What differs in the
//! assignment of data to subflows is in [`linux`], and in [`scheduler`] for the out-of-tree MPTCP.
//!
//! Applications read at once, so that windows never close: there are no zero windows and no probes of them (RFC 9293
//! section 3.8.6.1, tcp_send_probe0), and no window shrinks. Receive buffers that could be too small for any data are
//! refused. The time that a host's packets cost passes before TCP receives them, and takes no room in the buffer.

mod linux;
mod scheduler;
mod settings;
mod statistics;
#[cfg(test)]
pub(crate) mod tests;

pub use settings::{ConnectionSettings, SubflowSettings};
pub use statistics::Statistics;

use crate::ahead::ReadAhead;
use crate::transport::stream::Stream;
use crate::transport::tcp::{Cutter, Options, Scope, Tcp};
use crate::{Endpoint, Io, Notice, Packet, PathId, Time};
use linux::Linux;
use nettrial_congestion::{Control, Subflow as View};
use nettrial_scenario::Scheduler;
use scheduler::Scheduling;
use std::hint::black_box;

/// One side of a connection.
#[derive(Debug, Default)]
struct Side {
    subflows: Vec<Tcp>,
    stream: Stream,
    views: Vec<View>,
    scheduling: Scheduling,
    /// The state of Linux's own scheduler; `None` if another one or none is in use.
    linux: Option<Box<Linux>>,
    told_failed: bool,
}

/// Both sides of a connection with all its subflows; a TCP connection has one. Data is not stored, only counted.
/// The application immediately reads all data that arrives in order.
#[derive(Debug)]
pub struct Connection {
    number: u32,
    sides: [Side; 2],
}

impl Connection {
    /// Opens the connection from side 0: the first SYN leaves, and the SYNs of other subflows follow once it is
    /// established.
    ///
    /// # Panics
    /// Panics if a stack's congestion control is not in [`nettrial_congestion::names`], or if there are no
    /// subflows or more than eight; scenarios are checked before.
    pub fn open(settings: &ConnectionSettings<'_>, io: &mut dyn Io) -> Self {
        assert!((1..=8).contains(&settings.subflows.len()), "one to eight subflows");
        let mut connection =
            Self { number: settings.number, sides: [0, 1].map(|side| Side::new(settings, side)) };
        connection.sides[0].open_subflow(0, io);
        connection
    }

    /// The memory in bytes that a connection with one subflow takes.
    pub(crate) const SIZE_BYTES: usize = size_of::<Self>() + 2 * size_of::<Tcp>();

    /// Takes one side out of the connection, for a part of the network that has its host. The rest is the
    /// connection of the part that has the other host.
    pub(crate) fn divide(&mut self, side: u8) -> Self {
        let mut sides = <[Side; 2]>::default();
        std::mem::swap(&mut sides[usize::from(side)], &mut self.sides[usize::from(side)]);
        Self { number: self.number, sides }
    }

    /// Restores a connection of which the other one was taken.
    pub(crate) fn join(&mut self, mut other: Self) {
        for (own, other) in self.sides.iter_mut().zip(&mut other.sides) {
            if own.subflows.is_empty() {
                std::mem::swap(own, other);
            }
        }
    }

    /// Returns whether it has both sides: neither is in another part of the network.
    pub(crate) fn is_whole(&self) -> bool {
        self.sides.iter().all(|side| !side.subflows.is_empty())
    }

    /// Returns whether it has its first side.
    pub(crate) fn has_first(&self) -> bool {
        !self.sides[0].subflows.is_empty()
    }

    /// Returns whether it has its second side.
    pub(crate) fn has_second(&self) -> bool {
        !self.sides[1].subflows.is_empty()
    }

    /// Returns whether the side that it has, if the other is in another part, has closed and everything is
    /// acknowledged; `None` if a subflow failed, which both sides must know.
    pub(crate) fn half_is_over(&self) -> Option<bool> {
        let subflows = || self.sides.iter().flat_map(|side| side.subflows.iter().enumerate());
        let is_over = |(index, tcp): (usize, &Tcp)| tcp.is_over() || (tcp.is_listening() && index > 0);
        (!subflows().any(|(_, tcp)| tcp.has_failed())).then(|| subflows().all(is_over))
    }

    /// Returns whether the application at `side` was told that the other side has closed.
    pub(crate) fn is_closed(&self, side: u8) -> bool {
        self.sides[usize::from(side)].stream.is_closed()
    }

    /// Prefetches the memory of that endpoint's side.
    pub(crate) fn read_ahead(&self, endpoint: Endpoint) {
        let side = &self.sides[usize::from(endpoint.side)];
        black_box(side.subflows.as_ptr());
        side.stream.read_ahead();
    }

    /// Prefetches the memory of that endpoint's subflow.
    pub(crate) fn read_further_ahead(&self, endpoint: Endpoint) {
        self.sides[usize::from(endpoint.side)].subflows[usize::from(endpoint.subflow)].read_ahead();
    }

    /// Prefetches the memory to which that endpoint's subflow refers, and returns the path of its packets.
    pub(crate) fn read_rest_ahead(&self, endpoint: Endpoint) -> PathId {
        self.sides[usize::from(endpoint.side)].subflows[usize::from(endpoint.subflow)].read_rest_ahead()
    }

    /// Handles the arrival of a packet whose `to` names this connection.
    pub fn on_packet(&mut self, packet: &Packet, io: &mut dyn Io) {
        let side = &mut self.sides[usize::from(packet.to.side)];
        let index = usize::from(packet.to.subflow);
        let was_established = side.subflows[index].is_established();
        let (subflow, mut scope) = side.part(index, io);
        subflow.on_packet(packet, &mut scope);
        if !was_established && side.subflows[index].is_established() {
            side.on_established(index, packet.to.side, io);
        }
        side.settle(self.number, packet.to.side, index, Some(was_established), io);
    }

    /// Handles a timer that was requested by [`Io::wake`].
    pub fn on_timer(&mut self, endpoint: Endpoint, io: &mut dyn Io) {
        let side = &mut self.sides[usize::from(endpoint.side)];
        let index = usize::from(endpoint.subflow);
        let (subflow, mut scope) = side.part(index, io);
        let has_timed_out = subflow.on_timer(&mut scope);
        if side.linux.is_some() {
            side.on_linux_timer(index, io);
        } else if has_timed_out {
            side.reinject(index);
        }
        side.settle(self.number, endpoint.side, index, None, io);
    }

    /// Handles the departure of a data segment of that endpoint from its host, for which [`Io::send`] could not
    /// return a time.
    pub fn on_left(&mut self, endpoint: Endpoint, io: &mut dyn Io) {
        let side = &mut self.sides[usize::from(endpoint.side)];
        let index = usize::from(endpoint.subflow);
        let (subflow, mut scope) = side.part(index, io);
        if subflow.on_left(&mut scope) {
            side.settle(self.number, endpoint.side, index, None, io);
        }
    }

    /// Writes `bytes` by the application at `side`, and returns how many of them the send buffer accepted. If it
    /// did not accept all, [`crate::Notice::Writable`] follows once a third of the buffer is free. This may be
    /// called before the handshake is complete.
    pub fn write(&mut self, side: u8, bytes: u64, io: &mut dyn Io) -> u64 {
        let own = &mut self.sides[usize::from(side)];
        if own.linux.is_some() {
            let taken = own.write_fragments(bytes);
            own.push_pending(io);
            return taken;
        }
        let goes_on = own.stream.is_within_write();
        if !own.stream.has_unsent() {
            for index in 0..own.subflows.len() {
                let (subflow, mut scope) = own.part(index, io);
                if !goes_on {
                    subflow.check_app_limited(scope.now);
                }
                subflow.restart_if_idle(&mut scope);
            }
        }
        let taken = own.stream.write(bytes);
        own.push_written(io);
        taken
    }

    /// Closes the direction from `side`, whose application has written all of its data: FIN follows the data. The
    /// other direction stays open.
    pub fn close(&mut self, side: u8, io: &mut dyn Io) {
        let own = &mut self.sides[usize::from(side)];
        own.stream.close();
        own.push(None, io);
    }

    /// Stops notices of new data at `side`, whose application asks for [`Connection::received_bytes`] instead.
    pub fn unwatch(&mut self, side: u8) {
        self.sides[usize::from(side)].stream.unwatch();
    }

    /// Returns the number of bytes that the application at `side` may have read so far.
    pub fn received_bytes(&self, side: u8) -> u64 {
        self.sides[usize::from(side)].stream.received()
    }

    /// Lets the data that `side` receives until that time count in [`Connection::counted_bytes`], except its first
    /// `uncounted` bytes.
    pub fn count_until(&mut self, side: u8, until: Time, uncounted: u64) {
        self.sides[usize::from(side)].stream.count_until(until, uncounted);
    }

    /// Returns the number of bytes that `side` received until the time of [`Connection::count_until`]; 0 if that side
    /// is in another part of the network.
    pub fn counted_bytes(&self, side: u8) -> u64 {
        self.sides[usize::from(side)].stream.counted()
    }

    /// Returns the figures of a side, for all its subflows together.
    pub fn statistics(&self, side: u8) -> Statistics {
        let side = &self.sides[usize::from(side)];
        statistics::of_all(&side.subflows, &side.stream)
    }

    /// Returns the number of subflows in the connection's settings.
    pub fn subflow_count(&self) -> usize {
        self.sides[0].subflows.len()
    }

    /// Returns the figures of one of a side's subflows.
    pub fn subflow_statistics(&self, side: u8, subflow: usize) -> Statistics {
        statistics::of_one(&self.sides[usize::from(side)].subflows[subflow])
    }

    /// Returns whether the connection has ended: both sides have closed and everything is acknowledged, or it
    /// failed. Packets and timers that are still under way to it may be discarded.
    pub fn is_over(&self) -> bool {
        let is_over = |index: usize| {
            let [one, other] = [0, 1].map(|side: usize| &self.sides[side].subflows[index]);
            let is_idle = |tcp: &Tcp| tcp.is_listening() && index > 0;
            one.has_failed()
                || other.has_failed()
                || (is_idle(one) && is_idle(other))
                || (one.is_over() && other.is_over())
        };
        (0..self.subflow_count()).all(is_over)
    }
}

impl Side {
    fn new(settings: &ConnectionSettings<'_>, side: usize) -> Self {
        let stack = settings.stacks[side];
        let is_linux =
            settings.is_mptcp && settings.subflows.len() > 1 && stack.scheduler == Scheduler::Linux;
        let mut subflows: Vec<Tcp> =
            (0..settings.subflows.len()).map(|index| new_subflow(settings, side, index)).collect();
        if is_linux {
            subflows.iter_mut().for_each(Tcp::enable_queue);
        }
        let least = settings.socket.window.is_none().then_some(stack.send_buffer.minimum.0);
        let has_scaling = settings.stacks.iter().all(|stack| stack.window_scaling);
        let mss_bytes = subflows[0].mss_bytes();
        let (segments, pieces) = (subflows[0].window_segments(), subflows[0].pieces());
        let mut stream = Stream::new(
            settings.is_mptcp,
            stack,
            settings.socket.window,
            has_scaling,
            mss_bytes,
            segments,
            pieces,
        );
        if is_linux {
            stream.divide_threshold();
        }
        Self {
            views: Vec::with_capacity(subflows.len()),
            subflows,
            stream,
            scheduling: Scheduling::new(stack.scheduler),
            linux: is_linux.then(|| Box::new(Linux::new(least))),
            told_failed: false,
        }
    }

    /// Returns a subflow, and the scope in which it works.
    fn part<'a>(&'a mut self, index: usize, io: &'a mut dyn Io) -> (&'a mut Tcp, Scope<'a>) {
        let now = io.now();
        (&mut self.subflows[index], Scope { io, now, stream: &mut self.stream, views: &mut self.views })
    }

    fn open_subflow(&mut self, index: usize, io: &mut dyn Io) {
        let (subflow, mut scope) = self.part(index, io);
        subflow.open(&mut scope);
    }

    /// Handles the establishment of a subflow: there is room for its first flight, and the first subflow lets the
    /// others open.
    fn on_established(&mut self, index: usize, side: u8, io: &mut dyn Io) {
        if self.linux.is_some() {
            self.expand_subflow_buffer(index);
        } else {
            self.expand_buffer();
        }
        if index == 0 && side == 0 {
            for other in 1..self.subflows.len() {
                self.open_subflow(other, io);
            }
        }
    }

    fn expand_buffer(&mut self) {
        let established = self.subflows.iter().filter(|subflow| subflow.is_established());
        self.stream.expand_buffer(established.map(Tcp::buffered_segments).sum());
    }

    /// Finishes each event: sends all data that can be sent, and notifies the application.
    fn settle(
        &mut self,
        connection: u32,
        side: u8,
        origin: usize,
        packet_to_established: Option<bool>,
        io: &mut dyn Io,
    ) {
        if self.linux.is_some() {
            if let Some(was_established) = packet_to_established {
                self.push_acknowledged(origin, was_established, io);
            } else {
                self.send_on(origin, false, io);
            }
            self.push_fins(io);
        } else {
            if self.stream.is_full() {
                self.expand_buffer();
            }
            self.push(Some(origin), io);
        }
        self.stream.tell(connection, side, io);
        let has_failed = self.subflows[origin].has_failed() && self.subflows.iter().all(Tcp::has_failed);
        if has_failed && !self.told_failed {
            self.told_failed = true;
            io.tell(Notice::Failed { connection, side });
        }
    }
}

/// Returns a side of a subflow with its own congestion control.
fn new_subflow(settings: &ConnectionSettings<'_>, side: usize, index: usize) -> Tcp {
    let stack = settings.stacks[side];
    let subflow = settings.subflows[index];
    let mtu = subflow.path_mtu_bytes[0].min(subflow.path_mtu_bytes[1]);
    let mut options =
        Options::new(side, settings.is_mptcp, settings.ip, settings.stacks, settings.socket, mtu);
    let control = new_control(&stack.congestion_control);
    options.has_ecn = stack.ecn || control.needs_ecn();
    options.cutter = Cutter::of(settings.offloads[side]);
    let me = Endpoint { connection: settings.number, side: side as u8, subflow: index as u8 };
    let mut tcp = Tcp::new(me, subflow.paths[side], options, control);
    if stack.mtu_probing {
        tcp.enable_probing();
    }
    tcp
}

fn new_control(name: &str) -> Box<dyn Control> {
    nettrial_congestion::new(name).unwrap_or_else(|| panic!("no congestion control called {name}"))
}
