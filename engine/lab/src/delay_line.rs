//! Delay, jitter, loss, duplication and reordering on a link, in user space.
//!
//! ```text
//! A ─ shaper, queue ─ veth ─> near │ ring ─> fate ─> hold ─> outlet │ far ─ veth ─> B     and back
//!     the node's own                 a namespace of the lines' own
//! ```
//!
//! A link with any of these is two veth pairs, and a thread for each direction moves the frames between
//! them as they are: addresses, checksums still to be made and GSO packets still to be cut included. Its
//! rate and queue are at A's and B's own interfaces, before the line. It is used everywhere, also where
//! the kernel has netem: one behaviour on every machine, without a module, without root, and with the
//! same fate for the same frame in every run.
//!
//! The line is the wire as well: where the link has a rate of up to 100 Mbit/s, a frame is sent for its bits over that
//! rate, one after the other (`transmitter`). It leaves when its last bit has been sent, plus the delay and what its fate
//! adds; arrivals are by the kernel's time stamps. The thread sleeps until shortly before and watches the clock for the
//! rest, at such rates for at most an eighth of the time. Frames that leave late, or that the line itself could not carry, are counted, and end up in
//! the record as a warning.
//!
//! Measured on a virtual machine with two processors: frames every 15 us left 1.7 us (median), 16 us (99%)
//! and 60 us (99.9%) later than set; a transfer reached 3.1 Gbit/s in frames of 1500 bytes (270,000 a
//! second), 6.3 Gbit/s in frames of 9000 and 8 to 10 Gbit/s in GSO packets, on links without a rate. Where a
//! line shares a CPU with hosts that use most of it, frames leave late, and the record says so.
//!
//! The delay is always there. Loss and the rest begin when the line is armed, which is when the traffic
//! starts: the checks before it see the path and not chance. Frames are numbered from there.

mod hold;
#[cfg(test)]
mod tests;
mod transmitter;
mod worker;

use crate::affinity;
use crate::packet_socket::{Intake, Outlet, Ring, overflow};
use anyhow::{Context, Result};
use nettrial_impair::Fates;
use nettrial_scenario::{Link, Rate, Scenario};
use nix::sys::prctl;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::JoinHandle;
use transmitter::Transmitter;
pub use worker::{EARLY_NS, LATE_NS, Switch, is_to_a_group, monotonic_ns, wall_offset_ns};
use worker::{Tally, Worker};

/// The smallest and the largest number of bytes of a ring.
const RING_BYTES: std::ops::RangeInclusive<u64> = (2 << 20)..=(16 << 20);
/// The streams of frames without UDP are those of the interfaces' numbers, which frames with UDP have, with this bit set.
const WITHOUT_UDP: u64 = 1 << 32;
/// For how long a ring holds what a link carries, between these bounds.
const RING_NS: u64 = 40_000_000;

/// A link's line, which moves frames as long as this value lives.
pub struct DelayLine {
    /// The link in words: its two nodes.
    pub link: String,
    switch: Arc<Switch>,
    directions: Vec<Direction>,
}

struct Direction {
    tally: Arc<Tally>,
    ring: OwnedFd,
    thread: Option<JoinHandle<()>>,
}

/// The work of a line since it was armed, both directions together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Carried {
    /// Frames handed to the far end, copies counted.
    pub passed_pkts: u64,
    /// Frames among them that left more than [`LATE_NS`] late.
    pub late_pkts: u64,
    /// Frames that the line itself could not carry.
    pub lost_pkts: u64,
}

/// The highest rate at which a line sends frames one after the other. At 1 Gbit/s, where one is due every few
/// microseconds, that took so much of a CPU that transfers had a third less goodput.
const FASTEST_SENT: Rate = Rate(100_000_000);

/// Returns the rate at which the line of `link` sends frames one after the other; none if it passes them on at once.
pub fn sending_rate(link: &Link) -> Option<Rate> {
    link.rate.filter(|rate| rate.0 <= FASTEST_SENT.0)
}

