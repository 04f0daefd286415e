//! Delay, jitter, loss, duplication and reordering on a link, in user space.
//!
//! ```text
//! A ─ shaper, queue ─ veth ─> near │ ring ─> fate ─> hold ─> outlet │ far ─ veth ─> B     and back
//!     the node's own                 a namespace of the lines' own
//! ```
//!
//! A link with any of these consists of two veth pairs, and a thread for each direction moves the frames between
//! them unchanged, including their addresses, checksums that are still to be computed, and GSO packets that are
//! still to be segmented. Its rate and queue are at A's and B's own interfaces, before the line. The line is used
//! everywhere, even if the kernel has netem, because it behaves the same on every machine, without a module and
//! without root, and the same frame has the same fate in every run.
//!
//! The line is also the wire: if the link has a rate of up to 100 Mbit/s, frames are transmitted one after the
//! other, each for its bits divided by that rate (`transmitter`). A frame leaves when its last bit has been sent,
//! plus the delay and the additional time of its fate; arrival times are the kernel's time stamps. The thread
//! sleeps until shortly before that time and then watches the clock, at such rates for at most an eighth of the
//! time. Frames that leave late, or that the line itself could not carry, are counted and reported in a warning of
//! the record.
//!
//! On a virtual machine with two CPUs, frames every 15 us left 1.7 us (median), 16 us (99%) and 60 us (99.9%)
//! later than set; a transfer reached 3.1 Gbit/s in frames of 1500 bytes (270,000 per second), 6.3 Gbit/s in
//! frames of 9000 bytes and 8 to 10 Gbit/s in GSO packets, on links without a rate. If a line shares a CPU with
//! hosts that use most of it, frames leave late, and the record reports that.
//!
//! If the rate of a link follows a trace, its line has its queue, too, and transmits at any rate (`traced`). If its delay
//! follows one, a frame takes the delay that is in force when it has been transmitted, and leaves together with the frame
//! before it where that one leaves later.
//!
//! The delay is always in force. Loss and the other impairments begin when the line is armed, which is when the
//! traffic starts, so that the checks before it see the path and not chance. Frames are numbered from then on.

mod fates;
mod hold;
#[cfg(test)]
mod tests;
mod timekeeper;
mod traced;
mod transmitter;
mod worker;

use crate::affinity;
use crate::clock::Clock;
use crate::error::{Context, Result};
use crate::packet_socket::{Intake, Outlet, Ring, overflow};
use crate::queue::{Counters, Shaper};
use fates::LineFates;
use nettrial_links::Trace;
use nettrial_scenario::{DelayTrace, Link, Rate, RateTrace, Scenario, Transport};
use nix::sys::prctl;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::JoinHandle;
use timekeeper::Timekeeper;
pub use timekeeper::{EARLY_NS, monotonic_ns, wall_offset_ns};
use traced::TracedTransmitter;
use transmitter::Transmitter;
#[cfg(fuzzing)]
pub use transmitter::fuzz;
use worker::{Delay, Sender, Tally, Worker};
pub use worker::{LATE_NS, Switch, is_to_a_group};

/// The least and the largest size of a ring, in bytes.
const RING_BYTES: std::ops::RangeInclusive<u64> = (2 << 20)..=(16 << 20);
/// The time for which a ring holds the frames of a link, in nanoseconds, between these bounds.
const RING_NS: u64 = 40_000_000;

/// A link's delay line, which moves frames as long as this value lives.
pub struct DelayLine {
    /// The link in words, which are the names of its two nodes.
    pub link: String,
    switch: Arc<Switch>,
    directions: Vec<Direction>,
}

/// One direction of a delay line: its counters, its ring and its thread.
struct Direction {
    is_queue: bool,
    tally: Arc<Tally>,
    ring: OwnedFd,
    thread: Option<JoinHandle<()>>,
}

/// The work of a line since it was armed, in both directions together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Carried {
    /// The number of frames handed to the far end, including copies.
    pub passed_pkts: u64,
    /// The number of frames among them that left more than [`LATE_NS`] late.
    pub late_pkts: u64,
    /// The number of frames that the line itself could not carry.
    pub lost_pkts: u64,
}

/// The highest rate at which a line transmits frames one after the other. At 1 Gbit/s, with a frame every few
/// microseconds, that took so much CPU time that the goodput of transfers was lower by a third.
const FASTEST_SENT: Rate = Rate(100_000_000);

