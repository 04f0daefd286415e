//! Whether the machine itself was in the way.

use super::Findings;
use nettrial_scenario::Check;

/// Other processes may use this share of one processor.
const BYSTANDER_PERCENT: f64 = 5.0;
/// The wall clock may drift this far from the monotonic clock over a trial.
const CLOCK_STEP_NS: i64 = 1_000_000;

impl Findings {
    /// Warns of other processes that used `percent` of one processor while traffic went.
    pub fn bystanders(&mut self, percent: f64) {
        if percent > BYSTANDER_PERCENT {
            self.warn(
                "other_work",
                "the machine",
                format!("other processes used {percent:.0}% of a processor"),
                "their work is in the processor time of the hosts, and may have slowed the traffic: run on a \
                 machine that does nothing else",
            );
        }
    }

    /// Verifies that the wall clock was not set while the traffic went: `drift_ns` is how far it moved
    /// against the monotonic clock.
    pub fn clock(&mut self, drift_ns: i64) {
        let passed = drift_ns.abs() <= CLOCK_STEP_NS;
        self.checks.push(Check {
            name: "clock".into(),
            object: "the machine".into(),
            expected: format!("within {} us", CLOCK_STEP_NS / 1000),
            found: format!("moved {} us", drift_ns / 1000),
            passed,
        });
        if !passed {
            self.warn(
                "clock_step",
                "the machine",
                format!("the wall clock moved by {} ms against the monotonic clock", drift_ns / 1_000_000),
                "the record's date may be wrong, and timers may have fired late or early",
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codes(findings: &Findings) -> Vec<&str> {
        findings.warnings.iter().map(|warning| warning.code.as_str()).collect()
    }

    #[test]
    fn other_work_on_the_machine_is_warned_of() {
        let mut findings = Findings::default();
        findings.bystanders(4.0);
        assert!(findings.warnings.is_empty());
        findings.bystanders(40.0);
        assert_eq!(codes(&findings), ["other_work"]);
        assert_eq!(findings.warnings[0].message, "other processes used 40% of a processor");
    }

    #[test]
    fn a_step_of_the_wall_clock_in_either_direction_is_warned_of() {
        let mut findings = Findings::default();
        findings.clock(900_000);
        assert!(findings.warnings.is_empty());
        findings.clock(-2_000_000);
        assert_eq!(codes(&findings), ["clock_step"]);
    }
}
