//! The lines between a backend and an agent: orders on the agent's standard input, reports on its
//! standard output, one JSON document a line. The agent answers every order by one report with the order's number.
//! Reports are sent when they are ready, and not in the order of the orders. The end of the input ends the agent.

use crate::Cookie;
use nettrial_flows::waits::Waits;
use nettrial_scenario::{Duration, FailureKind, Fault, Flow, FlowRecord, HostAddress, Warning};
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;

/// A numbered command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Order {
    /// The order's number, which the answer repeats.
    pub number: u64,
    /// The command.
    pub command: Command,
}

/// A numbered answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// The order's number.
    pub number: u64,
    /// The outcome.
    pub reply: Reply,
}

/// A flow as one of its hosts sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Side {
    /// The flow.
    pub flow: Flow,
    /// The trial's secret.
    pub cookie: Cookie,
    /// This host's address.
    pub address: HostAddress,
    /// This host's congestion control.
    pub congestion_control: String,
    /// The offset of the two hosts' clocks, if it is known. One-way delays have a meaning only then.
    pub clock_offset: Option<ClockOffset>,
    /// The round-trip time of the idle path, if it is known, which waits follow.
    pub round_trip: Option<Duration>,
    /// True if computing takes no time on this host, so that nobody can tell who reads what has arrived, and when.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub virtual_time: bool,
}

impl Side {
    /// Returns the nanoseconds by which the clock of the flow's second host is ahead, if they are known.
    pub fn ahead_ns(&self) -> Option<i64> {
        self.clock_offset.map(|offset| offset.ahead_ns)
    }

    /// Returns the times for which this host waits for packets of the flow.
    pub fn waits(&self) -> Waits {
        Waits::on(self.round_trip)
    }

    /// Returns the time for which this host waits for an answer on a connection before the flow fails.
    pub fn patience(&self) -> std::time::Duration {
        self.waits().patience().as_std()
    }
}

/// The lead of the monotonic clock of a flow's second host over that of its first host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClockOffset {
    /// The nanoseconds to subtract from the second host's times.
    pub ahead_ns: i64,
    /// The largest error of the lead, nanoseconds.
    pub error_ns: u64,
}

impl ClockOffset {
    /// Both hosts read the same clock.
    pub const ONE_CLOCK: Self = Self { ahead_ns: 0, error_ns: 0 };
}

/// A command that an agent can be given.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// Accepts the flow's connections. Answered by [`Reply::Listening`].
    Listen(Side),
    /// Answers path MTU probes to `address`. Answered by [`Reply::Listening`].
    Respond {
        /// The trial's secret.
        cookie: Cookie,
        /// This host's address.
        address: HostAddress,
    },
    /// Probes the path with packets that may not be fragmented. Answered by [`Reply::PathMtu`].
    ProbePathMtu {
        /// The trial's secret.
        cookie: Cookie,
        /// This host's address.
        address: HostAddress,
        /// Address and port at which the other host responds.
        destination: SocketAddr,
        /// The path MTU that the scenario implies, bytes.
        expected: u64,
        /// The round-trip time of the idle path, if it is known.
        round_trip: Option<Duration>,
    },
    /// Opens the flow's connection, inspects it, and closes it. Answered by [`Reply::Inspected`].
    Inspect {
        /// This host's side of the flow.
        side: Side,
        /// Address and port at which the other host listens.
        destination: SocketAddr,
    },
    /// Runs the flow. Answered by [`Reply::Finished`] at its end.
    Start {
        /// This host's side of the flow.
        side: Side,
        /// Address and port at which the other host listens.
        destination: SocketAddr,
        /// The interval at which the transport's state is read, nanoseconds.
        sample_ns: u64,
    },
}

impl Command {
    /// Returns the command's name in messages.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Listen(_) => "listen",
            Self::Respond { .. } => "respond",
            Self::ProbePathMtu { .. } => "probe_path_mtu",
            Self::Inspect { .. } => "inspect",
            Self::Start { .. } => "start",
        }
    }
}

/// An agent's answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Reply {
    /// The port that was opened.
    Listening {
        /// The number of the port: of TCP for a flow, and of UDP for probes.
        port: u16,
    },
    /// The path MTU.
    PathMtu(PathMtu),
    /// The settings of a connection as the kernel reports them.
    Inspected(Connection),
    /// A flow's figures, and the warnings about them.
    Finished(Box<FlowRecord>, Vec<Warning>),
    /// The order could not be carried out.
    Failed {
        /// The kind of the failure.
        kind: FailureKind,
        /// The step that failed, and the reason.
        message: String,
    },
}

