//! What is verified around the traffic, and what follows for the figures.

mod congestion;
mod connection;
mod counters;
mod links;
mod machine;
mod path;

pub use counters::HostCounters;
use nettrial_scenario::{Check, Warning};

/// Checks made, and warnings that follow.
#[derive(Default)]
pub struct Findings {
    /// Each thing verified.
    pub checks: Vec<Check>,
    /// What failed, with its consequence.
    pub warnings: Vec<Warning>,
}

impl Findings {
    /// Notes that `name` of `object` should be `expected` and is `found`; if not, warns with the
    /// `consequence`.
    fn compare(&mut self, name: &str, object: &str, expected: String, found: String, consequence: &str) {
        let check = Check::of(name, object, expected, found);
        self.warnings.extend(check.warning(consequence));
        self.checks.push(check);
    }

    fn warn(&mut self, code: &str, object: &str, message: String, consequence: &str) {
        self.warnings.push(Warning::new(code, object, message, consequence));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_a_failed_check_and_a_warning_with_its_consequence() {
        let mut findings = Findings::default();
        findings.compare("mss", "flow a", "1428 B".into(), "1428 B".into(), "segments differ");
        assert!(findings.checks[0].passed && findings.warnings.is_empty());
        findings.compare("mss", "flow a", "1428 B".into(), "536 B".into(), "segments differ");
        assert!(!findings.checks[1].passed);
        assert_eq!(findings.warnings[0].message, "mss should be 1428 B and is 536 B");
        assert_eq!(findings.warnings[0].consequence, "segments differ");
    }
}
