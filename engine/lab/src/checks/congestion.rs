//! Verifies that the engine's own congestion controls did their work.

use super::Findings;
use nettrial_scenario::{Check, CongestionRecord, FlowRecord, Node, Scenario, Transport};
use std::collections::HashSet;

impl Findings {
    /// Verifies that the kernel called each congestion control of `counted` for the flows whose senders use it,
    /// and that it saw the other subflows of connections with several.
    pub fn congestion(&mut self, scenario: &Scenario, counted: &[CongestionRecord], flows: &[FlowRecord]) {
        for control in counted {
            let has_it = |node: &&Node| {
                node.stack.as_ref().is_some_and(|stack| stack.congestion_control == control.name)
            };
            let hosts: HashSet<&str> =
                scenario.nodes.iter().filter(has_it).map(|node| node.name.as_str()).collect();
            let sent = scenario.workload.iter().zip(flows).filter(|(flow, _)| {
                hosts.contains(flow.from.as_str())
                    && matches!(flow.transport, Transport::Tcp | Transport::Mptcp)
            });
            if let Some(most) = sent.map(|(_, record)| record.subflows.len()).max() {
                self.calls(control, most);
            }
        }
    }

    /// Verifies the calls of `control`, which is used by a sender with a connection of `subflows` subflows.
    fn calls(&mut self, control: &CongestionRecord, subflows: usize) {
        let callbacks = control.callbacks;
        self.called(
            "congestion_control_ran",
            control,
            callbacks.cong_avoid,
            "no window grew according to it",
        );
        if subflows > 1 {
            let consequence = "each subflow's window grew as if it were alone";
            self.called("congestion_control_coupled", control, callbacks.coupled, consequence);
        }
        self.left_out(control);
    }

    /// Verifies that no window of `control` had to be corrected.
    fn left_out(&mut self, control: &CongestionRecord) {
        let repaired = control.callbacks.repaired;
        if repaired > 0 {
            let consequence =
                "for a round trip a window was not that of the algorithm; it was then set to Reno's";
            let seen = format!("the kernel omitted a call to it after a loss, {repaired} times");
            self.warn("congestion_control_left_out", &control.name, seen, consequence);
        }
        self.checks.push(Check {
            name: "congestion_control_left_out".into(),
            object: control.name.clone(),
            expected: "0 windows corrected".into(),
            found: format!("{repaired}"),
            passed: repaired == 0,
        });
    }

    fn called(&mut self, check: &str, control: &CongestionRecord, calls: u64, consequence: &str) {
        let passed = calls > 0;
        if !passed {
            self.warn(check, &control.name, "the kernel made no such call to it".into(), consequence);
        }
        self.checks.push(Check {
            name: check.into(),
            object: control.name.clone(),
            expected: "called".into(),
            found: format!("called {calls} times"),
            passed,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nettrial_scenario::Callbacks;

    #[test]
    fn one_that_was_not_called_or_saw_no_sibling_is_warned_of() {
        let control = |cong_avoid, coupled| CongestionRecord {
            name: "lia".into(),
            callbacks: Callbacks { cong_avoid, coupled, ..Callbacks::default() },
        };
        let warned = |control: &CongestionRecord, subflows| -> Vec<String> {
            let mut findings = Findings::default();
            findings.calls(control, subflows);
            assert_eq!(findings.checks.len(), if subflows > 1 { 3 } else { 2 });
            findings.into_common().warnings.into_iter().map(|warning| warning.code).collect()
        };
        assert!(warned(&control(9, 3), 2).is_empty());
        assert!(warned(&control(9, 0), 1).is_empty());
        assert_eq!(warned(&control(9, 0), 2), ["congestion_control_coupled"]);
        assert_eq!(warned(&control(0, 0), 0), ["congestion_control_ran"]);
        let mut repaired = control(9, 3);
        repaired.callbacks.repaired = 1;
        assert_eq!(warned(&repaired, 2), ["congestion_control_left_out"]);
    }
}
