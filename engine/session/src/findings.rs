//! Checks and warnings of a trial, and those that every session makes.

use crate::{Offset, Reading, Use};
use nettrial_scenario::{Check, Directory, DisturbanceRecord, Flow, FlowRecord, Warning};
use nettrial_traffic::{Connection, PathMtu, Room, Side};

/// The share of its time in use above which a CPU, and not the network, may limit the traffic.
const SATURATED_PERCENT: f64 = 95.0;
/// The shortest time for which a CPU's use is computed, because its clocks tick every 10 ms on Linux and every
/// 15.6 ms on Windows.
const SHORTEST_NS: u64 = 200_000_000;

/// The checks of a trial and the warnings that follow from them.
#[derive(Debug, Clone, Default)]
pub struct Findings {
    /// All checks.
    pub checks: Vec<Check>,
    /// The warnings, each with its consequence.
    pub warnings: Vec<Warning>,
}

impl Findings {
    /// Notes that `name` of `object` is `actual` and should be `expected`. If the two differ, warns with the
    /// `consequence`.
    pub fn compare(&mut self, name: &str, object: &str, expected: String, actual: String, consequence: &str) {
        let check = Check::of(name, object, expected, actual);
        tracing::debug!(name, object, check.expected, check.found, check.passed, "check");
        self.warnings.extend(check.warning(consequence));
        self.checks.push(check);
    }

    /// Warns of `message` about `object`.
    pub fn warn(&mut self, code: &str, object: &str, message: String, consequence: &str) {
        self.warnings.push(Warning::new(code, object, message, consequence));
    }

    /// Verifies a path's MTU, which should be `expected` bytes.
    pub fn path_mtu(&mut self, object: &str, expected: u64, mtu: PathMtu, consequence: &str) {
        let mtu = match mtu {
            PathMtu { largest: 0, .. } => "nothing passes".to_owned(),
            PathMtu { largest, exceeded: true, .. } => format!("above {largest} B"),
            PathMtu { largest, exceeded: false, .. } => format!("{largest} B"),
        };
        self.compare("path_mtu", object, format!("{expected} B"), mtu, consequence);
    }

    /// Verifies a connection as the kernel reports it: congestion control, options, and the segment size where the
    /// expected one is known.
    pub fn connection(
        &mut self,
        directory: &Directory,
        side: &Side,
        expected_mss: Option<u64>,
        connection: Connection,
    ) {
        let flow = &side.flow;
        let object = format!("flow {}", flow.name);
        // Settings that a system does not report can't be verified.
        if !connection.congestion_control.is_empty() {
            self.compare(
                "congestion_control",
                &object,
                side.congestion_control.clone(),
                connection.congestion_control,
                "the flow is not controlled as the stack says",
            );
        }
        if let Some(untold) = connection.untold_options {
            let mut expected = expected_options(directory, flow);
            expected.retain(|option| !untold.iter().any(|untold| untold == option));
            self.compare(
                "tcp_options",
                &object,
                expected.join(", "),
                connection.options.join(", "),
                "the two stacks do not work together as their settings say",
            );
        }
        for (host, room) in [(&flow.from, connection.sender), (&flow.to, connection.receiver)] {
            self.room(
                &format!("flow {}, {host}", flow.name),
                flow.socket.window.map(|window| window.0),
                room,
            );
        }
        if let Some((expected, mss)) = expected_mss.zip(connection.mss_bytes) {
            self.compare(
                "mss",
                &object,
                format!("{expected} B"),
                format!("{mss} B"),
                "segments are not of the size that the MTU implies",
            );
        }
    }

    /// Verifies that the buffers and the window of a host's socket have `window` bytes, or notes their sizes where
    /// the system chooses them.
    fn room(&mut self, object: &str, window: Option<u64>, room: Room) {
        let Some(window) = window else {
            self.checks.push(Check {
                name: "window".into(),
                object: object.into(),
                expected: "any".into(),
                found: room.in_words(),
                passed: true,
            });
            return;
        };
        let asked = |told: Option<u64>| told.map(|_| window);
        let expected = Room {
            send_buffer_bytes: asked(room.send_buffer_bytes),
            receive_buffer_bytes: asked(room.receive_buffer_bytes),
            window_bytes: asked(room.window_bytes),
            window_scale: room.window_scale,
        };
        self.compare(
            "window",
            object,
            expected.in_words(),
            room.in_words(),
            "the connection has another window than the study says: the system allows no such size (on Linux without root              net.core.rmem_max and wmem_max)",
        );
    }

