//! The monotonic clock of the standard library.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// The reading at this process's first look, so that moments before it can be told, too: an hour.
const FIRST_NS: u64 = 3_600_000_000_000;

static FIRST: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Nanoseconds of a monotonic clock of this process.
pub fn now_ns() -> u64 {
    FIRST_NS + u64::try_from(FIRST.elapsed().as_nanos()).unwrap_or(u64::MAX - FIRST_NS)
}

/// CPU time that the calling thread has used: the standard library doesn't tell.
pub fn thread_cpu_ns() -> Option<u64> {
    None
}

/// Sleeps until the clock shows `moment_ns`.
pub fn sleep_until(moment_ns: u64) {
    std::thread::sleep(Duration::from_nanos(moment_ns.saturating_sub(now_ns())));
}

/// Has the system wake the calling thread as close to the asked moment as it can: it is left as it is, and
/// the lateness shows it.
pub fn wake_promptly() {}
