//! Reads and sets the CPUs on which a thread may run (sched_setaffinity(2)).

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

/// Returns the CPUs that this process may use, in order.
pub fn usable() -> Vec<usize> {
    let set = sched_getaffinity(Pid::from_raw(0)).unwrap_or_else(|_| CpuSet::new());
    (0..CpuSet::count()).filter(|&processor| set.is_set(processor).unwrap_or(false)).collect()
}

/// Keeps the calling thread on `processor`. If the kernel refuses, the scheduler chooses the CPU.
pub fn keep_to(processor: usize) {
    let mut set = CpuSet::new();
    if set.set(processor).is_ok() {
        let _ = sched_setaffinity(Pid::from_raw(0), &set);
    }
}
