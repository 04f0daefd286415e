//! The interface between the world and the connections and applications in it.

use crate::{Packet, Time};

/// A path from one host's address to another's: a number in the network's list of paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PathId(pub u32);

/// One side of a connection, or of a flow of datagrams, and of it one subflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Endpoint {
    /// The number of the connection (or of the flow of datagrams) in the world.
    pub connection: u32,
    /// 0: the side that opened it; 1: the other.
    pub side: u8,
    /// The subflow's number, from 0; 0 where there are none.
    pub subflow: u8,
}

/// A notice from a connection to its application.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    /// The handshake is done at this side (MPTCP: that of the first subflow).
    Connected {
        /// The connection.
        connection: u32,
        /// The side.
        side: u8,
    },
    /// More bytes can be read in order at this side.
    Readable {
        /// The connection.
        connection: u32,
        /// The side.
        side: u8,
        /// All bytes so far that the application may read.
        total_bytes: u64,
    },
    /// This side's send buffer has room again after it was full.
    Writable {
        /// The connection.
        connection: u32,
        /// The side.
        side: u8,
    },
    /// The other side has closed, and all it sent was told of.
    Closed {
        /// The connection.
        connection: u32,
        /// The side.
        side: u8,
    },
    /// The connection could not be opened, or gave up (tcp_retries2).
    Failed {
        /// The connection.
        connection: u32,
        /// The side.
        side: u8,
    },
}

/// The world as a connection sees it while it handles one event.
pub trait Io {
    /// The simulated time.
    fn now(&self) -> Time;

    /// Sends a packet along its path (`hop` 0). Gives when its last bit will have left the host's own
    /// interface, or `None` where that interface's queue dropped it (which Linux's sender is told of:
    /// NET_XMIT_DROP). [`Time::NEVER`] where nobody knows beforehand, as at a radio channel: then the endpoint is told
    /// once it has ([`crate::Endpoints::on_left`]).
    fn send(&mut self, packet: Packet) -> Option<Time>;

    /// Sends a packet that is cut from the same burst as the one before it (segmentation offload), so that a host
    /// whose packets cost time has done with that one what is done once.
    fn send_cut(&mut self, packet: Packet) -> Option<Time> {
        self.send(packet)
    }

    /// Has `on_timer` of the endpoint called at that time. Timers can't be taken back: who is called checks
    /// whether there is something to do, and keeps to one waiting timer an endpoint where it can.
    fn wake(&mut self, endpoint: Endpoint, at: Time);

    /// Notes that a connection of flow `flow` is about to open, its `turn`-th list of subflows; a capture names packets
    /// by it.
    fn opens(&mut self, _connection: u32, _flow: u32, _turn: usize) {}

    /// Tells the application. It is called after the event is handled, never within.
    fn tell(&mut self, notice: Notice);
}
