//! Says what became of an OpenFlow controller.

use super::Findings;
use crate::openflow::Outcome;
use nettrial_scenario::{Absence, ControllerRecord};

/// The metrics of a controller.
const METRICS: [&str; 8] = [
    "controller_connect",
    "controller_cpu",
    "controller_ready",
    "flow_setup",
    "link_discovery",
    "packet_ins",
    "rules_per_switch",
    "switches_cpu",
];
/// The object of warnings and metrics of it.
const OBJECT: &str = "controller";

impl Findings {
    /// Warns where the controller ended while traffic went; gives its record, or its metrics as absent.
    pub fn controller(&mut self, outcome: Outcome) -> (Option<ControllerRecord>, Vec<Absence>) {
        match outcome {
            Outcome::Told(record) => {
                if let Some(lost @ 1..) = record.lost_pkts {
                    self.warn(
                        "switch_overload",
                        "Open vSwitch",
                        format!("it was too slow to read {lost} frames"),
                        "the machine lost them, not the network: lower the rate, or spread the flows",
                    );
                }
                (Some(*record), Vec::new())
            }
            Outcome::Lost(last) => {
                self.warn(
                    "controller_lost",
                    OBJECT,
                    last,
                    "the switches kept the rules that they had: no new flow got any, and no link that failed was \
                     gone round",
                );
                let absence = |metric: &str| Absence {
                    metric: metric.into(),
                    object: OBJECT.into(),
                    reason: "the controller ended while traffic went".into(),
                };
                (None, METRICS.map(absence).to_vec())
            }
        }
    }

    /// Warns that Open vSwitch has little room for frames.
    pub fn cramped(&mut self, reason: &str) {
        self.warn(
            "switch_buffers",
            "Open vSwitch",
            format!(
                "its sockets have the kernel's default buffers, of about 90 frames for all queues: {reason}"
            ),
            "where more frames are under way, there is more loss than the study asks for",
        );
    }
}
