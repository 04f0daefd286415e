//! The receive window and its automatic sizing (tcp_rcv_space_adjust, tcp_grow_window, tcp_select_window).
//!
//! The buffer holds only what is out of order, because the application reads at once. A buffer counts what segments
//! occupy in memory, a window their payload: half of the buffer until data arrives (TCP_DEFAULT_SCALING_RATIO),
//! then the share of payload in a segment's memory (tcp_measure_rcv_mss, Linux 6.6 and later), which is more the
//! larger the segments are. What an interface's driver adds to a segment differs; here it is a small socket
//! buffer's head.

use crate::{Packet, Time};
use nettrial_scenario::{Size, Stack};

/// The largest window without scaling, and the most that scaling can do (RFC 7323 section 2.2).
const UNSCALED: u64 = 65_535;
const LARGEST_SHIFT: u32 = 14;
/// The memory that a segment occupies beside its payload: sk_buff and a small head with skb_shared_info on x86-64
/// (SKB_SMALL_HEAD_SIZE).
const OVERHEAD_BYTES: u64 = 256 + 704;
/// Segments of the initial window (TCP_INIT_CWND).
const INITIAL_SEGMENTS: u64 = 10;

/// The receive window of a side. Offsets count the bytes of its data.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct ReceiveWindow {
    buffer_bytes: u64,
    maximum_bytes: u64,
    /// The bound on what is announced: `socket.window`.
    most_bytes: u64,
    /// Payload of the largest segment so far; 0 before the first.
    segment_bytes: u64,
    /// The bits by which windows are scaled; `None` without window scaling.
    shift: Option<u32>,
    /// The bytes that may be announced until more was seen to arrive (rcv_ssthresh).
    threshold_bytes: u64,
    /// The offset up to which data may be sent; it never moves back.
    pub(super) edge: u64,
    /// The bytes that arrived within a round trip, and when and where the present one began.
    arrived_bytes: u64,
    began_at: Time,
    began: u64,
    /// Round-trip time as a receiver sees it, of each subflow; zero before the first sample.
    round_trips: [Time; 8],
    /// Without timestamps: the time a window of data takes.
    window_began_at: Time,
    pub(super) window_ends: u64,
    /// The latest timestamp that each subflow echoed.
    last_echo: [Time; 8],
}

fn maximum_bytes(stack: &Stack) -> u64 {
    stack.receive_buffer.maximum.0.max(stack.receive_buffer.initial.0)
}

/// The size of a buffer that is asked for as one of `window` bytes: Linux doubles it (socket(7)).
pub(super) fn buffer_of(window: u64) -> u64 {
    2 * window
}

/// Returns by how many bits a host with that stack scales its windows, if both hosts scale. `window` bounds them.
pub(crate) fn window_shift(stack: &Stack, window: Option<Size>) -> u32 {
    let largest = window.map_or_else(|| maximum_bytes(stack), |window| window.0);
    let fits = |shift: &u32| largest >> shift <= UNSCALED;
    (0..LARGEST_SHIFT).find(fits).unwrap_or(LARGEST_SHIFT)
}

impl ReceiveWindow {
    /// The window of a host with that stack; `has_scaling` if both hosts have it. `window` is its size where the socket
    /// sets it, and neither it nor the buffer grows beyond.
    pub(crate) fn new(stack: &Stack, window: Option<Size>, has_scaling: bool, mss_bytes: u32) -> Self {
        let shift = window_shift(stack, window);
        let (buffer_bytes, maximum_bytes) = match window {
            Some(window) => (buffer_of(window.0), buffer_of(window.0)),
            None => (stack.receive_buffer.initial.0, maximum_bytes(stack)),
        };
        let initial = (buffer_bytes / 2).min(UNSCALED);
        Self {
            buffer_bytes,
            maximum_bytes,
            most_bytes: window.map_or(u64::MAX, |window| window.0),
            segment_bytes: 0,
            shift: has_scaling.then_some(shift),
            threshold_bytes: initial,
            edge: 0,
            arrived_bytes: initial.min(INITIAL_SEGMENTS * u64::from(mss_bytes)),
            began_at: Time::ZERO,
            began: 0,
            round_trips: [Time::ZERO; 8],
            last_echo: [Time::NEVER; 8],
            window_began_at: Time::ZERO,
            window_ends: 0,
        }
    }

