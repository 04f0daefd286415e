//! Measures the CPU time of processes that have no part in the trial.
//!
//! /proc/stat does not report whose work kept a CPU busy, so the hosts' figures include theirs. Their time is read
//! from /proc/PID/stat (proc_pid_stat(5)), including the time of children that ended. Kernel threads are left out,
//! because some of them do the trial's own work. In a container, only its own processes are seen.

use crate::monotonic_ns;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fs;

/// The flag of a kernel thread (include/linux/sched.h).
const PF_KTHREAD: u64 = 0x0020_0000;
/// The length of a tick of USER_HZ, which is 100 on every Linux system, in nanoseconds.
const TICK_NS: u64 = 10_000_000;

/// The number of the first process. If it is not seen, the processes of other users are hidden.
const FIRST: u32 = 1;

/// The CPU time that all these processes had used at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Census {
    /// The machine's monotonic clock, nanoseconds.
    at_ns: i64,
    /// The sum of their ticks. A process that ends passes its ticks to its parent, so the sum loses nothing.
    ticks: u64,
}

impl Census {
    /// Counts all processes except those in `part_of_trial` and the processes that they started; returns `None` if the
    /// system does not report all processes as Linux does.
    pub fn take(part_of_trial: &[u32]) -> Option<Self> {
        let numbers = fs::read_dir("/proc").into_iter().flatten().flatten();
        let numbers = numbers.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        // A process that ends in the meantime has no entry any more.
        let processes: HashMap<u32, Process> = numbers
            .filter_map(|number| {
                Some((number, parse(&fs::read_to_string(format!("/proc/{number}/stat")).ok()?)?))
            })
            .collect();
        processes.get(&FIRST)?;
        let bystanders =
            processes.iter().filter(|(number, _)| !descends(**number, part_of_trial, &processes));
        Some(Self { at_ns: monotonic_ns(), ticks: bystanders.map(|(_, process)| process.ticks).sum() })
    }

    /// Returns the share of one CPU that was used between this census and `later`, in percent.
    pub fn percent_until(&self, later: &Self) -> f64 {
        let ticks = later.ticks.saturating_sub(self.ticks);
        let elapsed = later.at_ns.saturating_sub(self.at_ns) as f64;
        if elapsed <= 0.0 { 0.0 } else { ticks as f64 * TICK_NS as f64 / elapsed * 100.0 }
    }
}

/// A process as /proc shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Process {
    parent: u32,
    /// The CPU time used, including that of its ended children.
    ticks: u64,
}

/// Returns true if process `number` is one of `roots`, or a descendant of one of them.
fn descends(mut number: u32, roots: &[u32], processes: &HashMap<u32, Process>) -> bool {
    // The number of steps is limited to that of processes, because reused process IDs could form a cycle.
    for _ in 0..=processes.len() {
        if roots.contains(&number) {
            return true;
        }
        match processes.get(&number) {
            Some(process) => number = process.parent,
            None => return false,
        }
    }
    false
}

/// Parses a process's line; returns `None` for a kernel thread.
fn parse(text: &str) -> Option<Process> {
    // The name, in parentheses, may contain anything, so the fields behind it are counted.
    let fields: Vec<&str> = text[text.rfind(')')? + 1..].split_ascii_whitespace().collect();
    let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
    if field(9)? & PF_KTHREAD != 0 {
        return None;
    }
    Some(Process {
        parent: field(4)?.try_into().ok()?,
        ticks: field(14)? + field(15)? + field(16)? + field(17)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_read_whatever_its_name() {
        let line = "41 (a b) c) S 1 41 41 0 -1 4194304 9 9 9 9 10 20 3 4 20 0 1 0 777 1 1";
        assert_eq!(parse(line), Some(Process { parent: 1, ticks: 37 }));
        let kernel = line.replace("4194304", "2097152");
        assert_eq!(parse(&kernel), None);
        for hostile in ["", ")", "1 (a", "1 (a) S", "1 (a) S 1 1 1 1 1 x"] {
            assert_eq!(parse(hostile), None, "{hostile}");
        }
    }

    #[test]
    fn what_a_part_of_the_trial_started_is_part_of_it() {
        let process = |parent| Process { parent, ticks: 1 };
        let processes = HashMap::from([
            (1, process(0)),
            (5, process(1)),
            (6, process(5)),
            (7, process(6)),
            (8, process(9)),
            (9, process(8)),
        ]);
        let ours = |number| descends(number, &[5], &processes);
        assert_eq!([1, 5, 6, 7, 8, 99].map(ours), [false, true, true, true, false, false]);
    }

    #[test]
    fn the_share_is_of_one_processor() {
        let before = Census { at_ns: 5, ticks: 100 };
        let after = Census { at_ns: 2_000_000_005, ticks: 140 };
        assert!((before.percent_until(&after) - 20.0).abs() < 1e-9);
        assert_eq!(after.percent_until(&before).to_bits(), 0.0_f64.to_bits(), "a clock that goes backwards");
    }
}
