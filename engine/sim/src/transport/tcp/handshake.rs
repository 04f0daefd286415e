//! The handshake: SYN, SYN and ACK, and the negotiated options.

use super::timers::{Purpose, Timer};
use super::{Cutter, Scope, Tcp, rtt};
use crate::{Codepoint, Flags, Packet, Time};
use nettrial_congestion::Event;
use nettrial_scenario::{IpVersion, SocketOptions, Stack};

/// The number of times that a SYN is retransmitted (net.ipv4.tcp_syn_retries), and an answer to one
/// (tcp_synack_retries).
const SYN_RETRIES: u32 = 6;
const SYN_ACK_RETRIES: u32 = 5;
/// The size of the TCP header without options in bytes.
const TCP_HEADER_BYTES: u32 = 20;
/// The size of the timestamps option with its padding in bytes (RFC 7323 appendix A).
const TIMESTAMP_BYTES: u32 = 12;
/// The bytes of MPTCP's data sequence signal with only a 64-bit DATA_ACK (RFC 8684 section 3.3).
const DATA_ACK_BYTES: u32 = 12;

/// The smallest segment to send, with its options (net.ipv4.tcp_min_snd_mss).
const LEAST_SEGMENT_BYTES: u32 = 48;

/// The state of a subflow's side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// The side waits for a SYN.
    Listening,
    /// The side has sent a SYN `tries` times, the first and the last at these times.
    Opening { tries: u32, sent_at: Time },
    /// The side has answered a SYN.
    Answering { tries: u32, sent_at: Time },
    /// The side is open; FINs are tracked separately.
    Established,
    /// The side could not be opened, or gave up.
    Failed,
}

/// The options negotiated from both sides' stacks and the path, and their sizes in bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Options {
    /// True if the connection is MPTCP.
    pub(crate) is_mptcp: bool,
    /// The bytes of MPTCP's option in a data segment, for which it makes room; an acknowledgment of 64 bits, which Linux
    /// sends once data has arrived, takes 4 more.
    signal_bytes: u32,
    /// True if both sides support selective acknowledgments.
    pub(crate) has_sack: bool,
    /// True if both sides support timestamps.
    pub(crate) has_timestamps: bool,
    /// True if this side requests ECN and the other side agrees.
    pub(crate) has_ecn: bool,
    /// The smallest retransmission timeout.
    pub(crate) minimum_rto: Time,
    /// True if the connection limits what it has in its interface's queue.
    pub(crate) has_small_queues: bool,
    /// The part that segments this side's bursts; `None` if it sends segment by segment.
    pub(crate) cutter: Option<Cutter>,
    /// The headers of a data segment, and of an acknowledgment, including IP's; SACK blocks are added.
    data_header_bytes: u32,
    ack_header_bytes: u32,
    syn_bytes: u32,
    /// The segment size that this side announces, which includes options (advmss).
    pub(crate) announced_bytes: u32,
    /// The payload of a full segment.
    pub(crate) mss_bytes: u32,
}

impl Options {
    /// Returns the options of side `side` of a subflow. Both stacks are known, so the result of the negotiation
    /// is, too.
    pub(crate) fn new(
        side: usize,
        is_mptcp: bool,
        ip: IpVersion,
        stacks: [&Stack; 2],
        socket: SocketOptions,
        mtu_bytes: u64,
    ) -> Self {
        let own = stacks[side];
        let both = |has: fn(&Stack) -> bool| has(stacks[0]) && has(stacks[1]);
        let has_timestamps = both(|stack| stack.timestamps);
        let timestamps = if has_timestamps { TIMESTAMP_BYTES } else { 0 };
        let headers = ip.header_bytes() as u32 + TCP_HEADER_BYTES;
        let signal_bytes = if is_mptcp { own.scheduler.data_signal_bytes() } else { 0 };
        let options = timestamps + signal_bytes;
        let announced = u32::try_from(mtu_bytes).unwrap_or(u32::MAX).min(65_535 + headers) - headers;
        let announced = socket.mss.map_or(announced, |mss| announced.min(mss.0.min(65_535) as u32));
        Self {
            is_mptcp,
            signal_bytes,
            has_sack: both(|stack| stack.sack),
            has_timestamps,
            has_ecn: false,
            minimum_rto: own.minimum_rto.map_or(rtt::MINIMUM_RTO, |rto| Time::from_ns(rto.0)),
            has_small_queues: own.small_queues,
            cutter: None,
            data_header_bytes: headers + options,
            ack_header_bytes: headers + timestamps + if is_mptcp { DATA_ACK_BYTES } else { 0 },
            syn_bytes: headers + syn_option_bytes(own, is_mptcp),
            announced_bytes: announced,
            mss_bytes: announced.saturating_sub(options).max(1),
        }
    }