/// Returns the rate at which the line of `link`, in one direction, transmits frames one after the other; `None` if it passes them on
/// at once. In virtual time the link's shaper transmits them.
pub fn sending_rate(link: &Link, clock: Clock) -> Option<Rate> {
    link.rate.filter(|rate| clock == Clock::Real && rate.0 <= FASTEST_SENT.0)
}

/// The settings of a delay line.
pub struct Settings<'a> {
    /// The link, a cable.
    pub link: &'a Link,
    /// The number of the link's first interface in the scenario.
    pub first: usize,
    /// The indexes of the two interfaces between which the line moves frames.
    pub indexes: [i32; 2],
    /// The size of the largest frame, in bytes.
    pub largest_frame: usize,
    /// The longest time, in nanoseconds, that a frame from each end waits for those before it.
    pub longest_waits_ns: [u64; 2],
    /// The CPU of the line's threads.
    pub processor: usize,
    /// The clock by which frames are due.
    pub clock: Clock,
    /// True if the fates of frames with UDP do not depend on other frames ([`separates_udp`]).
    pub separates_udp: bool,
}

/// Returns true if link number `number` of `scenario` needs a delay line. In virtual time, the shaper of a link that has a
/// rate delays its frames, too.
pub fn is_needed(scenario: &Scenario, number: usize, clock: Clock) -> bool {
    let link = &scenario.links[number];
    let has_line = |direction: &Link| {
        let is_delayed =
            direction.largest_delay().0 > 0 && (clock == Clock::Real || direction.rate.is_none());
        is_delayed || is_queue(direction, clock) || !direction.impairment.is_none()
    };
    link.directions().any(|direction| has_line(&direction))
        || scenario.events.iter().any(|outage| outage.cuts(link))
}

/// Returns true if the queue of `link`, in one direction, is in its delay line: its rate follows a trace, as no shaper of an
/// ordinary kernel does.
pub fn is_queue(link: &Link, clock: Clock) -> bool {
    clock == Clock::Real && link.rate_trace.is_some()
}

/// Returns true if any link of `scenario` needs a delay line.
pub fn is_needed_by_any(scenario: &Scenario, clock: Clock) -> bool {
    (0..scenario.links.len()).any(|number| is_needed(scenario, number, clock))
}

/// Returns the shaper of link number `number` of `scenario` at its interface `end`, whose direction has a rate. A wire has
/// the highest rate, and the first delay, of a trace until the trace begins.
pub fn shaper(scenario: &Scenario, number: usize, end: usize, clock: Clock) -> Shaper {
    let link = scenario.links[number].from_end(end);
    let (Clock::Virtual, Some(rate)) = (clock, link.rate) else { return Shaper::Buckets };
    let delay = link.delay_trace.as_ref().map_or(link.delay, DelayTrace::first);
    let delay_ns = if is_needed(scenario, number, clock) { 0 } else { delay.0 };
    Shaper::Wire { rate: link.rate_trace.as_ref().map_or(rate, RateTrace::highest), delay_ns }
}

impl DelayLine {
    /// Starts a line between two interfaces of the calling thread's namespace.
    ///
    /// # Errors
    /// Fails if the kernel gives no packet sockets or threads.
    pub fn start(settings: Settings) -> Result<Self> {
        let Settings { link, first, indexes, largest_frame, longest_waits_ns, processor, clock, .. } =
            settings;
        let [near, far] = indexes;
        let switch = Arc::new(Switch::new()?);
        let mut line = Self { link: link.in_words(), switch, directions: Vec::new() };
        let directions = [(near, far), (far, near)].into_iter().zip(longest_waits_ns);
        for (end, ((from, to), longest_wait_ns)) in directions.enumerate() {
            let link = link.from_end(end);
            let fastest = link.rate_trace.as_ref().map(RateTrace::highest).or(link.rate);
            let slots = slots(fastest, largest_frame);
            let worker = Worker {
                ring: Ring::open(from, Intake::Arriving, largest_frame, slots)?,
                outlet: Outlet::open(to)?,
                transmitter: sender(&link, clock, longest_wait_ns),
                delay: Delay::new(&link),
                reordering_delay_ns: link.impairment.reordering_delay.0,
                fates: LineFates::new(&link, first + end, settings.separates_udp),
                time: match clock {
                    Clock::Real => Timekeeper::of_machine(),
                    Clock::Virtual => Timekeeper::of_virtual_time()?,
                },
                switch: line.switch.clone(),
                tally: Arc::default(),
            };
            let (tally, ring) = (worker.tally.clone(), worker.ring.socket()?);
            let thread = std::thread::Builder::new().name("delay line".into()).spawn(move || {
                prepare_thread(processor);
                worker.run();
            });
            let thread = Some(thread.context("starting a thread for a delay line")?);
            line.directions.push(Direction { is_queue: is_queue(&link, clock), tally, ring, thread });
        }
        Ok(line)
    }

