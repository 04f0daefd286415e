//! Reads the clocks of the machine's CPUs (/proc/stat, proc_stat(5)).

use crate::platform::ProcessorTimes;
use std::io;

/// The length of a tick of USER_HZ, which is 100 on every Linux system, in nanoseconds (proc_stat(5)).
const TICK_NS: u64 = 10_000_000;

/// Reads the clocks of every CPU. Idle time is exact to a tick. The other columns, including those of interrupts,
/// are not used, because the kernel samples them.
///
/// # Errors
/// Fails if there is no /proc/stat.
pub fn processors() -> io::Result<Vec<ProcessorTimes>> {
    Ok(parse(&std::fs::read_to_string("/proc/stat")?))
}

fn parse(text: &str) -> Vec<ProcessorTimes> {
    let row = |line: &str| {
        let mut words = line.strip_prefix("cpu")?.split_ascii_whitespace();
        let processor = words.next()?.parse().ok()?;
        let columns: Vec<u64> = words.map(|word| word.parse().unwrap_or(0)).collect();
        let column = |number: usize| columns.get(number).copied().unwrap_or(0);
        // user nice system idle iowait irq softirq steal
        Some(ProcessorTimes {
            processor,
            idle_ns: (column(3) + column(4)).saturating_mul(TICK_NS),
            steal_ns: column(7).saturating_mul(TICK_NS),
            interrupt_ns: None,
        })
    };
    text.lines().filter(|line| !line.starts_with("cpu ")).filter_map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_and_stolen_time_are_taken_of_each_processor() {
        let text =
            "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 1 1 1 100 5 1 1 7 0 0\ncpu12 0 0 0 40 0 0 0 0 0 0\nintr 5\n";
        let times = |processor, idle_ns, steal_ns| ProcessorTimes {
            processor,
            idle_ns,
            steal_ns,
            interrupt_ns: None,
        };
        let found = parse(text);
        assert_eq!(found, [times(0, 1_050_000_000, 70_000_000), times(12, 400_000_000, 0)]);
        assert!(!processors().unwrap().is_empty());
    }
}