    /// Returns the size of an IP packet with that much payload and that many bytes of SACK options.
    pub(super) fn packet_bytes(&self, payload: u32, sack: u32) -> u32 {
        let headers = if payload > 0 { self.data_header_bytes } else { self.ack_header_bytes };
        headers + sack + payload
    }

    /// Returns the payload of the segments that fill an IP packet of that many bytes (tcp_mtu_to_mss).
    pub(super) fn segment_of(&self, packet_bytes: u32) -> u32 {
        let options = self.data_option_bytes();
        let bytes = packet_bytes.saturating_sub(self.data_header_bytes - options);
        bytes.min(self.announced_bytes).max(LEAST_SEGMENT_BYTES) - options
    }

    /// Returns the bytes of the largest IP packet for which the other side's announced segment size has room.
    pub(super) fn largest_packet_bytes(&self) -> u32 {
        self.announced_bytes + self.data_header_bytes - self.data_option_bytes()
    }

    /// Returns the bytes of the options of a data segment, without SACK.
    fn data_option_bytes(&self) -> u32 {
        self.timestamps_bytes() + self.signal_bytes
    }

    /// Returns the bytes of the timestamps option in each segment.
    pub(super) fn timestamps_bytes(&self) -> u32 {
        if self.has_timestamps { TIMESTAMP_BYTES } else { 0 }
    }

    /// Returns the number of SACK blocks for which an acknowledgment has room: 40 bytes minus the other options.
    pub(super) fn sack_room(&self) -> usize {
        let others = self.timestamps_bytes() + if self.is_mptcp { DATA_ACK_BYTES } else { 0 };
        if self.has_sack { ((40 - others - 4) / 8).min(4) as usize } else { 0 }
    }
}

/// Returns the bytes of a SYN's options: MSS 4; SACK permitted and timestamps 12 together, or 4 and 12 separately;
/// window scale 4; MP_CAPABLE 4 and MP_JOIN 12 (here 12 for both).
fn syn_option_bytes(stack: &Stack, is_mptcp: bool) -> u32 {
    let selective = match (stack.timestamps, stack.sack) {
        (true, _) => 12,
        (false, true) => 4,
        (false, false) => 0,
    };
    4 + selective + if stack.window_scaling { 4 } else { 0 } + if is_mptcp { 12 } else { 0 }
}

impl Tcp {
    /// Opens the subflow by sending a SYN.
    pub(crate) fn open(&mut self, scope: &mut Scope<'_>) {
        self.send_syn(0, scope);
    }

    /// Returns whether it is waiting for a SYN or for its turn to open.
    pub(crate) fn is_listening(&self) -> bool {
        self.state == State::Listening
    }

