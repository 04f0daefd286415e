//! The receive window and its automatic sizing (tcp_rcv_space_adjust, tcp_grow_window, tcp_select_window of Linux 6.12).
//! The buffer holds only out-of-order data, because the application reads immediately. The size of a buffer counts
//! the memory of segments, that of a window their payload: half of the buffer until data arrives
//! (TCP_DEFAULT_SCALING_RATIO), then the share of payload in a segment's memory (tcp_measure_rcv_mss), which is larger
//! for larger segments. The memory that a driver adds to a segment varies; here it is that of a segment that passed
//! virtual cables, as its sender allocated it. With MPTCP, each subflow measures round-trip times, and the window is
//! common to all.

use crate::{Packet, Time};
use nettrial_scenario::{Size, Stack};

/// The largest window without scaling, and the largest scaling shift (RFC 7323 section 2.2).
const UNSCALED: u64 = 65_535;
const LARGEST_SHIFT: u32 = 14;
/// The default of net.core.rmem_max, the buffer for which a window's scale has room.
const SETTABLE_BYTES: u64 = 212_992;
/// The memory of a segment in addition to its payload: SKB_TRUESIZE of the small head that tcp_stream_alloc_skb allocates
/// (net/ipv4/tcp.c), with 320 bytes for headers, and 256 and 320 for the kernel's own structures. The headers are those of
/// GRO_MAX_HEAD_PAD (net/core/skbuff.c), 274 bytes in a kernel with tunnels, rounded up to lines of the cache. In kernels
/// that are configured for radios or Hyper-V, too, headers have 384.
pub(crate) const SEGMENT_BYTES: u32 = 896;
/// The memory of a segment in addition to its payload.
const OVERHEAD_BYTES: u64 = SEGMENT_BYTES as u64;
/// The share of windows in buffers, in 256ths (TCP_RMEM_TO_WIN_SCALE), until data arrives.
const DEFAULT_SHARE: u64 = 128;
/// The number of segments of the initial window (TCP_INIT_CWND).
const INITIAL_SEGMENTS: u64 = 10;
/// Linux's first guess of the other side's segment size (TCP_MSS_DEFAULT).
const GUESSED_SEGMENT: u64 = 536;

/// The segment sizes from which a receive window is computed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Segments {
    /// The size that the side announced, in which options count as payload.
    pub(crate) announced_bytes: u64,
    /// The same without timestamps, once the connection is open (advmss).
    pub(crate) open_bytes: u64,
    /// The size to whose multiple the first window is rounded down.
    pub(crate) quantum_bytes: u64,
}

/// The receive window of a side. Offsets count bytes of its data.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct ReceiveWindow {
    pub(super) buffer_bytes: u64,
    maximum_bytes: u64,
    /// The upper limit of the announced window (window_clamp).
    most_bytes: u64,
    /// The limit of `socket.window`, which the application sets again once a connection is open (tcp_set_window_clamp).
    limit_bytes: u64,
    /// The size of the other side's segments as observed (rcv_mss), and that announced to it without timestamps (advmss).
    pub(super) segment_bytes: u64,
    open_bytes: u64,
    /// The share of windows in buffers, in 256ths (scaling_ratio).
    share: u64,
    /// The number of bits by which windows are scaled; `None` without window scaling.
    shift: Option<u32>,
    /// The number of bytes that may be announced until more data has arrived (rcv_ssthresh).
    pub(crate) threshold_bytes: u64,
    /// The window as last announced (rcv_wnd).
    window_bytes: u64,
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

/// Returns the number of bits by which a host with that stack scales its windows, if both hosts use scaling
/// (tcp_select_initial_window). `window` limits the windows.
pub(crate) fn window_shift(stack: &Stack, window: Option<Size>) -> u32 {
    let largest = window.map_or_else(|| maximum_bytes(stack).max(SETTABLE_BYTES), |window| window.0);
    largest.checked_ilog2().unwrap_or(0).saturating_sub(15).min(LARGEST_SHIFT)
}

