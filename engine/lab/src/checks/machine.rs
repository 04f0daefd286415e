//! Verifies that the machine itself did not disturb the trial.

use super::Findings;
use nettrial_scenario::{DisturbanceRecord, GuestRecord, Machine};

impl Findings {
    /// Verifies that the guest of `node` runs the kernel that was added with its system, of this release if it is
    /// known, and warns of software emulation.
    pub fn guest(&mut self, node: &str, guest: &GuestRecord, release: Option<&str>) {
        if let Some(release) = release {
            self.compare(
                "kernel",
                node,
                release.to_owned(),
                guest.kernel.clone(),
                "the trial is not of the system that it is named after",
            );
        }
        if guest.emulated {
            self.warn(
                "guest_emulated",
                node,
                format!("{} runs under software emulation, because KVM is not available here", guest.system),
                "response and round-trip times include the emulator's time, and CPU figures are not \
                 available: compare guests only with guests",
            );
        }
    }

    /// Warns of a machine that keeps the settings of its system, because nettrial sets none there.
    pub fn system_settings(&mut self, machine: &Machine) {
        self.warn(
            "system_settings",
            &format!("machine {}", machine.name),
            format!(
                "{} keeps its own congestion control, TCP options and buffers, because nettrial can't set them \
                 there",
                machine.system
            ),
            "the study's stack is in force only on the other hosts",
        );
    }

    /// Warns of other processes that used `percent` of one CPU during the traffic.
    pub fn bystanders(&mut self, percent: f64) {
        if percent > DisturbanceRecord::MOST_OTHER_WORK_PERCENT {
            self.warn(
                "other_work",
                "the machine",
                format!("other processes used {percent:.0}% of a CPU"),
                "the hosts' CPU time includes their work, which may have slowed the traffic: run on a \
                 machine that does nothing else",
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
        assert_eq!(findings.warnings[0].message, "other processes used 40% of a CPU");
    }
}