    /// Returns what the buffer has room for, in payload.
    fn room(&self) -> u64 {
        let room = match self.segment_bytes {
            0 => self.buffer_bytes / 2,
            payload => self.buffer_bytes * payload / (payload + OVERHEAD_BYTES),
        };
        let most = if self.shift.is_some() { self.most_bytes } else { self.most_bytes.min(UNSCALED) };
        room.min(most)
    }

    /// The buffer that has room for so much payload (tcp_space_from_win).
    fn buffer_for(&self, window_bytes: u64) -> u64 {
        match self.segment_bytes {
            0 => window_bytes.saturating_mul(2),
            payload => window_bytes.saturating_mul(payload + OVERHEAD_BYTES) / payload,
        }
    }

    /// The window to announce: `received` is the next offset expected, `held` what is out of order.
    pub(crate) fn announce(&mut self, received: u64, held: u64) -> u64 {
        let free = self.room().saturating_sub(held).min(self.threshold_bytes);
        let window = self.edge.saturating_sub(received).max(free);
        let window = match self.shift {
            Some(shift) => (window.div_ceil(1 << shift).min(UNSCALED)) << shift,
            None => window.min(UNSCALED),
        };
        self.edge = self.edge.max(received + window);
        window
    }

    /// Returns what was announced last.
    pub(crate) fn announced(&self, received: u64) -> u64 {
        self.edge.saturating_sub(received)
    }

    /// A packet's data arrived in order: more may be announced.
    pub(crate) fn grow(&mut self, packet: &Packet, mss_bytes: u32) {
        self.segment_bytes = self.segment_bytes.max(u64::from(packet.segment()));
        let more = 2 * u64::from(packet.payload_bytes.max(mss_bytes));
        self.threshold_bytes = (self.threshold_bytes + more).min(self.room().max(self.threshold_bytes));
    }

    /// Takes a sample of the round-trip time on a subflow's data: how old the acknowledgment is that it echoes.
    pub(crate) fn measure(&mut self, echo: Option<Time>, now: Time, subflow: usize, received: u64) {
        let subflow = subflow.min(7);
        let Some(echo) = echo else {
            self.measure_by_window(now, received);
            return;
        };
        if self.last_echo[subflow] == echo {
            return;
        }
        self.last_echo[subflow] = echo;
        let sample = now.since(echo).max(Time(1));
        let smoothed = &mut self.round_trips[subflow];
        *smoothed =
            if *smoothed == Time::ZERO { sample } else { Time(smoothed.0 - smoothed.0 / 8 + sample.0 / 8) };
    }

    fn measure_by_window(&mut self, now: Time, received: u64) {
        if self.window_began_at > Time::ZERO {
            if received < self.window_ends {
                return;
            }
            let sample = now.since(self.window_began_at).max(Time(1));
            let smallest = &mut self.round_trips[0];
            *smallest = if *smallest == Time::ZERO { sample } else { sample.min(*smallest) };
        }
        self.window_ends = received + self.announced(received);
        self.window_began_at = now;
    }

    /// The application has read all up to `received`: once in a round trip, the buffer is made large enough for
    /// twice what arrived, and more while that grows.
    pub(crate) fn adjust(&mut self, received: u64, now: Time, mss_bytes: u32) {
        let round_trip = self.round_trips.iter().copied().max().unwrap_or(Time::ZERO);
        if round_trip == Time::ZERO || now.since(self.began_at) < round_trip {
            return;
        }
        let arrived = received - self.began;
        if arrived > self.arrived_bytes {
            let window = 2 * arrived + 16 * u64::from(mss_bytes);
            let growth = u128::from(window) * u128::from(arrived - self.arrived_bytes);
            let growth = (growth / u128::from(self.arrived_bytes.max(1))) as u64;
            let buffer = self.buffer_for(window + 2 * growth).min(self.maximum_bytes);
            self.buffer_bytes = self.buffer_bytes.max(buffer);
            self.arrived_bytes = arrived;
        }
        self.began_at = now;
        self.began = received;
    }
}