    fn send_syn(&mut self, tries: u32, scope: &mut Scope<'_>) {
        let (tries, sent_at) = (tries + 1, scope.now);
        let is_opening = self.me.side == 0;
        let mut flags = Flags::SYN;
        if is_opening {
            self.state = State::Opening { tries, sent_at };
            if self.options.has_ecn {
                flags = flags.with(Flags::ECE).with(Flags::CWR);
            }
        } else {
            self.state = State::Answering { tries, sent_at };
            flags = flags.with(Flags::ACK);
            if self.ecn.is_on {
                flags = flags.with(Flags::ECE);
            }
        }
        self.next = 1;
        let packet = Packet {
            ip_bytes: self.options.syn_bytes,
            window_bytes: scope.stream.advertise_first(),
            ecn: Codepoint::NotCapable,
            ..self.blank_packet(flags, scope)
        };
        self.put(&packet, scope);
        let wait = Time(rtt::INITIAL_RTO.0 << (tries - 1).min(20));
        self.timers.purpose = Purpose::Timeout;
        self.timers.set(Timer::Retransmit, scope.now + wait, self.me, scope.io);
    }

    /// Handles the timer before the subflow is established.
    pub(super) fn on_handshake_timeout(&mut self, scope: &mut Scope<'_>) {
        match self.state {
            State::Opening { tries, .. } if tries <= SYN_RETRIES => self.send_syn(tries, scope),
            State::Answering { tries, .. } if tries <= SYN_ACK_RETRIES => self.send_syn(tries, scope),
            State::Opening { .. } | State::Answering { .. } => self.fail(),
            _ => {}
        }
    }

    /// Handles a packet before the subflow is established, or a SYN afterwards.
    pub(super) fn on_handshake(&mut self, packet: &Packet, scope: &mut Scope<'_>) {
        let is_syn = packet.flags.has(Flags::SYN);
        let is_ack = packet.flags.has(Flags::ACK);
        match self.state {
            State::Listening if is_syn && !is_ack => {
                // Linux accepts ECN if the other side requests it (net.ipv4.tcp_ecn 1 and 2).
                self.ecn.is_on = packet.flags.has(Flags::ECE.with(Flags::CWR));
                self.take_syn(packet, scope);
                self.send_syn(0, scope);
            }
            State::Answering { tries, .. } if is_syn => self.send_syn(tries - 1, scope),
            State::Answering { tries, sent_at } if is_ack => self.establish(packet, tries, sent_at, scope),
            State::Opening { tries, sent_at } if is_syn && is_ack => {
                self.ecn.is_on = packet.flags.has(Flags::ECE) && self.options.has_ecn;
                self.take_syn(packet, scope);
                self.establish(packet, tries, sent_at, scope);
                self.send_ack(scope);
            }
            // The acknowledgment of SYN and ACK was lost.
            State::Established if is_syn && is_ack => self.send_ack(scope),
            _ => {}
        }
    }

    fn take_syn(&mut self, packet: &Packet, scope: &mut Scope<'_>) {
        self.receiver.begin(1);
        self.acks.begin(1);
        self.take_timestamp(packet);
        if self.me.subflow == 0 {
            scope.stream.open_window(packet.window_bytes);
        }
    }

    fn establish(&mut self, packet: &Packet, tries: u32, sent_at: Time, scope: &mut Scope<'_>) {
        self.state = State::Established;
        self.una = 1;
        if self.me.subflow == 0 {
            scope.stream.begin(scope.now);
        }
        self.timers.stop(Timer::Retransmit);
        self.rate.begin(scope.now);
        let echoed = Some(packet.echo).filter(|&echo| echo != Time::NEVER);
        let sample = if tries == 1 { Some(sent_at) } else { echoed };
        if let Some(sent_at) = sample {
            let rtt = scope.now.since(sent_at);
            self.rtt.sample(rtt, self.una, self.next);
            self.rtt.sample_minimum(rtt, scope.now);
        }
        if tries > 2 {
            self.window.cwnd_pkts = 1;
        }
        self.recovery.begin(self.una);
        self.control.on_event(Event::Established, &mut self.window, scope.now.as_ns());
        self.own = scope.views.len();
        scope.views.push(self.view());
        self.tell_connected(scope);
        if self.queue.is_some() && self.me.side == 1 && self.me.subflow > 0 {
            // The other side waits for it before it sends data (RFC 8684 section 3.2).
            self.send_ack(scope);
        }
    }
}
