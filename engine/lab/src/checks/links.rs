//! Verifies that links carried the frames that were sent over them.

use super::Findings;
use crate::channel::Driven;
use crate::delay_line::{Carried, LATE_NS};
use crate::network::Refused;
use nettrial_scenario::{Check, Interface, InterfaceRecord, Scenario, Warning};

/// The share of a delay line's frames that may leave late.
const LATE_SHARE: f64 = 0.01;

impl Findings {
    /// Warns of drops in queues that should not overflow.
    pub fn drops(&mut self, scenario: &Scenario, records: &[InterfaceRecord]) {
        self.warnings.extend(Warning::of_drops(scenario, records));
    }

    /// Warns of frames that a link's far end could not accept, except on the links `failing`, on which the
    /// scenario has frames lost.
    pub fn refused(&mut self, failing: &[&Interface], before: &[Refused], after: &[Refused]) {
        let is_failing = |record: &Refused| {
            failing.iter().any(|failing| failing.node == record.node && failing.name == record.interface)
        };
        for (earlier, record) in before.iter().zip(after).filter(|(_, record)| !is_failing(record)) {
            let frames = record.frames_pkts.saturating_sub(earlier.frames_pkts);
            if frames > 0 {
                self.warn(
                    "link_drops",
                    &format!("{} of {}", record.interface, record.node),
                    format!("the far end's kernel could not accept {frames} frames"),
                    "the machine lost them, not the network: lower the rate, or spread the flows",
                );
            }
        }
    }

    /// Verifies that the delay line of `link` carried its frames in time.
    pub fn delay_line(&mut self, link: &str, carried: Carried) {
        let Carried { passed_pkts, late_pkts, lost_pkts } = carried;
        let late_ms = LATE_NS as f64 / 1e6;
        let is_late = late_pkts as f64 > passed_pkts as f64 * LATE_SHARE;
        self.checks.push(Check {
            name: "delay_line".into(),
            object: link.into(),
            expected: format!("0 lost, at most {}% more than {late_ms} ms late", LATE_SHARE * 100.0),
            found: format!("{lost_pkts} lost, {late_pkts} of {passed_pkts} late"),
            passed: lost_pkts == 0 && !is_late,
        });
        if lost_pkts > 0 {
            self.warn(
                "delay_line",
                link,
                format!("the delay line could not carry {lost_pkts} frames"),
                "there was more loss than the study sets: lower the rate",
            );
        }
        if is_late {
            self.warn(
                "delay_line",
                link,
                format!("{late_pkts} of {passed_pkts} frames left more than {late_ms} ms late"),
                "the delay was longer than the study sets: stop other work on the machine, or lower the rate",
            );
        }
    }

    /// Verifies that the radio channel of `link` handed over in time the frames that its medium delivered.
    pub fn radio_channel(&mut self, link: &str, driven: Driven) {
        let Driven { passed_pkts, late_pkts, latest_ns, lost_pkts, .. } = driven;
        let (late_ms, latest_ms) = (LATE_NS as f64 / 1e6, latest_ns as f64 / 1e6);
        let is_late = late_pkts as f64 > passed_pkts as f64 * LATE_SHARE;
        self.checks.push(Check {
            name: "radio_channel".into(),
            object: link.into(),
            expected: format!("0 lost, at most {}% more than {late_ms} ms late", LATE_SHARE * 100.0),
            found: format!(
                "{lost_pkts} lost, {late_pkts} of {passed_pkts} late, the latest {latest_ms:.3} ms"
            ),
            passed: lost_pkts == 0 && !is_late,
        });
        if lost_pkts > 0 {
            self.warn(
                "radio_channel",
                link,
                format!("{lost_pkts} frames were lost in addition to those that the channel's model drops"),
                "the machine lost them: stop other work on it, or lower the rate",
            );
        }
        if is_late {
            self.warn(
                "radio_channel",
                link,
                format!(
                    "{late_pkts} of {passed_pkts} frames were handed over more than {late_ms} ms late, the \
                     latest \
                     {latest_ms:.1} ms"
                ),
                "round-trip times were longer than in the channel's model: stop other work on the machine, \
                 or lower the rate",
            );
        }
    }

    /// Warns that senders do not wait for the radio, with the `reason`.
    pub fn unheld(&mut self, reason: &str) {
        self.warn(
            "sender_not_held",
            "radio channels",
            format!("a packet counts as sent as soon as it waits for the radio: {reason}"),
            "more packets wait at stations than with a real interface, and packets that find the queue full \
             are lost",
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nettrial_scenario::Size;

    #[test]
    fn a_delay_line_that_loses_frames_or_is_late_is_warned_of() {
        let warned = |late_pkts, lost_pkts| {
            let mut findings = Findings::default();
            findings.delay_line("link a - b", Carried { passed_pkts: 1000, late_pkts, lost_pkts });
            assert_eq!(findings.checks[0].passed, findings.warnings.is_empty());
            findings.warnings.len()
        };
        assert_eq!([warned(10, 0), warned(11, 0), warned(0, 1), warned(11, 1)], [0, 1, 1, 2]);
    }

    #[test]
    fn frames_lost_during_the_traffic_are_warned_of_and_earlier_ones_are_not() {
        let record = |frames_pkts| Refused { node: "a".into(), interface: "eth0".into(), frames_pkts };
        let mut findings = Findings::default();
        findings.refused(&[], &[record(3)], &[record(3)]);
        assert!(findings.warnings.is_empty());
        findings.refused(&[], &[record(3)], &[record(8)]);
        assert!(findings.warnings[0].message.contains("5 frames"));
        let failing =
            Interface { node: "a".into(), name: "eth0".into(), mtu: Size(1500), addresses: Vec::new() };
        findings.refused(&[&failing], &[record(3)], &[record(8)]);
        assert_eq!(findings.warnings.len(), 1);
    }
}