impl Reply {
    /// Returns the report of an order that could not be carried out.
    pub fn failed(error: &impl Fault) -> Self {
        Self::Failed { kind: error.kind(), message: error.in_words() }
    }
}

/// A connection's settings in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Connection {
    /// The sender's maximum segment size, bytes of payload, if its system reports it.
    pub mss_bytes: Option<u32>,
    /// The sender's congestion control; empty if its system does not report it.
    pub congestion_control: String,
    /// The options that both sides agreed to, of `timestamps`, `sack` and `window_scaling`, in this order.
    pub options: Vec<String>,
    /// The options whose state the sender's system does not report; `None` if it reports no options.
    pub untold_options: Option<Vec<String>>,
    /// The buffers and the window of the sender's socket.
    pub sender: Room,
    /// The buffers and the window of the receiver's socket.
    pub receiver: Room,
}

/// The buffers and the window of a TCP socket, as its system reports them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Room {
    /// The size of the send buffer, in the terms of [`socket.window`](nettrial_scenario::SocketOptions::window),
    /// bytes.
    pub send_buffer_bytes: Option<u64>,
    /// The size of the receive buffer in the same terms, bytes.
    pub receive_buffer_bytes: Option<u64>,
    /// The largest receive window that the socket may announce, bytes, if the system has such a bound.
    pub window_bytes: Option<u64>,
    /// The window scale of the socket's announcements.
    pub window_scale: Option<u8>,
}

impl Room {
    /// The bytes of this value on a connection.
    pub const BYTES: usize = 32;

    /// Writes the value as four big-endian numbers. A value that is not known is the largest number.
    pub fn put(self) -> [u8; Self::BYTES] {
        let scale = self.window_scale.map(u64::from);
        let values = [self.send_buffer_bytes, self.receive_buffer_bytes, self.window_bytes, scale];
        let mut bytes = [0; Self::BYTES];
        for (place, value) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(values) {
            *place = value.unwrap_or(u64::MAX).to_be_bytes();
        }
        bytes
    }

    /// Reads the value.
    pub fn get(bytes: &[u8; Self::BYTES]) -> Self {
        let (places, _) = bytes.as_chunks::<8>();
        let value = |index: usize| Some(u64::from_be_bytes(places[index])).filter(|&value| value != u64::MAX);
        Self {
            send_buffer_bytes: value(0),
            receive_buffer_bytes: value(1),
            window_bytes: value(2),
            window_scale: value(3).and_then(|bits| u8::try_from(bits).ok()),
        }
    }

    /// Describes the known parts of the value.
    pub fn in_words(self) -> String {
        let bytes = |name: &str, value: Option<u64>| value.map(|bytes| format!("{name} {bytes} B"));
        let parts = [
            bytes("send buffer", self.send_buffer_bytes),
            bytes("receive buffer", self.receive_buffer_bytes),
            bytes("window up to", self.window_bytes),
            self.window_scale.map(|bits| format!("scaled by {bits} bits")),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_that_is_put_is_got() {
        let known = Room {
            send_buffer_bytes: Some(16_384),
            receive_buffer_bytes: Some(131_072),
            window_bytes: Some(1 << 20),
            window_scale: Some(7),
        };
        let unknown = Room { receive_buffer_bytes: Some(1), ..Room::default() };
        for room in [known, unknown, Room::default()] {
            assert_eq!(Room::get(&room.put()), room);
        }
        assert_eq!(
            known.in_words(),
            "send buffer 16384 B, receive buffer 131072 B, window up to 1048576 B, scaled by 7 bits"
        );
        assert_eq!(unknown.in_words(), "receive buffer 1 B");
    }
}

/// A path's MTU in one direction, as probes found it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PathMtu {
    /// The largest probe that was answered, bytes of IP packet; 0 if none was.
    pub largest: u64,
    /// True if a probe one byte above the expected MTU was answered, too.
    pub exceeded: bool,
    /// The shortest time from a probe to its answer; `None` if none was answered.
    pub round_trip: Option<Duration>,
}
