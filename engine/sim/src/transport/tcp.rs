//! One side of a subflow: TCP as implemented by Linux (net/ipv4/tcp_input.c, tcp_output.c, tcp_recovery.c,
//! tcp_timer.c), from RFCs 9293, 7323, 2018, 2883, 8985 (RACK-TLP), 6937 (PRR), 6298, 5682 (F-RTO), 3168 and 8257.
//! The model differs from Linux as follows: segments are never split, coalesced or trimmed once they are sent,
//! unless their receiver's interface coalesces them or the search for the path MTU splits them ([`probing`]); receivers
//! never withdraw a SACK; there is no backlog. Segments of bursts, and those of MPTCP with another scheduler than Linux's,
//! have no PSH. A window never closes (see [`crate::transport::connection`]). The sender's segments are compared with those
//! of Linux 6.18 by `tests/kernel`.

mod ack;
mod acknowledging;
mod bursts;
mod handshake;
mod probing;
mod queue;
mod rack;
mod rate;
mod receiver;
mod recovery;
mod reduction;
mod rtt;
mod sack;
mod scoreboard;
mod sender;
mod timeouts;
mod timers;
mod transmit;
mod undo;

pub(crate) use bursts::Cutter;
pub(crate) use handshake::Options;
pub(crate) use probing::Attempt;
pub(crate) use sender::Readiness;

use crate::ahead::{ReadAhead, read_ahead};
use crate::transport::stream::Stream;
use crate::transport::window::Segments;
use crate::{Codepoint, Endpoint, Flags, Io, Notice, Packet, PathId, Time};
use acknowledging::Acks;
use bursts::Bursts;
use handshake::State;
use nettrial_congestion::{Control, Subflow as View, Window};
use probing::Search;
use queue::Queue;
use rack::Rack;
use rate::Rate;
use receiver::Receiver;
use recovery::Recovery;
pub(crate) use rtt::MINIMUM_RTO;
use rtt::Rtt;
use scoreboard::Scoreboard;
use sender::Interface;
use std::hint::black_box;
use timers::Timers;

/// The initial window (RFC 6928).
pub(crate) const INITIAL_WINDOW: u32 = 10;

/// The context in which a subflow handles an event: the world, and its side of the connection.
pub(crate) struct Scope<'a> {
    /// The simulated world.
    pub(crate) io: &'a mut dyn Io,
    /// The current time.
    pub(crate) now: Time,
    /// The data of the side.
    pub(crate) stream: &'a mut Stream,
    /// The established subflows of the side.
    pub(crate) views: &'a mut Vec<View>,
}

/// The counts for the record.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// The bytes of payload that were acknowledged.
    pub(crate) acked_bytes: u64,
    /// The segments that were retransmitted.
    pub(crate) resent_pkts: u64,
    /// The packets that were sent.
    pub(crate) sent_pkts: u64,
    /// The bytes of the IP packets that were sent.
    pub(crate) sent_bytes: u64,
    /// The retransmission timeouts.
    pub(crate) timeouts: u64,
}

/// The negotiated ECN, and the pending signals to the other side.
#[derive(Debug, Default)]
struct Ecn {
    /// True if both sides agreed to use ECN.
    is_on: bool,
    /// True if each mark is echoed exactly (RFC 8257 section 3.2).
    is_exact: bool,
    /// True if ECE is set in sent packets.
    must_echo: bool,
    /// True if CWR is to be set in the next new data.
    must_tell_reduced: bool,
}

/// One side of a subflow. The fields that a receiver of data needs come first.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Tcp {
    me: Endpoint,
    peer: Endpoint,
    path: PathId,
    ecn: Ecn,
    options: Options,
    state: State,
    /// The next sequence number to send, and the first unacknowledged one.
    next: u64,
    una: u64,
    /// The index of its entry in [`Scope::views`].
    own: usize,
    /// The sequence number after its FIN.
    fin_end: Option<u64>,
    acks: Acks,
    timers: Timers,
    /// The counters of the subflow.
    pub(crate) counts: Counts,
    receiver: Receiver,
    rtt: Rtt,
    bursts: Bursts,
    window: Window,
    control: Box<dyn Control>,
    board: Scoreboard,
    interface: Interface,
    rate: Rate,
    recovery: Recovery,
    rack: Rack,
    /// The search for the path MTU; `None` if the stack has none.
    search: Option<Box<Search>>,
    /// Its own send queue; `None` if a segment is chosen when it leaves.
    pub(crate) queue: Option<Box<Queue>>,
}

