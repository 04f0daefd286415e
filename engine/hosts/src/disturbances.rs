//! Finds disturbances of a trial on machines that others may use as well, by comparing observations of each
//! machine before and after the traffic.

use crate::mapping::Mapping;
use crate::message::{Counted, Observation};
use crate::pace;
use nettrial_scenario::{Check, FlowRecord, RadioRecord, Scenario, Traffic, Wireless};
use nettrial_session::Findings;

/// The bytes of other packets on an interface that are tolerated, as a share of the flows' bytes.
const OTHERS_SHARE: f64 = 0.05;
/// Additional bytes of other packets that are tolerated per second, such as those of the session itself, of
/// neighbour discovery and of routers' announcements.
const OTHERS_BYTES_PER_SECOND: f64 = 50_000.0;
/// The lateness of a thread, in nanoseconds, above which it counts as not having got a CPU. Timers alone are late
/// by a few milliseconds.
const STARVED_NS: u64 = 50_000_000;
/// The size of an Ethernet header, in bytes.
const ETHERNET_BYTES: u64 = 14;

/// Warns of disturbances during the trial: a clock that was set, a link that went down, other traffic.
pub fn disturbances(
    mapping: &Mapping,
    before: &[(&str, Observation)],
    after: &[(&str, Observation)],
    flows: &[FlowRecord],
    seconds: f64,
    findings: &mut Findings,
) {
    for ((node, before), (_, after)) in before.iter().zip(after) {
        let Some((name, _)) = mapping.machine(node) else { continue };
        let (was, now) = (&before.surroundings, &after.surroundings);
        findings.clock(&format!("machine {name}"), now.wall_ns.saturating_sub(was.wall_ns));
        let object = format!("machine {name}");
        for message in pace::changes(&before.pace, &after.pace) {
            findings.warn(
                "pace_changed",
                &object,
                message,
                "its CPUs were slower or faster during part of the trial",
            );
        }
        if now.late_ns > STARVED_NS {
            let message = format!(
                "a thread that should wake every 20 ms was up to {:.0} ms late",
                now.late_ns as f64 / 1e6
            );
            findings.warn("agent_starved", &object, message, "the agent's work was delayed by as much");
        }
        for (was, is) in before.interfaces.iter().zip(&after.interfaces) {
            let object = format!("{} of machine {name}", is.name);
            if let (Some(was), Some(is)) = (&was.wireless, &is.wireless) {
                wireless(&object, was, is, findings);
            }
            if was.carrier_changes != is.carrier_changes {
                let changes = is.carrier_changes.abs_diff(was.carrier_changes);
                let message = format!("its link went up or down {changes} times");
                findings.warn("link_down", &object, message, "the traffic was interrupted");
            } else if was.speed_bps != is.speed_bps {
                let megabits = |speed: Option<u64>| match speed {
                    Some(speed) => format!("{} Mbit/s", speed / 1_000_000),
                    None => "an unknown speed".into(),
                };
                let message = format!(
                    "its link ran at {} before the traffic and at {} after it",
                    megabits(was.speed_bps),
                    megabits(is.speed_bps)
                );
                findings.warn(
                    "link_renegotiated",
                    &object,
                    message,
                    "the rate was different during part of the trial",
                );
            }
        }
        let own = own_bytes(mapping.scenario, node, flows);
        let count = |part: fn(&Counted) -> u64| -> u64 {
            let pairs = before.interfaces.iter().zip(&after.interfaces);
            pairs.map(|(was, is)| part(is).saturating_sub(part(was))).fold(0, u64::saturating_add)
        };
        let (sent, received) = (count(|counted| counted.sent_bytes), count(|counted| counted.received_bytes));
        let packets = count(|counted| counted.sent_pkts.saturating_add(counted.received_pkts));
        let headers = packets.saturating_mul(ETHERNET_BYTES);
        if let Some(own) = own {
            let expected = own.saturating_add(headers);
            let others = sent.saturating_add(received).saturating_sub(expected) as f64;
            if others > own as f64 * OTHERS_SHARE + OTHERS_BYTES_PER_SECOND * seconds {
                findings.warn(
                    "other_traffic",
                    &format!("machine {name}"),
                    format!("its interfaces carried {:.1} MB that do not belong to the trial", others / 1e6),
                    "other traffic took part of the capacity of the network and the CPUs",
                );
            }
        }
    }
}

