//! The receive window and its automatic sizing (tcp_rcv_space_adjust, tcp_grow_window, tcp_select_window).
//! The buffer holds only out-of-order data, because the application reads immediately. The size of a buffer counts
//! the memory of segments, that of a window their payload: half of the buffer until data arrives
//!(TCP_DEFAULT_SCALING_RATIO), then the share of payload in a segment's memory (tcp_measure_rcv_mss, Linux 6.6 and
//! later), which is larger for larger segments. The memory that a driver adds to a segment varies; here it is the
//! head of a small socket buffer.

use crate::{Packet, Time};
use nettrial_scenario::{Size, Stack};

/// The largest window without scaling, and the largest scaling shift (RFC 7323 section 2.2).
const UNSCALED: u64 = 65_535;
const LARGEST_SHIFT: u32 = 14;
/// The memory of a segment in addition to its payload: sk_buff and a small head with skb_shared_info on x86-64
/// (SKB_SMALL_HEAD_SIZE).
const OVERHEAD_BYTES: u64 = 256 + 704;
/// The number of segments of the initial window (TCP_INIT_CWND).
const INITIAL_SEGMENTS: u64 = 10;

/// The receive window of a side. Offsets count bytes of its data.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct ReceiveWindow {
    pub(super) buffer_bytes: u64,
    maximum_bytes: u64,
    /// The upper limit of the announced window, from `socket.window`.
    most_bytes: u64,
    /// The payload of the largest segment so far; 0 before the first.
    segment_bytes: u64,
    /// The number of bits by which windows are scaled; `None` without window scaling.
    shift: Option<u32>,
    /// The number of bytes that may be announced until more data has arrived (rcv_ssthresh).
    threshold_bytes: u64,
    /// The offset up to which data may be sent; it never moves back.
    pub(super) edge: u64,
    /// The bytes that arrived within a round trip, and the time and offset at which the current one began.
    arrived_bytes: u64,
    began_at: Time,
    began: u64,
    /// The round-trip time of each subflow, as measured by the receiver; zero before the first sample.
    pub(super) round_trips: [Time; 8],
    /// The time at which the current window of data began, for measurements without timestamps.
    pub(super) window_began_at: Time,
    window_ends: u64,
    /// The latest timestamp that each subflow echoed.
    pub(super) last_echo: [Time; 8],
}

fn maximum_bytes(stack: &Stack) -> u64 {
    stack.receive_buffer.maximum.0.max(stack.receive_buffer.initial.0)
}

/// Returns the size of a buffer for which `window` bytes are requested: Linux doubles it (socket(7)).
pub(super) fn buffer_of(window: u64) -> u64 {
    2 * window
}

/// Returns the number of bits by which a host with that stack scales its windows, if both hosts use scaling.
/// `window` limits the windows.
pub(crate) fn window_shift(stack: &Stack, window: Option<Size>) -> u32 {
    let largest = window.map_or_else(|| maximum_bytes(stack), |window| window.0);
    let fits = |shift: &u32| largest >> shift <= UNSCALED;
    (0..LARGEST_SHIFT).find(fits).unwrap_or(LARGEST_SHIFT)
}

impl ReceiveWindow {
    /// Creates the window of a host with that stack; `has_scaling` is true if both hosts use window scaling.
    /// `window` is the size set by a socket option, if any, beyond which neither the window nor the buffer grows.
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

    /// Returns the payload for which the buffer has room.
    fn room(&self) -> u64 {
        let room = match self.segment_bytes {
            0 => self.buffer_bytes / 2,
            payload => self.buffer_bytes * payload / (payload + OVERHEAD_BYTES),
        };
        let most = if self.shift.is_some() { self.most_bytes } else { self.most_bytes.min(UNSCALED) };
        room.min(most)
    }

    /// Returns the size of a buffer with room for that much payload (tcp_space_from_win).
    fn buffer_for(&self, window_bytes: u64) -> u64 {
        match self.segment_bytes {
            0 => window_bytes.saturating_mul(2),
            payload => window_bytes.saturating_mul(payload + OVERHEAD_BYTES) / payload,
        }
    }

    /// Returns the window to announce; `received` is the next offset expected, and `held` the amount of
    /// out-of-order data.
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

    /// Returns the part of the last announced window that remains.
    pub(crate) fn announced(&self, received: u64) -> u64 {
        self.edge.saturating_sub(received)
    }

    /// Increases the window that may be announced, after a packet's data has arrived in order.
    pub(crate) fn grow(&mut self, packet: &Packet, mss_bytes: u32) {
        self.segment_bytes = self.segment_bytes.max(u64::from(packet.segment()));
        let more = 2 * u64::from(packet.payload_bytes.max(mss_bytes));
        self.threshold_bytes = (self.threshold_bytes + more).min(self.room().max(self.threshold_bytes));
    }

    /// Takes a sample of the round-trip time from data on a subflow: the age of the acknowledgment that it echoes.
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

    /// Adjusts the buffer after the application has read everything up to `received`: once in a round trip, it is
    /// made large enough for twice the amount that arrived, and for more while that amount grows.
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The simulator has no probes of a zero window, so no sequence of arrivals may close a window: whatever the
        /// settings that are accepted, and the sizes of segments, there is room as soon as all that was announced
        /// has been read, and the room for data that is out of order was announced before.
        #[test]
        fn a_window_never_closes(
            initial in 4096_u64..1 << 20,
            maximum in 0_u64..1 << 22,
            window in proptest::option::of(4096_u64..1 << 20),
            has_scaling: bool,
            arrivals in proptest::collection::vec((1_u64..20_000, any::<bool>()), 1..60),
        ) {
            let buffer = |initial, maximum| nettrial_scenario::Buffer {
                minimum: Size(4096),
                initial: Size(initial),
                maximum: Size(maximum),
            };
            let stack = Stack {
                receive_buffer: buffer(initial, maximum),
                send_buffer: buffer(16_384, 1 << 20),
                window_scaling: has_scaling,
                ..crate::transport::connection::tests::stack("reno")
            };
            let mut window = ReceiveWindow::new(&stack, window.map(Size), has_scaling, 1448);
            let mut received = 0;
            for (bytes, is_late) in arrivals {
                let room = window.announce(received, 0);
                prop_assert!(room > 0);
                // Either all of the window is held because the byte before it is late, or all of it is read.
                if is_late {
                    prop_assert!(window.announce(received, room - 1) > 0);
                }
                received += room.min(bytes).max(if is_late { room } else { 0 });
                window.segment_bytes = window.segment_bytes.max(bytes.min(65_483));
                window.adjust(received, Time::from_ms(received), 1448);
                window.measure(Some(Time::from_ms(received)), Time::from_ms(received + 1), 0, received);
            }
            prop_assert!(window.announce(received, 0) > 0);
        }
    }
}