impl ReceiveWindow {
    /// Creates the window of a host with that stack; `has_scaling` is true if both hosts use window scaling.
    /// `window` is the size set by a socket option, if any, beyond which the buffer does not grow.
    pub(crate) fn new(stack: &Stack, window: Option<Size>, has_scaling: bool, segments: Segments) -> Self {
        let Segments { open_bytes, quantum_bytes, .. } = segments;
        let shift = window_shift(stack, window);
        let (buffer_bytes, maximum_bytes) = match window {
            Some(window) => (buffer_of(window.0), buffer_of(window.0)),
            None => (stack.receive_buffer.initial.0, maximum_bytes(stack)),
        };
        let room = buffer_bytes / 2;
        let first = if room > quantum_bytes { room - room % quantum_bytes } else { room };
        // One segment is kept back (tcp_init_buffer_space).
        let most_bytes = room.saturating_sub(open_bytes).max(2 * open_bytes).min(room);
        let threshold_bytes = first.min(most_bytes);
        Self {
            buffer_bytes,
            maximum_bytes,
            most_bytes,
            limit_bytes: window.map_or(u64::MAX, |window| window.0),
            segment_bytes: GUESSED_SEGMENT.min(open_bytes).min(first / 2),
            open_bytes,
            share: DEFAULT_SHARE,
            shift: has_scaling.then_some(shift),
            threshold_bytes,
            window_bytes: first,
            edge: 0,
            arrived_bytes: threshold_bytes.min(first).min(INITIAL_SEGMENTS * open_bytes),
            began_at: Time::ZERO,
            began: 0,
            round_trips: [Time::ZERO; 8],
            last_echo: [Time::NEVER; 8],
            window_began_at: Time::ZERO,
            window_ends: 0,
        }
    }

    /// Returns the window of a SYN or its answer, which is never scaled.
    pub(crate) fn announce_first(&mut self) -> u64 {
        self.edge = self.edge.max(self.window_bytes);
        self.window_bytes.min(UNSCALED)
    }

    /// Begins to measure what arrives, once the connection is open (tcp_init_buffer_space). Then the application sets the
    /// limit of its window again (tcp_set_window_clamp).
    pub(crate) fn begin(&mut self, now: Time) {
        self.began_at = now;
        if (self.most_bytes + 1..u64::MAX).contains(&self.limit_bytes) {
            self.most_bytes = self.limit_bytes;
            self.threshold_bytes = self.threshold_bytes.max(self.window_bytes.min(self.limit_bytes));
        }
    }

    /// Returns the window for which that much memory has room (tcp_win_from_space).
    fn window_of(&self, memory_bytes: u64) -> u64 {
        memory_bytes * self.share / 256
    }

    /// Returns the payload for which the buffer has room.
    fn room(&self) -> u64 {
        self.window_of(self.buffer_bytes)
    }

    /// Returns the size of a buffer with room for that much payload (tcp_space_from_win).
    fn buffer_for(&self, window_bytes: u64) -> u64 {
        window_bytes.saturating_mul(256) / self.share.max(1)
    }

    /// Returns the window to announce; `received` is the next offset expected, and `held` the amount of
    /// out-of-order data (tcp_select_window).
    pub(crate) fn announce(&mut self, received: u64, held: u64) -> u64 {
        let free = self.window_of(self.buffer_bytes.saturating_sub(held)).min(self.threshold_bytes);
        let left = self.edge.saturating_sub(received);
        let unit = 1 << self.shift.unwrap_or(0);
        let new = if unit > 1 { free.next_multiple_of(unit) } else { self.in_segments(free) };
        let window = if new < left { left.next_multiple_of(unit) } else { new };
        let window = window.min(UNSCALED * unit);
        self.window_bytes = window;
        self.edge = self.edge.max(received + window);
        window
    }

    /// Returns a window that is not scaled: it stays what it is until there is room for another segment, and is then a
    /// whole number of segments.
    fn in_segments(&self, free: u64) -> u64 {
        let (window, segment) = (self.window_bytes, self.segment_bytes.min(self.room()).max(1));
        if window + segment <= free || window > free { free - free % segment } else { window }
    }

    /// Returns the part of the last announced window that remains.
    pub(crate) fn announced(&self, received: u64) -> u64 {
        self.edge.saturating_sub(received)
    }

    /// Notes a packet of data, in order or not: the size of the other side's segments determines the share of windows
    /// in buffers (tcp_measure_rcv_mss).
    pub(crate) fn note_segment(&mut self, payload_bytes: u32) {
        let bytes = u64::from(payload_bytes);
        if bytes > self.segment_bytes {
            let share = (bytes * 256 / (bytes + OVERHEAD_BYTES)).max(1);
            if share != self.share {
                self.share = share;
                self.most_bytes = self.room().min(self.limit_bytes);
                self.arrived_bytes = self.arrived_bytes.min(self.most_bytes);
            }
            self.segment_bytes = bytes.min(self.open_bytes);
        }
    }

