//! Reads Linux's clocks, and waits for a time of a clock.

use nix::sys::time::TimeValLike;
use nix::time::{ClockId, ClockNanosleepFlags, clock_gettime, clock_nanosleep};
use std::sync::OnceLock;

/// The largest difference, in nanoseconds, between two readings of a clock that have nothing between them but a
/// reading of another clock.
const CLOSE_NS: u64 = 500;
/// The largest number of readings, for the case that a clock is slow or the thread is often interrupted.
const READINGS: u32 = 10;

/// Returns the time of the monotonic clock in nanoseconds. Departures and arrivals are times of this clock: hosts
/// on one kernel share it, and a step of the wall clock does not affect it.
pub fn now_ns() -> u64 {
    read(ClockId::CLOCK_MONOTONIC)
}

/// Returns the time of the monotonic clock minus that of the wall clock, with which the kernel time-stamps
/// packets; in nanoseconds, with an error of at most half of [`CLOSE_NS`]. In virtual time, where nobody sets the wall
/// clock, and readings take time, it is measured once.
pub fn offset_ns() -> i64 {
    static VIRTUAL: OnceLock<Option<i64>> = OnceLock::new();
    VIRTUAL.get_or_init(|| is_time_virtual().then(measured_offset_ns)).unwrap_or_else(measured_offset_ns)
}

/// Measures that difference. The readings are repeated if the thread was interrupted between them.
fn measured_offset_ns() -> i64 {
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

/// Returns the CPU time that the calling thread has used, in nanoseconds.
pub fn thread_cpu_ns() -> Option<u64> {
    Some(read(ClockId::CLOCK_THREAD_CPUTIME_ID))
}

fn read(clock: ClockId) -> u64 {
    let time = clock_gettime(clock).expect("Linux has these clocks");
    u64::try_from(time.num_nanoseconds()).unwrap_or(0)
}

/// Sleeps until the monotonic clock reaches `moment_ns`, or until a signal arrives.
pub fn sleep_until(moment_ns: u64) {
    let moment = nix::sys::time::TimeSpec::nanoseconds(i64::try_from(moment_ns).unwrap_or(i64::MAX));
    // If a signal ends the sleep early, the caller reads the clock again.
    let _ = clock_nanosleep(ClockId::CLOCK_MONOTONIC, ClockNanosleepFlags::TIMER_ABSTIME, &moment);
}

/// Returns true if the kernel's clock is virtual: computing takes no time, timers are exact, and each reading of the clock
/// takes 256 ns (user-mode Linux with `time-travel=inf-cpu`).
pub fn is_time_virtual() -> bool {
    std::fs::read_to_string("/proc/cmdline")
        .is_ok_and(|line| line.split_ascii_whitespace().any(|word| word == "time-travel=inf-cpu"))
}

/// Asks the kernel to wake the calling thread as close to the requested time as it can. By default it may be 50 us
/// late to save power (prctl(2)). If the kernel refuses, the measured lateness shows it.
pub fn wake_promptly() {
    let _ = nix::sys::prctl::set_timerslack(1);
}
