//! Reads how busy a machine's CPUs are (/proc/stat, proc_stat(5)).

use anyhow::{Context, Result};
use nix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// proc_stat(5): ticks of USER_HZ, which is 100 on every Linux.
const TICK_NS: u64 = 10_000_000;

/// The clocks of a machine's CPUs at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reading {
    /// The machine's monotonic clock, nanoseconds.
    at_ns: i64,
    processors: Vec<Clocks>,
}

/// One CPU's, in ticks since the machine started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Clocks {
    processor: usize,
    idle_ticks: u64,
    steal_ticks: u64,
}

/// The use of a CPU between two readings.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Use {
    /// Neither idle nor taken by the hypervisor, nanoseconds.
    pub busy_ns: u64,
    /// Busy, in percent of the time.
    pub busy_percent: f64,
    /// Taken by the hypervisor, in percent of the time.
    pub steal_percent: f64,
}

impl Reading {
    /// Reads every CPU's clocks. Idle time is exact to a tick of 10 ms; the kernel samples the busy columns,
    /// and they are not used.
    ///
    /// # Errors
    /// Fails where there is no /proc/stat.
    pub fn now() -> Result<Self> {
        let at_ns = monotonic_ns();
        let text = std::fs::read_to_string("/proc/stat").context("reading /proc/stat")?;
        Ok(Self::parse(&text, at_ns))
    }

    fn parse(text: &str, at_ns: i64) -> Self {
        let row = |line: &str| {
            let mut words = line.strip_prefix("cpu")?.split_ascii_whitespace();
            let processor = words.next()?.parse().ok()?;
            let columns: Vec<u64> = words.map(|word| word.parse().unwrap_or(0)).collect();
            let column = |number: usize| columns.get(number).copied().unwrap_or(0);
            // user nice system idle iowait irq softirq steal
            Some(Clocks { processor, idle_ticks: column(3) + column(4), steal_ticks: column(7) })
        };
        let processors = text.lines().filter(|line| !line.starts_with("cpu ")).filter_map(row).collect();
        Self { at_ns, processors }
    }

    /// The time until `later`, nanoseconds.
    pub fn span_ns(&self, later: &Self) -> u64 {
        u64::try_from(later.at_ns.saturating_sub(self.at_ns)).unwrap_or(0)
    }

    /// Returns the use of each CPU until `later`, by its number.
    pub fn until(&self, later: &Self) -> HashMap<usize, Use> {
        let total = self.span_ns(later);
        let before: HashMap<usize, &Clocks> =
            self.processors.iter().map(|clocks| (clocks.processor, clocks)).collect();
        let spent = |after: &Clocks| {
            let before = before.get(&after.processor)?;
            let ticks = |after: u64, before: u64| after.saturating_sub(before).saturating_mul(TICK_NS);
            let idle = ticks(after.idle_ticks, before.idle_ticks);
            let steal = ticks(after.steal_ticks, before.steal_ticks);
            let busy_ns = total.saturating_sub(idle).saturating_sub(steal);
            let percent = |part: u64| if total == 0 { 0.0 } else { part as f64 / total as f64 * 100.0 };
            let spent = Use { busy_ns, busy_percent: percent(busy_ns), steal_percent: percent(steal) };
            Some((after.processor, spent))
        };
        later.processors.iter().filter_map(spent).collect()
    }
}

/// The monotonic clock, nanoseconds.
pub fn monotonic_ns() -> i64 {
    // Every Linux has this clock.
    clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(0, |time| time.tv_sec() * 1_000_000_000 + time.tv_nsec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_is_what_is_neither_idle_nor_stolen() {
        let text =
            "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 1 1 1 100 5 1 1 7 0 0\ncpu12 0 0 0 40 0 0 0 0 0 0\nintr 5\n";
        let first = Reading::parse(text, 5);
        assert_eq!(first.processors.len(), 2);
        let later = Reading::parse("cpu0 9 9 9 150 5 9 9 17 0 0\n", 1_000_000_005);
        let spent = first.until(&later);
        assert_eq!(spent.len(), 1);
        let Use { busy_ns, busy_percent, steal_percent } = spent[&0];
        assert_eq!((busy_ns, busy_percent, steal_percent), (400_000_000, 40.0, 10.0));
    }

    #[test]
    fn a_reading_crosses_a_connection() {
        let reading = Reading::now().unwrap();
        assert!(!reading.processors.is_empty());
        let text = serde_json::to_string(&reading).unwrap();
        assert_eq!(serde_json::from_str::<Reading>(&text).unwrap(), reading);
    }

    #[test]
    fn clocks_that_go_backwards_are_no_use() {
        let (early, late) = (Reading::parse("cpu0 0 0 0 1", 5), Reading::parse("cpu0 0 0 0 9", i64::MAX));
        assert_eq!(late.until(&early)[&0].busy_percent, 0.0);
        assert_eq!(late.span_ns(&early), 0);
    }
}
