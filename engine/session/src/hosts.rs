//! The records of a trial's hosts.

use nettrial_scenario::{Absence, FlowRecord, HostRecord, NodeKind, Scenario};

/// The time that a host's CPUs were in use during the traffic.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CpuTime {
    /// The time in use, in nanoseconds, of all its CPUs.
    pub busy_ns: u64,
    /// The share of the traffic's time in use, in percent.
    pub busy_percent: f64,
}

/// Returns a record of each host, in the scenario's order, and the reasons for absent CPU times. `cpu_time` returns that
/// of a host, or the reason why it is not known; it is asked only of the hosts that the scenario's measurement names.
pub fn host_records(
    scenario: &Scenario,
    flows: &[FlowRecord],
    cpu_time: impl Fn(&str) -> Result<CpuTime, String>,
) -> (Vec<HostRecord>, Vec<Absence>) {
    let mut absent = Vec::new();
    let mut record = |host: &str| {
        let blank = HostRecord::blank(host);
        if !scenario.measurement.cpu.iter().any(|measured| measured == host) {
            return blank;
        }
        match cpu_time(host) {
            Ok(CpuTime { busy_ns, busy_percent }) => {
                blank.with_cpu_time(busy_ns, busy_percent, scenario.payload_bytes(host, flows))
            }
            Err(reason) => {
                absent.extend(Absence::of_cpu_time(host, &reason));
                blank
            }
        }
    };
    let hosts = scenario.nodes.iter().filter(|node| node.kind == NodeKind::Host);
    let records = hosts.map(|node| record(&node.name)).collect();
    (records, absent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_host_has_a_record_and_an_absent_cpu_time_its_reason() {
        let host = |name: &str| json!({"name": name, "kind": "host", "stack": null});
        let scenario: Scenario = serde_json::from_value(json!({
            "format": nettrial_scenario::FORMAT,
            "seed": 1,
            "nodes": [host("a"), host("b"), host("c"), {"name": "r", "kind": "router", "stack": null}],
            "links": [],
            "routing": {"policy": "shortest_path"},
            "workload": [],
            "measurement": {"interval": "100 ms", "cpu": ["a", "b"], "queue_drops": "allowed"},
        }))
        .unwrap();
        let cpu_time = |host: &str| match host {
            "a" => Ok(CpuTime { busy_ns: 5, busy_percent: 2.5 }),
            other => Err(format!("{other} was asleep")),
        };
        let (records, absent) = host_records(&scenario, &[], cpu_time);
        let figures: Vec<_> = records.iter().map(|host| (host.name.as_str(), host.cpu_busy_ns)).collect();
        assert_eq!(figures, [("a", Some(5)), ("b", None), ("c", None)]);
        let reasons: Vec<_> = absent.iter().map(|absence| (&*absence.object, &*absence.reason)).collect();
        assert_eq!(reasons, [("b", "b was asleep"), ("b", "b was asleep")]);
    }
}