read_ahead!(
    Tcp: path,
    next,
    acks.acked,
    timers.due,
    timers.waking,
    counts.acked_bytes,
    counts.timeouts,
    receiver.held_bytes,
    receiver.next,
    receiver.recent,
    rtt.smoothed,
    rtt.floor,
    window,
    board.first,
    board.sacked_pkts,
    board.known,
    interface.last_sent_at,
    interface.flight_end,
    rate.delivered_pkts,
    rate.app_limited_until,
    rate.latest,
    recovery.undo_una,
    recovery.high_sequence,
    recovery.sent_pkts,
    rack.reordering_pkts,
);

impl Tcp {
    /// Creates a side of a subflow that listens, or is about to open.
    pub(crate) fn new(me: Endpoint, path: PathId, options: Options, control: Box<dyn Control>) -> Self {
        Self {
            me,
            peer: Endpoint { side: 1 - me.side, ..me },
            path,
            rtt: Rtt::new(options.minimum_rto),
            acks: Acks::new(options.mss_bytes),
            options,
            state: State::Listening,
            ecn: Ecn { is_exact: control.needs_ecn(), ..Ecn::default() },
            control,
            window: Window { cwnd_pkts: INITIAL_WINDOW, ssthresh_pkts: u32::MAX, credit_pkts: 0 },
            next: 0,
            una: 0,
            board: Scoreboard::default(),
            recovery: Recovery::default(),
            rack: Rack::default(),
            search: None,
            queue: None,
            rate: Rate::default(),
            interface: Interface::default(),
            bursts: Bursts::default(),
            receiver: Receiver::default(),
            timers: Timers::default(),
            own: 0,
            fin_end: None,
            counts: Counts::default(),
        }
    }

    /// Prefetches the memory that a packet or a timer will need.
    pub(crate) fn read_ahead(&self) {
        if self.has_sent() {
            ReadAhead::read_ahead(self);
        } else {
            // Data needs only the first fields.
            black_box((self.path, self.next, self.acks.acked, self.timers.due, self.counts.acked_bytes));
            black_box((self.receiver.held_bytes, self.receiver.next, self.rtt.smoothed, self.rtt.floor));
        }
    }

    /// Prefetches the oldest segment and the oldest packet in the interface, and returns its path.
    pub(crate) fn read_rest_ahead(&self) -> PathId {
        if self.has_sent() {
            black_box(self.board.front().map(|segment| segment.sequence));
            black_box(self.interface.oldest_departure());
        }
        self.path
    }

    /// Handles the arrival of a packet.
    pub(crate) fn on_packet(&mut self, packet: &Packet, scope: &mut Scope<'_>) {
        let was_established = self.is_established();
        if !was_established || packet.flags.has(Flags::SYN) {
            self.on_handshake(packet, scope);
        }
        if self.is_established() && !packet.flags.has(Flags::SYN) {
            self.take_timestamp(packet);
            self.on_ack(packet, scope);
            self.on_data(packet, scope);
        }
        self.share_view(scope);
    }

    /// Returns whether it has sent more than its SYN. If it has not, there is nothing to acknowledge.
    fn has_sent(&self) -> bool {
        self.next > 1
    }

    /// Updates its entry in the side's list at the end of an event, for the other subflows.
    fn share_view(&self, scope: &mut Scope<'_>) {
        if self.options.is_mptcp && self.has_sent() {
            self.refresh_view(scope);
        }
    }

    /// Updates its entry in the side's list.
    fn refresh_view(&self, scope: &mut Scope<'_>) {
        if let Some(view) = scope.views.get_mut(self.own).filter(|_| self.is_established()) {
            *view = self.view();
        }
    }

    fn view(&self) -> View {
        View {
            window: self.window,
            srtt_ns: self.rtt.smoothed.as_ns(),
            mss_bytes: self.options.mss_bytes,
            phase: self.recovery.phase,
            shared: self.control.shared(),
        }
    }

    /// Returns its endpoint.
    pub(crate) fn endpoint(&self) -> Endpoint {
        self.me
    }

    /// Returns whether data can be sent and received.
    pub(crate) fn is_established(&self) -> bool {
        self.state == State::Established
    }

