//! The interface between the world and the connections and applications in it.

use crate::packets::trace::Way;
use crate::{Endpoint, Packet, Time, Wheel};

/// A notice from a connection to its application.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    /// The handshake is complete at this side (with MPTCP, that of the first subflow).
    Connected {
        /// The connection.
        connection: u32,
        /// The side.
        side: u8,
    },
    /// More in-order bytes can be read at this side.
    Readable {
        /// The connection.
        connection: u32,
        /// The side.
        side: u8,
        /// The total number of bytes that the application may have read so far.
        total_bytes: u64,
    },
    /// This side's send buffer has room again after having been full.
    Writable {
        /// The connection.
        connection: u32,
        /// The side.
        side: u8,
    },
    /// The other side has closed, and notices for all of its data were sent.
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

    /// The ticks of timers.
    fn wheel(&self) -> Wheel {
        Wheel::LINUX
    }

    /// Sends a packet along its path (`hop` 0). Returns the time at which its transmission begins at the host's own
    /// interface, from which on it no longer counts as queued there, or `None` if that interface's queue dropped it (Linux
    /// reports this to the sender, too: NET_XMIT_DROP). Returns [`Time::NEVER`] if the time is unknown beforehand, as at
    /// a radio channel; the endpoint is then notified once the packet has left ([`crate::Endpoints::on_left`]).
    fn send(&mut self, packet: &Packet) -> Option<Time>;

    /// Sends a packet that is cut from the same burst as the previous one (segmentation offload), so that a host
    /// whose packets cost time does the work for the burst only once.
    fn send_cut(&mut self, packet: &Packet) -> Option<Time> {
        self.send(packet)
    }

    /// Schedules a call of the endpoint's `on_timer` at that time. Timers can't be cancelled: the callee checks
    /// whether there is something to do, and keeps only one pending timer per endpoint if it can.
    fn wake(&mut self, endpoint: Endpoint, at: Time);

    /// Notes that flow `flow` is about to open a connection with its `turn`-th list of subflows, which captures
    /// use to identify packets.
    fn opens(&mut self, _connection: u32, _flow: u32, _turn: usize) {}

    /// Returns the way of the datagram that the packet completes which its endpoint handles now; `None` if the datagrams
    /// of its flow are not traced.
    fn way(&mut self) -> Option<Way> {
        None
    }

    /// Sends a notice to the application, which is called after the event is handled, never during it.
    fn tell(&mut self, notice: Notice);
}
