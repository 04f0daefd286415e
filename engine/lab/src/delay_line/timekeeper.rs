//! The clock of a line's thread, and its sleeps until frames are due.

use crate::error::{Context, Result};
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::{TimeSpec, TimeValLike};
use nix::sys::timerfd::{self, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use nix::time::{ClockId, ClockNanosleepFlags, clock_gettime, clock_nanosleep};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// The time before a frame is due at which a sleep ends, in nanoseconds. The thread watches the clock for the
/// rest, because timers fire about 40 us late on a virtual machine.
pub const EARLY_NS: u64 = 50_000;
/// The reciprocal of the largest share of the time in which the thread watches the clock.
const WATCHED_SHARE: u64 = 8;
/// The longest time that the thread watches the clock without a pause, in nanoseconds: a message of 64 KiB at 1
/// Gbit/s passes in half of it.
const WATCHED_NS: u64 = 1_000_000;
/// The longest sleep while frames are in flight, in nanoseconds, so that new ones do not fill the ring.
const DOZE_NS: u64 = 1_000_000;

/// The clock by which a thread knows the time.
pub enum Timekeeper {
    /// The machine's clock. Timers are late, so the thread watches it in the last part of a sleep.
    Real(Watching),
    /// The virtual clock, at which the thread does not look: ten looks for each frame took 2.6 us of virtual time, and most
    /// of the thread's CPU time.
    Virtual(Known),
}

/// A bound on the time in which the thread watches the clock. Consecutive frames on a wire are due a few
/// microseconds apart, and watching for each of them would occupy a CPU, which hosts need. Therefore single frames
/// leave on time, and those of a long train leave when a timer fires, some tens of microseconds late and several
/// together.
#[derive(Default)]
pub struct Watching {
    left_ns: u64,
    told_ns: u64,
}

/// The time that a thread knows of the virtual clock.
pub struct Known {
    /// The time at which the latest frame arrived or the latest sleep ended, whichever is later. It is the present, because
    /// computing takes no time.
    now_ns: u64,
    /// The time of the wall clock minus that of the monotonic clock. Nobody sets the wall clock.
    offset_ns: u64,
    timer: TimerFd,
}

impl Timekeeper {
    /// Creates a timekeeper by the machine's clock.
    pub fn of_machine() -> Self {
        Self::Real(Watching::default())
    }

    /// Creates a timekeeper by the virtual clock.
    pub fn of_virtual_time() -> Result<Self> {
        let timer = TimerFd::new(timerfd::ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_CLOEXEC);
        let timer = timer.context("creating a timer for a delay line")?;
        Ok(Self::Virtual(Known { now_ns: monotonic_ns(), offset_ns: wall_offset_ns(), timer }))
    }

    /// Returns the time of the monotonic clock.
    pub fn now_ns(&self) -> u64 {
        match self {
            Self::Real(_) => monotonic_ns(),
            Self::Virtual(known) => known.now_ns,
        }
    }

    /// Returns the time of the wall clock minus that of the monotonic clock.
    pub fn wall_offset_ns(&self) -> u64 {
        match self {
            Self::Real(_) => wall_offset_ns(),
            Self::Virtual(known) => known.offset_ns,
        }
    }

    /// Takes note of a frame that arrived at `arrived_ns` by a time stamp of the wall clock, and not before `earliest_ns`.
    /// Returns the time of its arrival: the machine's wall clock may have been set in the meantime, so it is kept within its
    /// known bounds.
    pub fn arrival_ns(&mut self, arrived_ns: u64, earliest_ns: u64) -> u64 {
        match self {
            Self::Real(_) => arrived_ns.clamp(earliest_ns, monotonic_ns()),
            Self::Virtual(known) => {
                known.now_ns = known.now_ns.max(arrived_ns);
                arrived_ns
            }
        }
    }

    /// Waits until a frame is due, if there is one, or one of `ends` can be read; while frames are in flight, for
    /// [`DOZE_NS`] at most. If frames take time on the link, the thread may watch the clock in the last part. Returns what
    /// happened at the ends, nothing if it did not look at them.
    pub fn wait(&mut self, due_ns: Option<u64>, takes_time: bool, ends: &[BorrowedFd]) -> Vec<PollFlags> {
        match (due_ns, self) {
            (None, _) => poll(ends, None),
            (Some(due_ns), Self::Real(watching)) => watching.wait(due_ns, takes_time, ends),
            (Some(due_ns), Self::Virtual(known)) => known.wait(due_ns, ends),
        }
    }
}

impl Watching {
    /// Returns true if there is time left at `now_ns` to watch for `wanted_ns`, and takes that time.
    fn takes(&mut self, now_ns: u64, wanted_ns: u64) -> bool {
        let gained_ns = now_ns.saturating_sub(self.told_ns) / WATCHED_SHARE;
        self.left_ns = self.left_ns.saturating_add(gained_ns).min(WATCHED_NS);
        self.told_ns = now_ns;
        let is_enough = self.left_ns >= wanted_ns;
        if is_enough {
            self.left_ns -= wanted_ns;
        }
        is_enough
    }

    fn wait(&mut self, due_ns: u64, takes_time: bool, ends: &[BorrowedFd]) -> Vec<PollFlags> {
        let now = monotonic_ns();
        let left = due_ns.saturating_sub(now);
        let mut sleep = left.saturating_sub(EARLY_NS).min(DOZE_NS);
        if sleep == 0 && !takes_time {
            std::hint::spin_loop(); // frames that arrived together leave together, so this is soon over
            return Vec::new();
        }
        if sleep == 0 && left > 0 && self.takes(now, left) {
            watch(due_ns);
            return Vec::new();
        }
        if sleep == 0 {
            sleep = left;
        }
        poll(ends, Some(Duration::from_nanos(sleep)))
    }
}

impl Known {
    /// Waits until the time of `due_ns`, without a look at the clock. Only a line that waits for frames, too, needs the timer.
    fn wait(&mut self, due_ns: u64, ends: &[BorrowedFd]) -> Vec<PollFlags> {
        let until_ns = due_ns.min(self.now_ns + DOZE_NS);
        let until = TimeSpec::nanoseconds(i64::try_from(until_ns).unwrap_or(i64::MAX));
        let (slept, events) = if ends.len() == 1 {
            let clock = ClockId::CLOCK_MONOTONIC;
            (clock_nanosleep(clock, ClockNanosleepFlags::TIMER_ABSTIME, &until).is_ok(), Vec::new())
        } else {
            let set = self.timer.set(Expiration::OneShot(until), TimerSetTimeFlags::TFD_TIMER_ABSTIME);
            let mut events = poll(&[ends, &[self.timer.as_fd()]].concat(), None);
            (set.is_ok() && events.pop().is_some_and(|events| !events.is_empty()), events)
        };
        if slept {
            self.now_ns = self.now_ns.max(until_ns);
        }
        events
    }
}

/// Waits until one of the ends can be read or has an error, at most for that time. Returns what happened at each.
fn poll(ends: &[BorrowedFd], longest: Option<Duration>) -> Vec<PollFlags> {
    let mut polled: Vec<PollFd> = ends.iter().map(|end| PollFd::new(*end, PollFlags::POLLIN)).collect();
    // An interrupted wait only is a shorter one.
    let _ = ppoll(&mut polled, longest.map(TimeSpec::from_duration), None);
    polled.iter().map(|end| end.revents().unwrap_or(PollFlags::empty())).collect()
}

/// Watches the clock until `due_ns`.
fn watch(due_ns: u64) {
    while monotonic_ns() < due_ns {
        std::hint::spin_loop();
    }
}

/// Returns the time of the monotonic clock, in nanoseconds.
pub fn monotonic_ns() -> u64 {
    read_ns(ClockId::CLOCK_MONOTONIC)
}

/// Returns the time of the wall clock minus that of the monotonic clock, in nanoseconds, to within a microsecond
/// unless the thread is interrupted again and again.
pub fn wall_offset_ns() -> u64 {
    let read = || {
        let before = monotonic_ns();
        let wall = read_ns(ClockId::CLOCK_REALTIME);
        let apart = monotonic_ns() - before;
        (apart, wall.saturating_sub(before + apart / 2))
    };
    let mut best = read();
    for _ in 0..10 {
        if best.0 < 1_000 {
            break;
        }
        best = best.min(read());
    }
    best.1
}

fn read_ns(clock: ClockId) -> u64 {
    let time = clock_gettime(clock).expect("the kernel has both clocks");
    u64::try_from(time.tv_sec()).unwrap_or(0) * 1_000_000_000 + u64::try_from(time.tv_nsec()).unwrap_or(0)
}
