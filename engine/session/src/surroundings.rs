//! The disturbances of a machine while a trial's traffic runs.

use crate::{Census, Reading, Watch, monotonic_ns};
use nettrial_scenario::{Absence, DisturbanceRecord};
use serde::{Deserialize, Serialize};
use std::time::{SystemTime, UNIX_EPOCH};

/// The state of a machine at one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Surroundings {
    /// The clocks of the machine's CPUs; `None` if it does not report them.
    pub processors: Option<Reading>,
    /// The CPU time of processes that are not this one's; `None` if the system does not report it.
    pub others: Option<Census>,
    /// The wall clock less the monotonic clock, nanoseconds.
    pub wall_ns: i64,
    /// The largest lateness since the last observation of a thread that wakes every 20 ms, in nanoseconds.
    pub late_ns: u64,
}

impl Surroundings {
    /// Observes this machine. Processes that this one started are part of the trial.
    pub fn now(watch: &Watch) -> Self {
        Self {
            processors: Reading::now().ok(),
            others: Census::take(&[std::process::id()]),
            wall_ns: wall_ns(),
            late_ns: watch.latest_ns(),
        }
    }

    /// Returns the disturbances of the machine called `machine` until `later`, with the reasons for absent ones. If
    /// other parts of the trial run on the same machine (`is_shared`), their work can't be told from that of others.
    pub fn disturbances(
        &self,
        later: &Self,
        machine: &str,
        is_shared: bool,
    ) -> (DisturbanceRecord, Vec<Absence>) {
        let others = self.others.as_ref().zip(later.others.as_ref()).filter(|_| !is_shared);
        let processors = self.processors.as_ref().zip(later.processors.as_ref());
        let mut absent = Vec::new();
        let mut missing = |metric: &str, reason: &str| {
            absent.push(Absence { metric: metric.into(), object: machine.into(), reason: reason.into() });
        };
        if is_shared {
            missing("other_work", "its machine runs other parts of the trial, too");
        } else if others.is_none() {
            missing("other_work", "its system does not report the CPU time of all processes");
        }
        if processors.is_none() {
            missing("steal", "its system does not report the times of its CPUs");
        }
        let stolen = |(before, after): (&Reading, &Reading)| {
            before.until(after).values().map(|spent| spent.steal_percent).fold(0.0, f64::max)
        };
        let record = DisturbanceRecord {
            machine: machine.into(),
            other_work_percent: others.map(|(before, after)| before.percent_until(after)),
            stolen_percent: processors.map(stolen),
            timer_lateness_us: Some(later.late_ns as f64 / 1e3),
            clock_step_ns: Some(later.wall_ns.saturating_sub(self.wall_ns)),
        };
        (record, absent)
    }
}

/// Returns the time of the wall clock less that of the monotonic clock, in nanoseconds.
pub fn wall_ns() -> i64 {
    let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(wall.as_nanos()).unwrap_or(i64::MAX).saturating_sub(monotonic_ns())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disturbances_are_what_changed_between_two_moments() {
        let watch = Watch::start();
        let before = Surroundings::now(&watch);
        let mut after = before.clone();
        (after.wall_ns, after.late_ns) = (before.wall_ns + 7_000, 1_500_000);
        let (found, absent) = before.disturbances(&after, "alpha", false);
        assert_eq!((found.clock_step_ns, found.timer_lateness_us), (Some(7_000), Some(1_500.0)));
        assert_eq!(found.other_work_percent.is_none(), absent.iter().any(|one| one.metric == "other_work"));
    }

    #[test]
    fn what_a_machine_does_not_report_is_absent_with_the_reason() {
        let nothing = Surroundings { processors: None, others: None, wall_ns: 0, late_ns: 0 };
        let (found, absent) = nothing.disturbances(&nothing, "alpha", false);
        assert_eq!((found.other_work_percent, found.stolen_percent), (None, None));
        let metrics: Vec<&str> = absent.iter().map(|absence| absence.metric.as_str()).collect();
        assert_eq!(metrics, ["other_work", "steal"]);
    }

    #[test]
    fn work_of_other_parts_of_the_trial_is_no_other_work() {
        let watch = Watch::start();
        let now = Surroundings::now(&watch);
        let (found, absent) = now.disturbances(&now, "client", true);
        assert_eq!(found.other_work_percent, None);
        assert!(absent[0].reason.contains("other parts of the trial"));
    }
}
