//! Reads how busy a machine's CPUs are.

use crate::error::{Context, Result};
use nettrial_traffic::ProcessorTimes;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// The clocks of a machine's CPUs at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reading {
    /// The machine's monotonic clock, nanoseconds.
    at_ns: i64,
    processors: Vec<ProcessorTimes>,
}

/// The use of a CPU between two readings.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Use {
    /// The time in which the CPU was neither idle nor taken by the hypervisor, nanoseconds.
    pub busy_ns: u64,
    /// The share of the time in which the CPU was busy, percent.
    pub busy_percent: f64,
    /// The share of the time that the hypervisor took, percent.
    pub steal_percent: f64,
}

impl Use {
    /// Returns the use without work that took `percent` of the time.
    #[must_use]
    pub fn without(self, percent: f64) -> Self {
        let kept = (self.busy_percent - percent).max(0.0);
        let share = if self.busy_percent > 0.0 { kept / self.busy_percent } else { 0.0 };
        Self { busy_ns: (self.busy_ns as f64 * share).round() as u64, busy_percent: kept, ..self }
    }
}

impl Reading {
    /// Reads every CPU's clocks.
    ///
    /// # Errors
    /// Fails if the system does not report them.
    pub fn now() -> Result<Self> {
        let at_ns = monotonic_ns();
        let processors = nettrial_traffic::processors().context("reading how busy the CPUs are")?;
        Ok(Self { at_ns, processors })
    }

    /// Returns the time until `later`, nanoseconds.
    pub fn span_ns(&self, later: &Self) -> u64 {
        u64::try_from(later.at_ns.saturating_sub(self.at_ns)).unwrap_or(0)
    }

    /// Returns the use of each CPU until `later`, by its number.
    pub fn until(&self, later: &Self) -> HashMap<usize, Use> {
        let total = self.span_ns(later);
        let before: HashMap<usize, &ProcessorTimes> =
            self.processors.iter().map(|clocks| (clocks.processor, clocks)).collect();
        let spent = |after: &ProcessorTimes| {
            let before = before.get(&after.processor)?;
            let idle = after.idle_ns.saturating_sub(before.idle_ns);
            let steal = after.steal_ns.saturating_sub(before.steal_ns);
            let busy_ns = total.saturating_sub(idle).saturating_sub(steal);
            let percent = |part: u64| if total == 0 { 0.0 } else { part as f64 / total as f64 * 100.0 };
            let spent = Use { busy_ns, busy_percent: percent(busy_ns), steal_percent: percent(steal) };
            Some((after.processor, spent))
        };
        later.processors.iter().filter_map(spent).collect()
    }

    /// Returns the share of all CPUs' time that interrupts took until `later`, in percent; `None` if the system
    /// does not report it for each CPU.
    pub fn interrupt_percent(&self, later: &Self) -> Option<f64> {
        let mut spent_ns = 0;
        for (before, after) in self.processors.iter().zip(&later.processors) {
            spent_ns += after.interrupt_ns?.saturating_sub(before.interrupt_ns?);
        }
        let all_ns = self.span_ns(later).saturating_mul(later.processors.len() as u64);
        (all_ns > 0).then(|| spent_ns as f64 / all_ns as f64 * 100.0)
    }
}

/// Returns the time of the monotonic clock, nanoseconds.
pub fn monotonic_ns() -> i64 {
    i64::try_from(nettrial_traffic::now_ns()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CPUs by number, with the milliseconds in which each was idle, and taken by the hypervisor.
    fn reading(at_ns: i64, processors: &[(usize, u64, u64)]) -> Reading {
        let times = |&(processor, idle, steal): &(usize, u64, u64)| ProcessorTimes {
            processor,
            idle_ns: idle * 1_000_000,
            steal_ns: steal * 1_000_000,
            interrupt_ns: None,
        };
        Reading { at_ns, processors: processors.iter().map(times).collect() }
    }

    #[test]
    fn busy_is_what_is_neither_idle_nor_stolen() {
        let first = reading(5, &[(0, 1_050, 70), (12, 400, 0)]);
        let later = reading(1_000_000_005, &[(0, 1_550, 170)]);
        let spent = first.until(&later);
        assert_eq!(spent.len(), 1);
        let Use { busy_ns, busy_percent, steal_percent } = spent[&0];
        assert_eq!((busy_ns, busy_percent, steal_percent), (400_000_000, 40.0, 10.0));
    }

    #[test]
    fn work_that_is_not_the_hosts_can_be_left_out() {
        let spent = Use { busy_ns: 400_000_000, busy_percent: 40.0, steal_percent: 10.0 };
        let own = Use { busy_ns: 300_000_000, busy_percent: 30.0, ..spent };
        assert_eq!(spent.without(10.0), own);
        assert_eq!(spent.without(50.0).busy_ns, 0);
        assert_eq!(spent.without(0.0), spent);
        let idle = Use { busy_ns: 0, busy_percent: 0.0, steal_percent: 0.0 };
        assert_eq!(idle.without(1.0), idle);
    }

    #[test]
    fn the_time_of_interrupts_is_told_where_every_processor_has_it() {
        let with = |mut reading: Reading, milliseconds: [u64; 2]| {
            for (times, spent) in reading.processors.iter_mut().zip(milliseconds) {
                times.interrupt_ns = Some(spent * 1_000_000);
            }
            reading
        };
        let (first, later) =
            (reading(0, &[(0, 0, 0), (1, 0, 0)]), reading(1_000_000_000, &[(0, 0, 0), (1, 0, 0)]));
        assert_eq!(first.interrupt_percent(&later), None);
        assert_eq!(with(first, [10, 0]).interrupt_percent(&with(later, [70, 40])), Some(5.0));
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
        let (early, late) = (reading(5, &[(0, 10, 0)]), reading(i64::MAX, &[(0, 90, 0)]));
        assert_eq!(late.until(&early)[&0].busy_percent, 0.0);
        assert_eq!(late.span_ns(&early), 0);
    }
}
