//! The thread that moves one direction's frames.

use super::fates::LineFates;
use super::hold::Hold;
use super::timekeeper::Timekeeper;
use super::traced::TracedTransmitter;
use super::transmitter::{Transmitter, wire_bytes};
use crate::error::{Context, Result};
use crate::packet_socket::{BATCH, OFFLOAD_HEADER_BYTES, Outlet, Ring};
use nettrial_links::{Delays, Fate};
use nettrial_scenario::Link;
use nix::poll::PollFlags;
use nix::sys::eventfd::{EfdFlags, EventFd};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// The number of frames taken from the ring before the thread checks again whether one is due.
const INTAKE: usize = 4 * BATCH;
/// The largest number of bytes of frames in flight: 10 Gbit/s for 200 ms.
const HOLD_BYTES: usize = 256 << 20;
/// The delay beyond its time, in nanoseconds, above which a frame counts as late.
pub const LATE_NS: u64 = 500_000;

/// The work of one direction since it was armed.
#[derive(Default)]
pub struct Tally {
    /// The number of frames handed to the far end, including copies.
    pub passed_pkts: AtomicU64,
    /// The number of frames that left more than [`LATE_NS`] late.
    pub late_pkts: AtomicU64,
    /// The number of frames that the line itself could not carry.
    pub lost_pkts: AtomicU64,
    /// The number of frames that were transmitted, and their bytes on the wire, since the line was started.
    pub sent_pkts: AtomicU64,
    pub wire_bytes: AtomicU64,
    /// The number of frames that the line's queue dropped since it was started.
    pub drops_pkts: AtomicU64,
}

/// The transmitter of one direction of a link.
pub enum Sender {
    /// One of a constant rate, or of none, behind a shaper.
    Steady(Transmitter),
    /// One that follows a trace, with the link's queue.
    Traced(Box<TracedTransmitter>),
}

impl Sender {
    /// Transmits a frame, which follows an offload header and arrived at `arrived_ns`; a trace begins at `begins_ns`.
    /// Returns the time of its last bit; `None` if the frame is dropped.
    fn transmit(&mut self, begins_ns: u64, arrived_ns: u64, frame: &[u8]) -> Option<u64> {
        match self {
            Self::Steady(transmitter) => Some(transmitter.transmit(arrived_ns, frame)),
            Self::Traced(transmitter) => transmitter.transmit(begins_ns, arrived_ns, frame),
        }
    }

    /// Returns whether a frame takes time.
    fn takes_time(&self) -> bool {
        !matches!(self, Self::Steady(Transmitter { rate: None, .. }))
    }
}

/// The propagation delay of a link.
pub enum Delay {
    /// One that is constant, in nanoseconds.
    Constant(u64),
    /// One that follows a trace.
    Traced(Delays),
}

impl Delay {
    /// Returns the delay of `link`.
    pub fn new(link: &Link) -> Self {
        match &link.delay_trace {
            Some(trace) => Self::Traced(Delays::new(trace)),
            None => Self::Constant(link.delay.0),
        }
    }

    /// Returns the delay of a frame whose last bit leaves at `sent_ns`, in nanoseconds; a trace begins at `begins_ns`, and
    /// its first delay applies until then.
    fn of_ns(&self, begins_ns: u64, sent_ns: u64) -> u64 {
        match self {
            Self::Constant(delay_ns) => *delay_ns,
            Self::Traced(delays) => delays.at_ns(sent_ns.saturating_sub(begins_ns)),
        }
    }
}

/// One direction of a link: frames enter at one end, and leave at the other.
pub struct Worker {
    pub ring: Ring,
    pub outlet: Outlet,
    pub transmitter: Sender,
    pub delay: Delay,
    pub reordering_delay_ns: u64,
    pub fates: LineFates,
    pub time: Timekeeper,
    pub switch: Arc<Switch>,
    pub tally: Arc<Tally>,
}

/// The switches that control a line's workers.
pub struct Switch {
    /// True while frames are impaired and counted.
    pub armed: AtomicBool,
    /// True while the link is cut, so that frames that arrive or are in flight are lost.
    pub cut: AtomicBool,
    /// The time of the monotonic clock at which the traces of the link begin, in nanoseconds; `u64::MAX` until it is
    /// known.
    pub trace_begins_ns: AtomicU64,
    /// True once the workers should end.
    pub stopped: AtomicBool,
    /// The descriptor that is written to wake the workers.
    pub wake: EventFd,
}

impl Switch {
    /// Creates a switch that is neither armed nor stopped.
    pub fn new() -> Result<Self> {
        let wake = EventFd::from_flags(EfdFlags::EFD_CLOEXEC).context("creating an event descriptor")?;
        let off = || AtomicBool::new(false);
        Ok(Self { armed: off(), cut: off(), trace_begins_ns: AtomicU64::new(u64::MAX), stopped: off(), wake })
    }

    /// Lets the workers impair and count frames.
    pub fn arm(&self) {
        self.armed.store(true, Relaxed);
    }

    /// Lets the traces of the link begin.
    pub fn begin_trace(&self, begins_ns: u64) {
        self.trace_begins_ns.store(begins_ns, Relaxed);
    }

    /// Lets the workers lose every frame, or ends that.
    pub fn cut(&self, cut: bool) {
        self.cut.store(cut, Relaxed);
    }

    /// Lets the workers end.
    pub fn stop(&self) {
        self.stopped.store(true, Relaxed);
        self.call();
    }

    /// Wakes the workers.
    pub fn call(&self) {
        // The write can't fail with a counter this small.
        let _ = self.wake.write(1);
    }
}

