//! Compares what a study expects of links that nettrial did not make with what was measured.

use crate::mapping::Mapping;
use crate::message::Observation;
use nettrial_scenario::{FlowRecord, IpVersion, Link, Warning};
use std::collections::HashMap;

/// A goodput may be above the rate by this share: clocks and rates are not exact.
const RATE_TOLERANCE: f64 = 1.01;
/// A round trip may take this share of what the links' delays make at the least,
const SHORTEST_SHARE: f64 = 0.9;
/// and this many times as much at the most,
const LONGEST_TIMES: f64 = 1.5;
/// and this much more, microseconds: hosts and switches take their time.
const LONGEST_MORE_US: f64 = 2000.0;

/// Warns of links whose speed is another than the study says, and of flows that were faster than their links, or whose
/// round-trip time does not fit the links' delays. `observed` are the machines by their nodes' names.
pub fn warnings(
    mapping: &Mapping,
    flows: &[FlowRecord],
    observed: &HashMap<&str, &Observation>,
) -> Vec<Warning> {
    let mut warnings = speeds(mapping, observed);
    for (flow, record) in mapping.scenario.workload.iter().zip(flows) {
        let links = path(mapping, &flow.from, &flow.to, flow.ip);
        let object = format!("flow {}", flow.name);
        let slowest = links.iter().filter_map(|link| link.rate).map(|rate| rate.0).min();
        if let (Some(rate), Some(goodput)) = (slowest, record.goodput_bps)
            && goodput > rate as f64 * RATE_TOLERANCE
        {
            let message = format!(
                "its goodput of {:.1} Mbit/s is above the rate of {:.1} Mbit/s that the study says",
                goodput / 1e6,
                rate as f64 / 1e6
            );
            warnings.push(Warning::new(
                "unexpected_rate",
                &object,
                message,
                "the network is a faster one than the study describes",
            ));
        }
        let delay_us = 2.0 * links.iter().map(|link| link.delay.0 as f64 / 1e3).sum::<f64>();
        let found_us = f64::from(record.min_rtt_us);
        let fits = delay_us * SHORTEST_SHARE..=delay_us * LONGEST_TIMES + LONGEST_MORE_US;
        if record.min_rtt_us > 0 && !fits.contains(&found_us) {
            let message = format!(
                "its smallest round-trip time is {found_us:.0} us, and the links' delays make {delay_us:.0} us"
            );
            warnings.push(Warning::new(
                "unexpected_delay",
                &object,
                message,
                "the network has other delays than the study describes",
            ));
        }
    }
    warnings
}

fn speeds(mapping: &Mapping, observed: &HashMap<&str, &Observation>) -> Vec<Warning> {
    let mut warnings = Vec::new();
    for node in &mapping.scenario.nodes {
        let (Some((name, _)), Some(observation)) =
            (mapping.machine(&node.name), observed.get(node.name.as_str()))
        else {
            continue;
        };
        for (((link, _), _), counted) in mapping.interfaces(&node.name).zip(&observation.interfaces) {
            let (Some(expected), Some(found)) = (mapping.scenario.links[link].rate, counted.speed_bps) else {
                continue;
            };
            if found != expected.0 {
                let (found, expected) = (found as f64 / 1e6, expected.0 as f64 / 1e6);
                warnings.push(Warning::new(
                    "unexpected_rate",
                    &format!("{} of machine {name}", counted.name),
                    format!("its link runs at {found:.0} Mbit/s, and the study says {expected:.0} Mbit/s"),
                    "the network is another one than the study describes",
                ));
            }
        }
    }
    warnings
}

/// The links that packets from one node to another pass in the scenario.
fn path<'a>(mapping: &Mapping<'a>, from: &str, to: &str, version: IpVersion) -> Vec<&'a Link> {
    let address = mapping.planned_address(to, version).ok();
    let interfaces = address.and_then(|address| mapping.paths.path(from, address)).unwrap_or_default();
    let of = |node: &str, interface: &str| {
        let has = |link: &&Link| link.interfaces.iter().any(|at| at.node == node && at.name == interface);
        mapping.scenario.links.iter().find(has)
    };
    interfaces.into_iter().filter_map(|interface| of(&interface.node, &interface.name)).collect()
}