/// Notes the state of a Wi-Fi interface's radio before and after the traffic, and warns if it roamed, or changed
/// its channel or rate.
fn wireless(object: &str, was: &Wireless, is: &Wireless, findings: &mut Findings) {
    let still = |radio: &Wireless| {
        let counts = Wireless { sent_pkts: None, retries: None, failed_pkts: None, ..radio.clone() };
        Wireless { signal_dbm: None, received_bps: None, ..counts }
    };
    let passed = still(was) == still(is);
    let states = format!("{}; after it {}", in_words(was), in_words(is));
    let message = format!("before the traffic {states}");
    findings.checks.push(Check {
        name: "radio".into(),
        object: object.into(),
        expected: "the same before and after the traffic".into(),
        found: states,
        passed,
    });
    if was.access_point != is.access_point {
        findings.warn("radio_roamed", object, message, "the figures mix two access points");
    } else if !passed {
        findings.warn("radio_changed", object, message, "the rate was different during part of the trial");
    }
}

/// Returns the state of a machine's radio before and after the traffic, or the reason why it is absent.
pub fn radio(before: &Observation, after: &Observation) -> Result<RadioRecord, String> {
    let mut interfaces = before.interfaces.iter().zip(&after.interfaces);
    let of = |(was, is): (&Counted, &Counted)| {
        let (before, after) = (was.wireless.clone()?, is.wireless.clone()?);
        Some(RadioRecord { interface: was.name.clone(), before, after })
    };
    interfaces.find_map(of).ok_or_else(|| {
        let names: Vec<&str> = before.interfaces.iter().map(|counted| counted.name.as_str()).collect();
        format!(
            "its machine's interfaces are no Wi-Fi interfaces of which a driver tells: {}",
            names.join(", ")
        )
    })
}

fn in_words(radio: &Wireless) -> String {
    let megabits = |rate: u64| format!("{:.1} Mbit/s", rate as f64 / 1e6);
    let parts = [
        radio.channel().map(|channel| format!("channel {channel}")),
        radio.width_mhz.map(|width| format!("{width} MHz wide")),
        radio.sent_bps.map(|rate| format!("sending at {}", megabits(rate))),
        radio.received_bps.map(|rate| format!("receiving at {}", megabits(rate))),
        radio.signal_dbm.map(|signal| format!("heard at {signal} dBm")),
        radio.access_point.as_ref().map(|address| format!("access point {address}")),
    ];
    let counts: Vec<String> = parts.into_iter().flatten().collect();
    if counts.is_empty() { "its driver reports nothing".into() } else { counts.join(", ") }
}