    /// Returns the switch of the line's threads.
    pub fn switch(&self) -> Arc<Switch> {
        self.switch.clone()
    }

    /// Returns what the queue of each direction that is in the line has passed and dropped since the line was started,
    /// with the number of the end from which its frames come.
    pub fn counters(&self) -> Vec<(usize, Counters)> {
        let read = |tally: &Tally| Counters {
            wire_bytes: tally.wire_bytes.load(Relaxed),
            packets: tally.sent_pkts.load(Relaxed),
            drops: tally.drops_pkts.load(Relaxed),
        };
        let queues = self.directions.iter().enumerate().filter(|(_, direction)| direction.is_queue);
        queues.map(|(end, direction)| (end, read(&direction.tally))).collect()
    }

    /// Begins with loss and the other impairments, and with counting.
    pub fn arm(&self) -> Result<()> {
        for direction in &self.directions {
            // The count so far is discarded.
            overflow(&direction.ring)?;
        }
        self.switch.arm();
        Ok(())
    }

    /// Returns the work of the line since it was armed. It must be called only once.
    pub fn carried(&self) -> Result<Carried> {
        let mut sum = Carried::default();
        for Direction { tally, ring, .. } in &self.directions {
            sum.passed_pkts += tally.passed_pkts.load(Relaxed);
            sum.late_pkts += tally.late_pkts.load(Relaxed);
            sum.lost_pkts += tally.lost_pkts.load(Relaxed) + overflow(ring)?;
        }
        Ok(sum)
    }
}

impl Drop for DelayLine {
    fn drop(&mut self) {
        self.switch.stop();
        for thread in self.directions.iter_mut().filter_map(|direction| direction.thread.take()) {
            // A thread that panicked has reported so on standard error.
            let _ = thread.join();
        }
    }
}

/// Returns whether the frames with UDP of `scenario` have fates of their own, and not those of all frames of their
/// direction, as in the simulator. If all flows are UDP's, the simulator has no other frames, and the agents' messages over
/// TCP must not shift the fates of datagrams. If only some are, all frames of a direction have fates in their order; but
/// in real time that order depends on timers, and would differ from run to run.
pub fn separates_udp(scenario: &Scenario, clock: Clock) -> bool {
    let mut are_udp = scenario.workload.iter().map(|flow| flow.transport == Transport::Udp);
    match clock {
        Clock::Real => are_udp.any(|is_udp| is_udp),
        Clock::Virtual => are_udp.all(|is_udp| is_udp),
    }
}

/// Returns the transmitter of one direction, whose settings are those of `link`.
fn sender(link: &Link, clock: Clock, longest_wait_ns: u64) -> Sender {
    match (&link.rate_trace, link.queue) {
        (Some(trace), Some(limit)) if is_queue(link, clock) => {
            let before = Transmitter::new(Some(trace.highest()), longest_wait_ns);
            Sender::Traced(Box::new(TracedTransmitter::new(Trace::new(trace), limit, before)))
        }
        _ => Sender::Steady(Transmitter::new(sending_rate(link, clock), longest_wait_ns)),
    }
}

fn slots(rate: Option<Rate>, largest_frame: usize) -> usize {
    let wanted = rate.map_or(u64::MAX, |rate| (rate.0 / 8).saturating_mul(RING_NS / 1_000_000) / 1000);
    let bytes = wanted.clamp(*RING_BYTES.start(), *RING_BYTES.end());
    usize::try_from(bytes).unwrap_or(usize::MAX) / largest_frame
}

/// Makes the calling thread as punctual as possible. If the privileges allow, it gets priority over all ordinary
/// threads, because a wire waits for nothing.
pub fn prepare_thread(processor: usize) {
    affinity::keep_to(processor);
    // This is the least slack of the thread's timers (PR_SET_TIMERSLACK(2const)); the default is 50 us.
    let _ = prctl::set_timerslack(1);
    let parameters = libc::sched_param { sched_priority: 1 };
    // SAFETY: `parameters` is a readable structure of the call's type; 0 is the calling thread. If the kernel
    // refuses, the thread remains an ordinary one.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) };
}