    /// Increases the window that may be announced, after a packet's data has arrived in order (tcp_grow_window): up to
    /// what has room beside the packet, which nobody has read yet, and the `held` bytes out of order. Returns whether
    /// it did.
    pub(crate) fn grow(&mut self, packet: &Packet, held: u64) -> bool {
        let bytes = u64::from(packet.segment());
        let memory = bytes + OVERHEAD_BYTES;
        let segments = u64::from(packet.payload_bytes).div_ceil(bytes.max(1));
        let taken = u64::from(packet.payload_bytes) + segments * OVERHEAD_BYTES + held;
        let most = self.most_bytes.min(self.window_of(self.buffer_bytes.saturating_sub(taken)));
        if self.threshold_bytes >= most {
            return false;
        }
        let more =
            if self.window_of(memory) <= bytes { 2 * self.open_bytes } else { self.more_for(memory, bytes) };
        if more > 0 {
            let more = more.max(2 * u64::from(packet.payload_bytes));
            self.threshold_bytes = (self.threshold_bytes + more).min(most);
        }
        more > 0
    }

    /// Returns the increase for a segment with a smaller share of payload than others (__tcp_grow_window).
    fn more_for(&self, memory_bytes: u64, payload_bytes: u64) -> u64 {
        let mut needed = self.window_of(memory_bytes) / 2;
        let mut window = self.window_of(self.maximum_bytes) / 2;
        while self.threshold_bytes <= window {
            if needed <= payload_bytes {
                return 2 * self.segment_bytes;
            }
            (needed, window) = (needed / 2, window / 2);
        }
        0
    }

    /// Takes samples of the round-trip time from a packet of data on a subflow: the age of the acknowledgment that it
    /// echoes, which timestamps tell in milliseconds (tcp_rcv_rtt_measure_ts), and for TCP the time in which a window of
    /// data arrived (tcp_rcv_rtt_measure).
    pub(crate) fn measure(&mut self, packet: &Packet, now: Time, subflow: Option<usize>, received: u64) {
        let index = subflow.unwrap_or(0).min(7);
        let echo = packet.echo;
        let is_new = echo != Time::NEVER && self.last_echo[index].as_timestamp() != echo.as_timestamp();
        if is_new {
            self.last_echo[index] = echo;
            let sample = now.as_timestamp().saturating_sub(echo.as_timestamp());
            if sample > 0 && u64::from(packet.segment()) >= self.segment_bytes {
                let sample = Time::from_ms(sample);
                let smoothed = &mut self.round_trips[index];
                let is_first = *smoothed == Time::ZERO || sample < *smoothed;
                *smoothed = if is_first { sample } else { Time(smoothed.0 - smoothed.0 / 8 + sample.0 / 8) };
            }
        }
        if subflow.is_none() || echo == Time::NEVER {
            self.measure_by_window(now, received);
        }
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
        self.window_ends = received + self.window_bytes;
        self.window_began_at = now;
    }

    /// Adjusts the buffer after the application has read everything up to `received`: once in a round trip, it is
    /// made large enough for twice the amount that arrived, and for more while that amount grows.
    pub(crate) fn adjust(&mut self, received: u64, now: Time) {
        let round_trip = self.round_trips.iter().copied().max().unwrap_or(Time::ZERO);
        if round_trip == Time::ZERO || now.since(self.began_at) < round_trip {
            return;
        }
        let arrived = received - self.began;
        if arrived > self.arrived_bytes {
            let window = 2 * arrived + 16 * self.open_bytes;
            let growth = u128::from(window) * u128::from(arrived - self.arrived_bytes);
            let growth = (growth / u128::from(self.arrived_bytes.max(1))) as u64;
            let buffer = self.buffer_for(window + 2 * growth).min(self.maximum_bytes);
            if buffer > self.buffer_bytes {
                self.buffer_bytes = buffer;
                self.most_bytes = self.room().min(self.limit_bytes);
            }
            self.arrived_bytes = arrived;
        }
        self.began_at = now;
        self.began = received;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Codepoint, Endpoint, Flags, PathId, SackBlocks};
    use proptest::prelude::*;