    /// Verifies, as far as the sender's system reports it, that the sender of `flow` was announced no larger
    /// window than that of the socket. A kernel may lift a bound that was in force when the connection opened.
    pub fn window_seen(&mut self, flow: &Flow, record: &FlowRecord) {
        let (Some(window), Some(seen)) = (flow.socket.window, record.peer_window_bytes) else { return };
        let check = Check {
            name: "window_seen".into(),
            object: format!("flow {}", flow.name),
            expected: format!("at most {} B", window.0),
            found: format!("{seen} B"),
            passed: seen <= window.0,
        };
        let consequence = "more was in flight than the window of the study lets be";
        self.warnings.extend(check.warning(consequence));
        self.checks.push(check);
    }

    /// Verifies the congestion control of flows that other programs made, as far as it is known.
    pub fn tools(&mut self, directory: &Directory, flows: &[FlowRecord]) {
        for (flow, record) in directory.scenario.workload.iter().zip(flows) {
            let Some(stack) = directory.stack(&flow.from) else { continue };
            if record.tool.is_some() && !record.congestion_control.is_empty() {
                self.compare(
                    "congestion_control",
                    &format!("flow {}", flow.name),
                    stack.congestion_control.clone(),
                    record.congestion_control.clone(),
                    "the flow is not controlled as the stack says: the program has no option for it, and \
                     the kernel gives this one to those that choose none",
                );
            }
        }
    }

    /// Verifies that the wall clock of `machine` was not set during the traffic. `drift_ns` is its drift against
    /// the monotonic clock.
    pub fn clock(&mut self, machine: &str, drift_ns: i64) {
        let passed = drift_ns.saturating_abs() <= DisturbanceRecord::MOST_CLOCK_STEP_NS;
        self.checks.push(Check {
            name: "clock".into(),
            object: machine.into(),
            expected: format!("within {} us", DisturbanceRecord::MOST_CLOCK_STEP_NS / 1000),
            found: format!("moved {} us", drift_ns / 1000),
            passed,
        });
        if !passed {
            self.warn(
                "clock_step",
                machine,
                format!("the wall clock moved by {} ms against the monotonic clock", drift_ns / 1_000_000),
                "the record's date may be wrong, and timers may have fired late or early",
            );
        }
    }

    /// Notes by how much the clock of `object` is ahead of this machine's.
    pub fn clock_offset(&mut self, object: &str, offset: Offset) {
        let milliseconds = |ns: i64| ns as f64 / 1e6;
        let (ahead, error) = (milliseconds(offset.offset_ns), milliseconds(offset.error_ns));
        self.checks.push(Check {
            name: "clock_offset".into(),
            object: object.into(),
            expected: "any".into(),
            found: format!("{ahead:+.3} ms ± {error:.3} ms"),
            passed: true,
        });
    }

    /// Warns of each CPU of `host` that was in use all the time between two readings, or taken by the hypervisor.
    /// The host's CPUs may also do other work than the traffic's.
    pub fn machine(&mut self, host: &str, before: &Reading, after: &Reading) {
        if before.span_ns(after) < SHORTEST_NS {
            return;
        }
        let mut spent: Vec<(usize, Use)> = before.until(after).into_iter().collect();
        spent.sort_by_key(|(number, _)| *number);
        for (number, spent) in spent {
            self.processor(&format!("CPU {number} ({host})"), spent, false);
        }
    }

    /// Warns of a CPU that was in use all the time, or taken by the hypervisor. A CPU on which a flow `polls` is
    /// always in use, so its use says nothing.
    pub fn processor(&mut self, object: &str, spent: Use, polls: bool) {
        if spent.busy_percent > SATURATED_PERCENT && !polls {
            self.warn(
                "processor_saturated",
                object,
                format!("in use {:.0}% of the time", spent.busy_percent),
                "throughput and round-trip time may be the CPU's and not the network's",
            );
        }
        if spent.steal_percent > DisturbanceRecord::MOST_STOLEN_PERCENT {
            self.warn(
                "steal_time",
                object,
                format!("the hypervisor took {:.1}% of its time", spent.steal_percent),
                "other machines on the same hardware are in the figures",
            );
        }
    }
}