    /// Returns whether it could not be opened, or gave up.
    pub(crate) fn has_failed(&self) -> bool {
        self.state == State::Failed
    }

    /// Returns whether it has ended: everything that it sent, including FIN, is acknowledged and it has received
    /// the other side's FIN, or it failed.
    pub(crate) fn is_over(&self) -> bool {
        let is_sent = self.fin_end.is_some_and(|end| self.una >= end);
        self.has_failed() || (is_sent && self.receiver.has_fin())
    }

    /// Gives up the subflow.
    fn fail(&mut self) {
        self.state = State::Failed;
        self.timers = Timers::default();
    }

    /// Notifies the application that the connection is established.
    fn tell_connected(&self, scope: &mut Scope<'_>) {
        if self.me.subflow == 0 {
            let Endpoint { connection, side, .. } = self.me;
            scope.io.tell(Notice::Connected { connection, side });
        }
    }

    /// Returns the payload of a full segment, given the SACK blocks that it has to carry (tcp_current_mss).
    pub(crate) fn segment_bytes(&self) -> u32 {
        let blocks = self.receiver.sack_option_bytes(&self.options);
        self.options.mss_bytes - blocks.min(self.options.mss_bytes / 2)
    }

    /// Returns the maximum segment size in bytes.
    pub(crate) fn mss_bytes(&self) -> u32 {
        self.options.mss_bytes
    }

    /// Returns the segment sizes from which its receive window is computed: the side that answers a SYN knows whether
    /// timestamps take a part of them (tcp_connect_init, tcp_openreq_init_rwin), and an open connection does
    /// (tcp_rcv_synsent_state_process, tcp_rcv_state_process).
    pub(crate) fn window_segments(&self) -> Segments {
        let announced_bytes = u64::from(self.options.announced_bytes);
        let open_bytes = announced_bytes.saturating_sub(self.options.timestamps_bytes().into()).max(1);
        let quantum_bytes = if self.me.side == 1 { open_bytes } else { announced_bytes };
        Segments { announced_bytes, open_bytes, quantum_bytes }
    }

    /// Returns the state of the congestion window.
    pub(crate) fn window(&self) -> Window {
        self.window
    }

    /// Returns the smoothed round-trip time; zero before the first sample.
    pub(crate) fn smoothed_rtt(&self) -> Time {
        self.rtt.smoothed
    }

    /// Returns the smallest round-trip time; [`Time::NEVER`] before the first sample.
    pub(crate) fn minimum_rtt(&self) -> Time {
        self.rtt.minimum
    }

    /// Returns the name of the congestion control.
    pub(crate) fn control_name(&self) -> &'static str {
        self.control.name()
    }

    /// Returns the number of packets delivered whose acknowledgments had the flag ECE.
    pub(crate) fn marked_pkts(&self) -> u64 {
        self.rate.marked_pkts
    }

    /// Returns the latest delivery rate in bits per second of payload; `None` before the first sample.
    pub(crate) fn delivery_rate_bps(&self) -> Option<u64> {
        self.rate.latest_bps(self.options.mss_bytes)
    }

    /// Returns the data sequence number and the bytes of its oldest unacknowledged segment.
    pub(crate) fn oldest_data(&self) -> Option<(u64, u32)> {
        self.board.front().map(|segment| (segment.data_sequence, segment.payload_bytes()))
    }

    /// Returns the data of all unacknowledged segments, including SACKed ones, because the receiver does not
    /// deliver data beyond a gap in its subflow.
    pub(crate) fn outstanding_data(&self) -> impl Iterator<Item = (u64, u64)> {
        let data = |segment: &scoreboard::Segment| {
            (segment.data_sequence, segment.data_sequence + u64::from(segment.payload_bytes()))
        };
        self.board.iter().map(data)
    }

    /// Returns the number of segments for which the send buffer needs room (tcp_sndbuf_expand).
    pub(crate) fn buffered_segments(&self) -> u64 {
        let window = self.window.cwnd_pkts.max(INITIAL_WINDOW).max(self.rack.reordering_pkts + 1);
        u64::from(self.control.buffered_windows()) * u64::from(window)
    }

    /// Returns the ECN codepoint of its data packets.
    fn codepoint(&self) -> Codepoint {
        if self.ecn.is_on { Codepoint::Capable } else { Codepoint::NotCapable }
    }
}
