//! A connection of TCP, or of MPTCP (RFC 8684): both sides, and every subflow.

mod settings;
mod statistics;

pub use settings::{ConnectionSettings, SubflowSettings};
pub use statistics::Statistics;

use crate::{Endpoint, Io, Packet};

/// Both sides of a connection with all its subflows; TCP's is a connection with one. No data is stored, only
/// counted. The application reads at once what arrives in order.
#[derive(Debug)]
pub struct Connection {
    number: u32,
}

impl Connection {
    /// Opens it from side 0: the first SYN leaves; those of further subflows follow once it is established.
    pub fn open(settings: &ConnectionSettings<'_>, io: &mut dyn Io) -> Self {
        let _ = io.now();
        Self { number: settings.number }
    }

    /// A packet whose `to` names this connection arrived.
    pub fn on_packet(&mut self, packet: &Packet, io: &mut dyn Io) {
        let _ = (packet, io.now());
    }

    /// A time asked for by [`Io::wake`] came.
    pub fn on_timer(&mut self, endpoint: Endpoint, io: &mut dyn Io) {
        let _ = (endpoint, io.now(), self.number);
    }

    /// The application at `side` writes: gives how many of `bytes` the send buffer took. Where that is fewer,
    /// [`crate::Notice::Writable`] follows once a third of the buffer is free. May be called before the
    /// handshake is done.
    pub fn write(&mut self, side: u8, bytes: u64, io: &mut dyn Io) -> u64 {
        let _ = (side, bytes, io.now());
        0
    }

    /// The application at `side` has written all: FIN follows what it wrote. The other direction stays open.
    pub fn close(&mut self, side: u8, io: &mut dyn Io) {
        let _ = (side, io.now());
    }

    /// The figures of a side, of all its subflows together.
    pub fn statistics(&self, side: u8) -> Statistics {
        let _ = side;
        Statistics::default()
    }

    /// How many subflows the connection has, by its settings.
    pub fn subflow_count(&self) -> usize {
        0
    }

    /// The figures of one of a side's subflows.
    pub fn subflow_statistics(&self, side: u8, subflow: usize) -> Statistics {
        let _ = (side, subflow);
        Statistics::default()
    }

    /// Whether both sides have closed and everything is acknowledged, or it failed: nothing more comes of it.
    /// Packets and timers that are still on their way to it may be thrown away.
    pub fn is_over(&self) -> bool {
        false
    }
}