/// Returns true if link number `number` of `scenario` does anything that takes a delay line.
pub fn is_needed(scenario: &Scenario, number: usize) -> bool {
    let link = &scenario.links[number];
    link.delay.0 > 0 || !link.impairment.is_none() || scenario.events.iter().any(|outage| outage.cuts(link))
}

/// Returns true if a link of `scenario` does anything that takes a delay line.
pub fn is_needed_by_any(scenario: &Scenario) -> bool {
    (0..scenario.links.len()).any(|number| is_needed(scenario, number))
}

impl DelayLine {
    /// The line of `link`, a cable whose first interface has the number `first` in the scenario, between two interfaces of
    /// the calling thread's namespace, for frames of up to `largest_frame` bytes; its threads keep to `processor`.
    /// In `longest_waits_ns`: the longest time for which a frame from each end waits for those before it.
    pub fn start(
        link: &Link,
        first: usize,
        [near, far]: [i32; 2],
        largest_frame: usize,
        longest_waits_ns: [u64; 2],
        processor: usize,
    ) -> Result<Self> {
        let switch = Arc::new(Switch::new()?);
        let mut line = Self { link: link.in_words(), switch, directions: Vec::new() };
        let ways = [(near, far), (far, near)].into_iter().zip(longest_waits_ns);
        for (number, ((from, to), longest_wait_ns)) in (first..).zip(ways) {
            let slots = slots(link.rate, largest_frame);
            let worker = Worker {
                ring: Ring::open(from, Intake::Arriving, largest_frame, slots)?,
                outlet: Outlet::open(to)?,
                transmitter: Transmitter::new(sending_rate(link), longest_wait_ns),
                delay_ns: link.delay.0,
                reordering_delay_ns: link.impairment.reordering_delay.0,
                fates: fates(link, number),
                switch: line.switch.clone(),
                tally: Arc::default(),
            };
            let (tally, ring) = (worker.tally.clone(), worker.ring.socket()?);
            let thread = std::thread::Builder::new().name("delay line".into()).spawn(move || {
                prepare_thread(processor);
                worker.run();
            });
            let thread = Some(thread.context("starting a thread for a delay line")?);
            line.directions.push(Direction { tally, ring, thread });
        }
        Ok(line)
    }

    /// The switch of its threads.
    pub fn switch(&self) -> Arc<Switch> {
        self.switch.clone()
    }

    /// Begins with loss and the rest, and with counting.
    pub fn arm(&self) -> Result<()> {
        for direction in &self.directions {
            // What is there so far is forgotten.
            overflow(&direction.ring)?;
        }
        self.switch.arm();
        Ok(())
    }

    /// Returns the work of the line since it was armed; to be called once.
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
            // A thread that panicked has told so on standard error.
            let _ = thread.join();
        }
    }
}

/// The fates of frames without UDP, and of those with it, that `link` takes from the interface with this number in the
/// scenario. They are apart, since what agents tell each other over TCP goes by its own timers and must not shift the
/// fates of datagrams.
fn fates(link: &Link, number: usize) -> [Fates; 2] {
    [WITHOUT_UDP, 0].map(|stream| Fates::new(link.impairment, stream | number as u64))
}

fn slots(rate: Option<Rate>, largest_frame: usize) -> usize {
    let wanted = rate.map_or(u64::MAX, |rate| (rate.0 / 8).saturating_mul(RING_NS / 1_000_000) / 1000);
    let bytes = wanted.clamp(*RING_BYTES.start(), *RING_BYTES.end());
    usize::try_from(bytes).unwrap_or(usize::MAX) / largest_frame
}

/// Makes the calling thread as punctual as it may be. A wire waits for nobody: where the privileges allow,
/// its thread goes before all ordinary ones.
pub fn prepare_thread(processor: usize) {
    affinity::keep_to(processor);
    // The least slack of its timers (PR_SET_TIMERSLACK(2const)); the default is 50 us.
    let _ = prctl::set_timerslack(1);
    let parameters = libc::sched_param { sched_priority: 1 };
    // SAFETY: `parameters` is a readable structure of the type the call takes; 0 is the calling thread.
    // A refusal leaves the thread an ordinary one.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) };
}