/// The state that a worker keeps from one round to the next.
#[derive(Default)]
struct State {
    hold: Hold,
    /// The time up to which all frames that had arrived were taken.
    taken_ns: u64,
    batch: Vec<(u64, Vec<u8>)>,
}

impl Worker {
    /// Moves frames until the line is stopped.
    pub fn run(mut self) {
        let mut state = State::default();
        while !self.switch.stopped.load(Relaxed) {
            self.take(&mut state);
            self.send_due(&mut state);
            self.rest(&state);
        }
    }

    /// Moves the frames that have arrived into the hold.
    fn take(&mut self, state: &mut State) {
        if self.ring.peek().is_none() {
            state.taken_ns = self.time.now_ns();
            return;
        }
        let (begin, offset) = (self.time.now_ns(), self.time.wall_offset_ns());
        let (armed, cut) = (self.switch.armed.load(Relaxed), self.switch.cut.load(Relaxed));
        let trace_begins_ns = self.switch.trace_begins_ns.load(Relaxed);
        for taken in 0..=INTAKE {
            let Some(slot) = self.ring.peek() else {
                state.taken_ns = begin;
                break;
            };
            if taken == INTAKE {
                break;
            }
            let arrived = slot.arrived_unix_ns.saturating_sub(offset);
            let arrived = self.time.arrival_ns(arrived, state.taken_ns);
            // Frames that are lost on the link have been transmitted, too.
            let Some(sent) = self.transmitter.transmit(trace_begins_ns, arrived, slot.bytes) else {
                self.tally.drops_pkts.fetch_add(1, Relaxed);
                self.ring.release();
                continue;
            };
            self.tally.sent_pkts.fetch_add(1, Relaxed);
            self.tally.wire_bytes.fetch_add(wire_bytes(slot.bytes), Relaxed);
            let mut fate = Fate::default();
            // Frames to a group come from the kernel itself (neighbour discovery, MLD). They arrive at any time,
            // and would shift the fates of all later frames.
            if armed && !is_to_a_group(slot.bytes) {
                fate = self.fates.next(has_udp(slot.bytes));
            }
            if cut {
                // The frame is lost, as on a cut cable.
            } else if !slot.whole || state.hold.bytes() > HOLD_BYTES {
                self.tally.lost_pkts.fetch_add(1, Relaxed);
            } else if !fate.is_lost {
                let due = sent + self.delay.of_ns(trace_begins_ns, sent) + fate.jitter_ps / 1000;
                for _ in 0..=u8::from(fate.is_duplicated) {
                    if fate.is_held_back {
                        state.hold.push_held_back(due + self.reordering_delay_ns, slot.bytes);
                    } else {
                        state.hold.push(due, slot.bytes);
                    }
                }
            }
            self.ring.release();
        }
    }

    /// Sends the frames that are due, a batch at a time.
    fn send_due(&mut self, state: &mut State) {
        loop {
            let now = self.time.now_ns();
            let State { hold, batch, .. } = state;
            batch.extend(std::iter::from_fn(|| hold.pop(now)).take(BATCH));
            if batch.is_empty() {
                return;
            }
            if self.switch.cut.load(Relaxed) {
                self.outlet.forget_error();
                batch.drain(..).for_each(|(_, frame)| hold.recycle(frame));
                continue;
            }
            let refused = self.outlet.send(batch.iter().map(|(_, frame)| frame.as_slice()));
            let sent = self.time.now_ns();
            if self.switch.armed.load(Relaxed) {
                let late = batch.iter().filter(|(due, _)| sent > due + LATE_NS).count();
                self.tally.late_pkts.fetch_add(late as u64, Relaxed);
                self.tally.lost_pkts.fetch_add(refused, Relaxed);
                self.tally.passed_pkts.fetch_add(batch.len() as u64 - refused, Relaxed);
            }
            batch.drain(..).for_each(|(_, frame)| hold.recycle(frame));
        }
    }

    /// Sleeps until shortly before the next frame is due, or until one arrives if none is in flight.
    fn rest(&mut self, state: &State) {
        let due_ns = state.hold.next_due_ns();
        // A frame that arrives may be due before those that are held back, but not before others.
        let awaits_frames = due_ns.is_none() || state.hold.is_held_back_only();
        let ends = [self.ring.as_fd(), self.switch.wake.as_fd()];
        let ends = if awaits_frames { &ends[..] } else { &ends[1..] };
        let events = self.time.wait(due_ns, self.transmitter.takes_time(), ends);
        if awaits_frames && events.first().is_some_and(|events| events.contains(PollFlags::POLLERR)) {
            self.ring.forget_error();
        }
    }
}

/// Returns true if a frame, which follows an offload header, is to a group of stations (IEEE 802: the first byte
/// is odd).
pub fn is_to_a_group(bytes: &[u8]) -> bool {
    bytes.get(OFFLOAD_HEADER_BYTES).is_some_and(|first| first & 1 == 1)
}

/// Returns true if a frame, which follows an offload header, carries UDP over IPv4 or IPv6.
fn has_udp(bytes: &[u8]) -> bool {
    const UDP: u8 = 17;
    match bytes.get(OFFLOAD_HEADER_BYTES..) {
        Some([_, _, _, _, _, _, _, _, _, _, _, _, 0x08, 0x00, packet @ ..]) => packet.get(9) == Some(&UDP),
        Some([_, _, _, _, _, _, _, _, _, _, _, _, 0x86, 0xdd, packet @ ..]) => packet.get(6) == Some(&UDP),
        _ => false,
    }
}