/// The TCP options that both hosts of `flow` offer.
fn expected_options(directory: &Directory, flow: &Flow) -> Vec<&'static str> {
    let (Some(from), Some(to)) = (directory.stack(&flow.from), directory.stack(&flow.to)) else {
        return Vec::new();
    };
    let options = [
        ("timestamps", from.timestamps && to.timestamps),
        ("sack", from.sack && to.sack),
        ("window_scaling", from.window_scaling && to.window_scaling),
    ];
    options.into_iter().filter(|(_, both)| *both).map(|(name, _)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codes(findings: &Findings) -> Vec<&str> {
        findings.warnings.iter().map(|warning| warning.code.as_str()).collect()
    }

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

    #[test]
    fn a_window_is_compared_as_far_as_the_system_tells_it() {
        let mut findings = Findings::default();
        let told =
            Room { send_buffer_bytes: Some(4096), receive_buffer_bytes: Some(4096), ..Room::default() };
        findings.room("flow a, x", Some(4096), told);
        findings.room("flow a, x", None, told);
        assert!(findings.warnings.is_empty() && findings.checks.iter().all(|check| check.passed));
        findings.room("flow a, x", Some(8192), Room { window_bytes: Some(8192), ..told });
        assert_eq!(codes(&findings), ["window"]);
        let expected = "send buffer 8192 B, receive buffer 8192 B, window up to 8192 B";
        assert_eq!(findings.checks[2].expected, expected);
        findings.room("flow a, x", Some(8192), Room::default());
        assert_eq!(codes(&findings).len(), 1, "what is not told is not compared");
        let flow = r#"{"name": "a", "from": "x", "to": "y", "transport": "tcp", "ip": 4, "socket": {"window": "4 KiB"},
            "traffic": {"kind": "transfer", "size": "1 B"}}"#;
        let flow: Flow = serde_json::from_str(flow).unwrap();
        for (seen, warned) in [(None, 0), (Some(4096), 0), (Some(4097), 1)] {
            let mut findings = Findings::default();
            let record = FlowRecord { peer_window_bytes: seen, ..FlowRecord::blank(&flow) };
            findings.window_seen(&flow, &record);
            assert_eq!(findings.warnings.len(), warned);
        }
    }

    #[test]
    fn a_path_is_warned_of_where_it_passes_other_packets_than_expected() {
        let mut findings = Findings::default();
        let mut found = |largest, exceeded| {
            findings.path_mtu(
                "a to b",
                1500,
                PathMtu { largest, exceeded, round_trip: None },
                "it is another path",
            );
            findings.checks.last().map(|check| (check.found.clone(), check.passed)).unwrap()
        };
        assert_eq!(found(1500, false), ("1500 B".into(), true));
        assert_eq!(found(1400, false), ("1400 B".into(), false));
        assert_eq!(found(1500, true), ("above 1500 B".into(), false));
        assert_eq!(found(0, false), ("nothing passes".into(), false));
        assert_eq!(codes(&findings), ["path_mtu"; 3]);
    }

    #[test]
    fn a_step_of_the_wall_clock_in_either_direction_is_warned_of() {
        let mut findings = Findings::default();
        findings.clock("the machine", 900_000);
        assert!(findings.warnings.is_empty());
        findings.clock("the machine", -2_000_000);
        assert_eq!(codes(&findings), ["clock_step"]);
    }

    #[test]
    fn a_processor_that_is_always_in_use_or_taken_away_is_warned_of() {
        let warned = |busy_percent, steal_percent, polls| {
            let mut findings = Findings::default();
            findings.processor("CPU 0", Use { busy_ns: 0, busy_percent, steal_percent }, polls);
            codes(&findings).into_iter().map(str::to_owned).collect::<Vec<_>>()
        };
        assert!(warned(95.0, 2.0, false).is_empty());
        assert_eq!(warned(99.0, 5.0, false), ["processor_saturated", "steal_time"]);
        assert_eq!(warned(99.0, 5.0, true), ["steal_time"]);
    }
}
