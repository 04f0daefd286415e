//! Linux's clocks, and waiting for a moment of one.

use nix::sys::time::TimeValLike;
use nix::time::{ClockId, ClockNanosleepFlags, clock_gettime, clock_nanosleep};

/// Two readings of a clock this close have nothing between them but a reading of another.
const CLOSE_NS: u64 = 500;
/// Readings at most, where a clock is slow or the thread often interrupted.
const READINGS: u32 = 10;

/// Nanoseconds of the monotonic clock. Departures and arrivals are moments of this clock: hosts of one
/// kernel share it, and a step of the wall clock does not touch it.
pub fn now_ns() -> u64 {
    read(ClockId::CLOCK_MONOTONIC)
}

/// The monotonic clock less the wall clock, by which the kernel stamps packets; nanoseconds, right to half
/// of [`CLOSE_NS`]. The readings are taken again if the thread was interrupted between them.
pub fn offset_ns() -> i64 {
    let mut best = (u64::MAX, 0);
    for _ in 0..READINGS {
        let before = read(ClockId::CLOCK_REALTIME);
        let now = now_ns();
        let after = read(ClockId::CLOCK_REALTIME);
        let apart = after.wrapping_sub(before);
        let middle = before.wrapping_add(apart / 2);
        best = best.min((apart, now.wrapping_sub(middle).cast_signed()));
        if best.0 < CLOSE_NS {
            break;
        }
    }
    best.1
}

/// CPU time that the calling thread has used, nanoseconds.
pub fn thread_cpu_ns() -> Option<u64> {
    Some(read(ClockId::CLOCK_THREAD_CPUTIME_ID))
}

fn read(clock: ClockId) -> u64 {
    let time = clock_gettime(clock).expect("Linux has these clocks");
    u64::try_from(time.num_nanoseconds()).unwrap_or(0)
}

/// Sleeps until the monotonic clock shows `moment_ns`, or a signal comes.
pub fn sleep_until(moment_ns: u64) {
    let moment = nix::sys::time::TimeSpec::nanoseconds(i64::try_from(moment_ns).unwrap_or(i64::MAX));
    // Woken early by a signal, the caller looks at the clock again.
    let _ = clock_nanosleep(ClockId::CLOCK_MONOTONIC, ClockNanosleepFlags::TIMER_ABSTIME, &moment);
}

/// Has the kernel wake the calling thread as close to the asked moment as it can. By default it may be 50 us
/// late to save power (prctl(2)); if it does not let itself be told otherwise, the lateness shows it.
pub fn wake_promptly() {
    let _ = nix::sys::prctl::set_timerslack(1);
}
