//! Warns of round-trip times that late timers may have lengthened.
//!
//! A link of the lab releases packets by a timer and hands them over by an interrupt, and each agent is woken up.
//! All of these are late by about as much as the sleeps that are measured during the traffic (`lateness`). On a link
//! with exact timers they take no time.

use super::Findings;
use crate::layout::Layout;
use nettrial_scenario::{Distribution, Flow, FlowRecord, Traffic};
use std::collections::HashMap;

/// The share of a round-trip time that late timers may explain.
const SMALL_SHARE: f64 = 0.05;
/// The number of wake-ups for each link and direction of a round trip: the timer that releases a packet, and the
/// interrupt that delivers it.
const WAKE_UPS_PER_LINK: f64 = 2.0;
/// The number of wake-ups of agents in a round trip.
const WAKE_UPS_OF_AGENTS: f64 = 2.0;

impl Findings {
    /// Warns of flows whose round-trip times are noticeably longer than between exact timers, if each wake-up was as
    /// late as timers were in the median on the worst CPU. `lateness` is in microseconds, by CPU.
    pub fn late_timers(
        &mut self,
        layout: &Layout,
        flows: &[FlowRecord],
        lateness: &HashMap<usize, Distribution>,
    ) {
        let late = lateness.values().map(|one| one.p50).fold(0.0, f64::max);
        for (flow, record) in layout.scenario.workload.iter().zip(flows) {
            let Some(rtt) = round_trip_us(flow, record) else { continue };
            let wake_ups = WAKE_UPS_OF_AGENTS + WAKE_UPS_PER_LINK * links_of(layout, flow);
            let lengthened = wake_ups * late;
            if lengthened > SMALL_SHARE * rtt {
                self.warn(
                    "late_timers",
                    &flow.name,
                    format!(
                        "timers were {late:.0} us late in the median, and the round-trip time of {rtt:.0} us has \
                         {wake_ups:.0} wake-ups: about {lengthened:.0} us of it are this machine's"
                    ),
                    "round-trip times are longer than on links with exact timers, and so are queues: use the \
                     simulator for them, or give links more delay",
                );
            }
        }
    }
}

/// Returns the median round-trip time of a flow, in microseconds: that of its requests, or else the kernel's; `None`
/// if it has none.
fn round_trip_us(flow: &Flow, record: &FlowRecord) -> Option<f64> {
    match &flow.traffic {
        Traffic::RequestResponse(_) => record.rtt_us.as_ref().map(|rtt| rtt.p50),
        Traffic::Sweep(_) => {
            record.sizes.iter().filter_map(|size| size.rtt_minimum_us.first().copied()).min_by(f64::total_cmp)
        }
        _ => (record.srtt_us.count > 0).then_some(record.srtt_us.p50),
    }
    .filter(|rtt| *rtt > 0.0)
}

/// Returns the number of links that a round trip of `flow` crosses, in both directions together.
fn links_of(layout: &Layout, flow: &Flow) -> f64 {
    let crossed = |near: &str, far: &str| layout.path(near, far, flow.ip).map_or(0, |path| path.len());
    (crossed(&flow.from, &flow.to) + crossed(&flow.to, &flow.from)) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use nettrial_scenario::Scenario;
    use serde_json::json;

    /// Returns the warnings about requests over two links, with this median round-trip time and lateness of timers.
    fn warned(rtt_us: f64, late_us: f64) -> Vec<String> {
        let interface = |node: &str, name: &str, address: &str| json!({"node": node, "interface": name, "mtu": "1500 B", "addresses": [address]});
        let scenario = Scenario::try_from(json!({
            "format": 1,
            "nodes": [{"name": "x", "kind": "host"}, {"name": "r", "kind": "router"}, {"name": "y", "kind": "host"}],
            "links": [
                {"ends": [interface("x", "eth0", "10.0.0.1/24"), interface("r", "eth0", "10.0.0.2/24")]},
                {"ends": [interface("r", "eth1", "10.0.1.2/24"), interface("y", "eth0", "10.0.1.1/24")]},
            ],
            "routing": nettrial_scenario::RoutingPolicy::ShortestPath {},
            "workload": [{"name": "probe", "from": "x", "to": "y", "transport": "udp", "ip": 4, "traffic":
                {"kind": "request_response", "request": "64 B", "response": "64 B", "count": 1}}],
            "measurement": {"interval": "10 ms", "queue_drops": "allowed"},
        }))
        .unwrap();
        let record = FlowRecord {
            rtt_us: Some(Distribution { p50: rtt_us, ..Default::default() }),
            ..FlowRecord::blank(&scenario.workload[0])
        };
        let late = |p50| Distribution { count: 200, p50, ..Default::default() };
        let lateness = HashMap::from([(0, late(late_us)), (1, late(late_us / 2.0))]);
        let mut findings = Findings::default();
        findings.late_timers(&Layout::new(&scenario), &[record], &lateness);
        findings.warnings.iter().map(|warning| format!("{}: {}", warning.code, warning.message)).collect()
    }

    #[test]
    fn a_round_trip_of_which_late_timers_are_a_part_is_warned_of() {
        let text = "late_timers: timers were 24 us late in the median, and the round-trip time of 1420 us has 10 wake-ups: \
                    about 240 us of it are this machine's";
        assert_eq!(warned(1420.0, 24.0), [text]);
    }

    #[test]
    fn punctual_timers_and_long_round_trips_are_not_warned_of() {
        assert_eq!(warned(1420.0, 7.0), [""; 0]);
        assert_eq!(warned(20_000.0, 24.0), [""; 0]);
    }

    #[test]
    fn a_flow_without_a_round_trip_time_is_not_warned_of() {
        assert_eq!(warned(0.0, 24.0), [""; 0]);
    }
}