    const SEGMENTS: Segments = Segments { announced_bytes: 1460, open_bytes: 1448, quantum_bytes: 1448 };

    fn window(limit: Option<u64>, has_scaling: bool) -> ReceiveWindow {
        let stack = crate::transport::connection::tests::stack("reno");
        ReceiveWindow::new(&stack, limit.map(Size), has_scaling, SEGMENTS)
    }

    /// Returns a full segment that echoes an acknowledgment of that time.
    fn segment(echo: Time) -> Packet {
        Packet {
            path: PathId(0),
            segment_bytes: 0,
            ecn: Codepoint::NotCapable,
            flags: Flags::ACK,
            ip_bytes: 1500,
            payload_bytes: 1448,
            to: Endpoint { connection: 0, side: 1, subflow: 0 },
            sequence: 1,
            ack: 1,
            window_bytes: 65_535,
            timestamp: echo,
            echo,
            sack: SackBlocks::default(),
            data_sequence: 0,
            data_ack: u64::MAX,
        }
    }

    /// Half of the buffer, rounded down to segments. For 32 KiB, a capture of Linux 6.12 has 31,856 bytes.
    #[test]
    fn the_first_window_is_a_whole_number_of_segments() {
        assert_eq!(window(None, true).announce_first(), 45 * 1448);
        assert_eq!(window(Some(32_768), true).announce_first(), 31_856);
    }

    /// A segment takes 2344 bytes of memory, so that a window has 158 of 256 parts of its buffer. From one segment less than
    /// half of the buffer, it reaches this, but for the memory of one segment, with two segments for each that arrives. A
    /// capture of Linux 6.12 has the same windows.
    #[test]
    fn a_window_grows_to_the_share_of_payload_in_the_buffer() {
        let mut window = window(None, true);
        window.announce_first();
        let full = segment(Time::NEVER);
        window.note_segment(1448);
        let grown: Vec<u64> =
            (0..7).map(|_| (window.grow(&full, 0), window.announce(1 << 20, 0)).1).collect();
        assert_eq!(grown, [67_072, 69_888, 72_832, 75_776, 78_592, 79_488, 79_488]);
        let room: u64 = 131_072 * 158 / 256;
        // Data out of order takes a part of the buffer.
        assert_eq!(window.announce(2 << 20, 65_536), room / 2);
    }

    /// Without scaling, a window changes by whole segments (__tcp_select_window).
    #[test]
    fn a_window_without_scaling_changes_by_segments() {
        let mut window = window(Some(32_768), false);
        assert_eq!(window.announce_first(), 22 * 1448);
        window.note_segment(1448);
        // One segment is kept back at first.
        assert_eq!(window.announce(1448, 0), 21 * 1448);
        while window.grow(&segment(Time::NEVER), 0) {}
        assert_eq!(window.announce(2 * 1448, 0), 22 * 1448);
        // 32,768 bytes are less than another segment more.
        assert_eq!(window.announce(3 * 1448, 0), 22 * 1448);
    }

    /// Timestamps tell whole milliseconds: a shorter round-trip time is no sample (tcp_rcv_rtt_measure_ts).
    #[test]
    fn a_receiver_measures_round_trips_in_milliseconds() {
        let mut window = window(None, true);
        window.note_segment(1448);
        for (sent_us, arrived_us, expected_ms) in [(5100, 5900, 0), (6900, 9100, 3), (12_000, 13_999, 1)] {
            window.measure(&segment(Time::from_us(sent_us)), Time::from_us(arrived_us), Some(0), 0);
            assert_eq!(window.round_trips[0], Time::from_ms(expected_ms), "{sent_us}");
        }
    }

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
            let mut window = ReceiveWindow::new(&stack, window.map(Size), has_scaling, SEGMENTS);
            let mut received = 0;
            for (bytes, is_late) in arrivals {
                let room = window.announce(received, 0);
                prop_assert!(room > 0);
                // Either all of the window is held because the byte before it is late, or all of it is read.
                if is_late {
                    prop_assert!(window.announce(received, room - 1) > 0);
                }
                received += room.min(bytes).max(if is_late { room } else { 0 });
                window.note_segment(bytes as u32);
                window.adjust(received, Time::from_ms(received));
                window.measure_by_window(Time::from_ms(received + 1), received);
            }
            prop_assert!(window.announce(received, 0) > 0);
        }
    }
}
