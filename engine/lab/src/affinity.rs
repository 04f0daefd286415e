//! The CPUs that a thread may run on (sched_setaffinity(2)).

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

/// The CPUs this process may use, in order.
pub fn usable() -> Vec<usize> {
    let set = sched_getaffinity(Pid::from_raw(0)).unwrap_or_else(|_| CpuSet::new());
    (0..CpuSet::count()).filter(|&processor| set.is_set(processor).unwrap_or(false)).collect()
}

/// Keeps the calling thread to `processor`; where that is refused the scheduler chooses.
pub fn keep_to(processor: usize) {
    let mut set = CpuSet::new();
    if set.set(processor).is_ok() {
        let _ = sched_setaffinity(Pid::from_raw(0), &set);
    }
}