/// Returns an upper bound on the bytes of IP packets that a host's flows cause in both directions; `None` if a
/// flow does not report its bytes, or if `node` is not a host of any flow.
fn own_bytes(scenario: &Scenario, node: &str, flows: &[FlowRecord]) -> Option<u64> {
    let mut bytes = None;
    for (flow, record) in scenario.workload.iter().zip(flows) {
        if flow.from != node && flow.to != node {
            continue;
        }
        let there = record.ip_bytes?;
        let back = match &flow.traffic {
            // At most every segment is acknowledged: each 1500 bytes by at most 100 bytes.
            Traffic::Transfer(_) | Traffic::FileTransfer(_) => there / 10,
            Traffic::Packets(_) => there / 4,
            Traffic::RequestResponse(exchange) => {
                let requests = record.bytes / exchange.request.0.max(1);
                there.saturating_mul(2).saturating_add(requests.saturating_mul(exchange.response.0))
            }
            Traffic::Sweep(_) => there.saturating_mul(2),
            Traffic::Tool(_) => return None,
        };
        bytes = Some(there.saturating_add(back).saturating_add(bytes.unwrap_or(0)));
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::Inventory;
    use crate::message::Pace;
    use nettrial_session::Surroundings;
    use serde_json::json;

    fn scenario() -> Scenario {
        let buffer = json!({"minimum": "4 KiB", "initial": "128 KiB", "maximum": "6 MiB"});
        let stack = json!({"name": "mine", "congestion_control": "cubic", "receive_buffer": buffer,
            "send_buffer": buffer, "window_scaling": true, "sack": true, "timestamps": true});
        let node = |name: &str| json!({"name": name, "kind": "host", "stack": stack});
        let end = |node: &str, number: u8| {
            let address = format!("10.0.0.{number}/24");
            json!({"node": node, "interface": "eth0", "mtu": "1500 B", "addresses": [address]})
        };
        Scenario::try_from(json!({
            "format": 1,
            "nodes": [node("a"), node("b")],
            "links": [{"ends": [end("a", 1), end("b", 2)], "delay": "0 ms", "queue": "100 packets"}],
            "routing": {"policy": "shortest_path"},
            "workload": [{"name": "transfer", "from": "a", "to": "b", "transport": "tcp", "ip": 4,
                "traffic": {"kind": "transfer", "size": "1 MB"}}],
            "measurement": {"interval": "10 ms", "queue_drops": "allowed"},
        }))
        .unwrap()
    }

    fn observation() -> Observation {
        let counted = Counted {
            name: "wlan0".into(),
            sent_bytes: 0,
            sent_pkts: 0,
            received_bytes: 0,
            received_pkts: 0,
            carrier_changes: 2,
            speed_bps: Some(1_000_000_000),
            wireless: None,
        };
        Observation {
            surroundings: Surroundings { processors: None, others: None, wall_ns: 0, late_ns: 3_000_000 },
            interfaces: vec![counted],
            pace: Pace::default(),
        }
    }

    /// Returns the findings after `change` is applied to the second observation of machine alpha.
    fn findings_after(change: impl Fn(&mut Observation)) -> Findings {
        let scenario = scenario();
        let place = |node: &str, number: u8| {
            json!({"reach": ["sh"], "reached_by": "sh", "engine": "x", "nodes": [node],
                "interfaces": [{"name": "wlan0", "addresses": [format!("192.0.2.{number}")]}]})
        };
        let machines = json!({"machines": {"alpha": place("a", 1), "beta": place("b", 2)}});
        let inventory: Inventory = serde_json::from_value(machines).unwrap();
        let mapping = Mapping::of(&scenario, &inventory).map_err(|problems| problems[0].to_string()).unwrap();
        let mut before = observation();
        before.interfaces[0].wireless = None;
        let mut after = before.clone();
        after.interfaces[0].sent_bytes = 1_050_000;
        let quiet = after.clone();
        change(&mut after);
        let with_radio = |observed: &mut Observation| {
            // Both observations have the interface as a Wi-Fi interface, or neither.
            if after.interfaces[0].wireless.is_some() {
                observed.interfaces[0].wireless = Some(radio());
            }
        };
        with_radio(&mut before);
        let mut flow = FlowRecord::blank(&scenario.workload[0]);
        flow.ip_bytes = Some(1_036_000);
        let mut findings = Findings::default();
        disturbances(
            &mapping,
            &[("a", before.clone()), ("b", before)],
            &[("a", after), ("b", quiet)],
            &[flow],
            1.0,
            &mut findings,
        );
        findings
    }

    fn radio() -> Wireless {
        Wireless {
            frequency_mhz: Some(5180),
            width_mhz: Some(80),
            access_point: Some("02:00:00:00:00:01".into()),
            signal_dbm: Some(-52),
            sent_bps: Some(866_700_000),
            retries: Some(7),
            ..Wireless::default()
        }
    }

    fn codes(change: impl Fn(&mut Observation)) -> Vec<String> {
        findings_after(change).warnings.into_iter().map(|warning| warning.code).collect()
    }

    #[test]
    fn a_quiet_machine_has_no_warning() {
        assert!(codes(|_| ()).is_empty());
    }

    #[test]
    fn each_disturbance_has_its_warning() {
        assert_eq!(codes(|seen| seen.interfaces[0].received_bytes += 1_000_000), ["other_traffic"]);
        assert_eq!(codes(|seen| seen.interfaces[0].carrier_changes += 2), ["link_down"]);
        assert_eq!(codes(|seen| seen.interfaces[0].speed_bps = Some(100_000_000)), ["link_renegotiated"]);
        assert_eq!(codes(|seen| seen.surroundings.wall_ns += 2_000_000), ["clock_step"]);
        assert_eq!(codes(|seen| seen.pace.throttled += 1), ["pace_changed"]);
        assert_eq!(codes(|seen| seen.pace.slept += 1), ["pace_changed"]);
        assert_eq!(codes(|seen| seen.surroundings.late_ns = 80_000_000), ["agent_starved"]);
    }

    #[test]
    fn a_machine_may_report_any_figures() {
        let any = |seen: &mut Observation| {
            let counted = &mut seen.interfaces[0];
            (counted.sent_bytes, counted.sent_pkts, counted.carrier_changes) = (u64::MAX, u64::MAX, 1);
            (counted.received_bytes, counted.received_pkts) = (u64::MAX, u64::MAX);
            seen.surroundings =
                Surroundings { wall_ns: i64::MIN, late_ns: u64::MAX, ..seen.surroundings.clone() };
            seen.pace.throttled = u64::MAX;
        };
        assert_eq!(codes(any), ["clock_step", "pace_changed", "agent_starved", "link_down"]);
    }

    #[test]
    fn a_radio_is_told_before_and_after_and_its_changes_are_warned_of() {
        let still = findings_after(|seen| {
            let (signal_dbm, retries) = (Some(-60), Some(9));
            seen.interfaces[0].wireless = Some(Wireless { signal_dbm, retries, ..radio() });
        });
        assert!(still.warnings.is_empty());
        let check = still.checks.iter().find(|check| check.name == "radio").unwrap();
        let expected = "channel 36, 80 MHz wide, sending at 866.7 Mbit/s, heard at -52 dBm, access point \
                        02:00:00:00:00:01; after it channel 36, 80 MHz wide, sending at 866.7 Mbit/s, heard at -60 dBm, \
                        access point 02:00:00:00:00:01";
        assert_eq!((check.object.as_str(), check.found.as_str()), ("wlan0 of machine alpha", expected));
        let slower = |seen: &mut Observation| {
            let sent_bps = Some(6_000_000);
            seen.interfaces[0].wireless = Some(Wireless { sent_bps, ..radio() });
        };
        assert_eq!(codes(slower), ["radio_changed"]);
        let elsewhere = |seen: &mut Observation| {
            let access_point = Some("02:00:00:00:00:02".into());
            seen.interfaces[0].wireless = Some(Wireless { access_point, ..radio() });
        };
        assert_eq!(codes(elsewhere), ["radio_roamed"]);
        assert!(
            findings_after(|_| ()).checks.iter().all(|check| check.name != "radio"),
            "a wired interface has none"
        );
    }

    #[test]
    fn a_radio_is_recorded_and_an_absent_one_has_its_reason() {
        let mut seen = observation();
        let told = super::radio(&seen, &seen).unwrap_err();
        assert_eq!(told, "its machine's interfaces are no Wi-Fi interfaces of which a driver tells: wlan0");
        seen.interfaces[0].wireless = Some(radio());
        let mut later = seen.clone();
        later.interfaces[0].wireless = Some(Wireless { retries: Some(9), ..radio() });
        let found = super::radio(&seen, &later).unwrap();
        let retries = [&found.before, &found.after].map(|radio| radio.retries);
        assert_eq!((found.interface.as_str(), retries), ("wlan0", [Some(7), Some(9)]));
    }

    #[test]
    fn a_radio_says_what_its_driver_does() {
        assert_eq!(in_words(&Wireless::default()), "its driver reports nothing");
        let at = |mhz| Wireless { frequency_mhz: Some(mhz), ..Wireless::default() }.channel();
        assert_eq!([2412, 2484, 5180, 5885, 5955, 6100].map(at), [1, 14, 36, 177, 1, 30].map(Some));
        assert_eq!(at(900), None);
    }
}
