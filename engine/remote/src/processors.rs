//! How busy a machine's processors are (/proc/stat, Linux Documentation/filesystems/proc.rst).

use anyhow::{Context, Result};
use nettrial_scenario::Warning;
use serde::{Deserialize, Serialize};

/// Above this share of the time a processor may have held the traffic up, percent.
const SATURATED_PERCENT: f64 = 95.0;
/// Time too short to say anything about in ticks of 10 ms.
const SHORTEST_TICKS: u64 = 20;

/// A machine's processors at one moment, in ticks since it started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reading(Vec<Ticks>);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Ticks {
    processor: u32,
    idle: u64,
    all: u64,
}

impl Reading {
    /// Reads them.
    ///
    /// # Errors
    /// Fails where there is no /proc/stat.
    pub fn now() -> Result<Self> {
        Ok(Self::parse(&std::fs::read_to_string("/proc/stat").context("reading /proc/stat")?))
    }

    fn parse(text: &str) -> Self {
        Self(text.lines().filter_map(processor).collect())
    }
}

/// Of a line "cpu3 USER NICE SYSTEM IDLE IOWAIT …". Waiting for a disk is idle. The last two columns are
/// part of the first two.
fn processor(line: &str) -> Option<Ticks> {
    let (name, numbers) = line.split_once(' ')?;
    let processor = name.strip_prefix("cpu")?.parse().ok()?;
    let columns: Vec<u64> = numbers.split_whitespace().take(8).map_while(|n| n.parse().ok()).collect();
    Some(Ticks { processor, idle: columns.get(3)? + columns.get(4)?, all: columns.iter().sum() })
}

/// A warning for each processor of `host` that was saturated between two readings.
pub fn saturated(host: &str, before: &Reading, after: &Reading) -> Vec<Warning> {
    let busy = |later: &Ticks| {
        let earlier = before.0.iter().find(|ticks| ticks.processor == later.processor)?;
        let all = later.all.checked_sub(earlier.all).filter(|&all| all >= SHORTEST_TICKS)?;
        let idle = later.idle.saturating_sub(earlier.idle);
        Some((later.processor, 100.0 * (1.0 - idle as f64 / all as f64)))
    };
    let warning = |(processor, percent): (u32, f64)| Warning {
        code: "processor_saturated".into(),
        object: format!("processor {processor} ({host})"),
        message: format!("in use {percent:.0}% of the time"),
        consequence: "throughput may be the processor's and not the network's".into(),
    };
    after
        .0
        .iter()
        .filter_map(busy)
        .filter(|(_, percent)| *percent >= SATURATED_PERCENT)
        .map(warning)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_processor_that_is_never_idle_is_told() {
        let before = Reading::parse(
            "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 100 0 0 500 0 0 0 0 0 0\ncpu1 0 0 0 0 0 0 0 0 0 0\nintr 5",
        );
        let after = Reading::parse("cpu0 190 0 5 501 2 0 2 0 0 0\ncpu1 50 0 0 50 0 0 0 0 0 0");
        let warnings = saturated("client", &before, &after);
        assert_eq!(warnings.len(), 1);
        assert_eq!(warnings[0].object, "processor 0 (client)");
        assert_eq!(warnings[0].message, "in use 97% of the time");
    }

    #[test]
    fn this_machine_has_processors() {
        assert!(!Reading::now().unwrap().0.is_empty());
    }
}
