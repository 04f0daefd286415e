//! Compares a study's expectations of links that nettrial did not build with measurements.

use crate::mapping::Mapping;
use crate::message::Observation;
use nettrial_scenario::{FlowRecord, Interface, IpVersion, Link, Warning};
use std::borrow::Cow;
use std::collections::HashMap;

/// The factor by which a goodput may exceed the rate, because clocks and rates are not exact.
const RATE_TOLERANCE: f64 = 1.01;
/// The least time that a round trip may take, as a share of the sum of the links' delays.
const SHORTEST_SHARE: f64 = 0.9;
/// The longest time that a round trip may take, as a multiple of the sum of the links' delays.
const LONGEST_TIMES: f64 = 1.5;
/// The additional time that a round trip may take, in microseconds, because hosts and switches add delay.
const LONGEST_MORE_US: f64 = 2000.0;

/// Warns of links whose speed differs from the study's, of flows that were faster than their links, and of flows
/// whose round-trip time does not fit the links' delays. `observed` has the observations of machines by the names
/// of their nodes.
pub fn warnings(
    mapping: &Mapping,
    flows: &[FlowRecord],
    observed: &HashMap<&str, &Observation>,
) -> Vec<Warning> {
    let mut warnings = speeds(mapping, observed);
    for (flow, record) in mapping.scenario.workload.iter().zip(flows) {
        let links = path(mapping, &flow.from, &flow.to, flow.ip);
        let back = path(mapping, &flow.to, &flow.from, flow.ip);
        let object = format!("flow {}", flow.name);
        let slowest = links.iter().filter_map(|link| link.rate).map(|rate| rate.0).min();
        if let (Some(rate), Some(goodput)) = (slowest, record.goodput_bps)
            && goodput > rate as f64 * RATE_TOLERANCE
        {
            let message = format!(
                "its goodput of {:.1} Mbit/s is above the study's rate of {:.1} Mbit/s",
                goodput / 1e6,
                rate as f64 / 1e6
            );
            warnings.push(Warning::new(
                "unexpected_rate",
                &object,
                message,
                "the network is faster than the study describes",
            ));
        }
        let delay_us = links.iter().chain(&back).map(|link| link.delay.0 as f64 / 1e3).sum::<f64>();
        let fits = delay_us * SHORTEST_SHARE..=delay_us * LONGEST_TIMES + LONGEST_MORE_US;
        let found_us = record.min_rtt_us.map(f64::from);
        if let Some(found_us) = found_us.filter(|found_us| !fits.contains(found_us)) {
            let message = format!(
                "its smallest round-trip time is {found_us:.0} us, but the links' delays add up to \
                 {delay_us:.0} us"
            );
            warnings.push(Warning::new(
                "unexpected_delay",
                &object,
                message,
                "the network's delays differ from those that the study describes",
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
        for (((link, end), _), counted) in mapping.interfaces(&node.name).zip(&observation.interfaces) {
            let expected = mapping.scenario.links[link].from_end(end).rate;
            let (Some(expected), Some(speed_bps)) = (expected, counted.speed_bps) else { continue };
            if speed_bps != expected.0 {
                let (speed, expected) = (speed_bps as f64 / 1e6, expected.0 as f64 / 1e6);
                warnings.push(Warning::new(
                    "unexpected_rate",
                    &format!("{} of machine {name}", counted.name),
                    format!("its link runs at {speed:.0} Mbit/s, but the study expects {expected:.0} Mbit/s"),
                    "the network differs from the one that the study describes",
                ));
            }
        }
    }
    warnings
}

/// Returns the links that packets from one node to another pass in the scenario, as these packets meet them.
fn path<'a>(mapping: &Mapping<'a>, from: &str, to: &str, version: IpVersion) -> Vec<Cow<'a, Link>> {
    let address = mapping.planned_address(to, version).ok();
    let interfaces = address.and_then(|address| mapping.paths.path(from, address)).unwrap_or_default();
    let of = |node: &str, interface: &str| {
        let is_it = |at: &Interface| at.node == node && at.name == interface;
        let mut links = mapping.scenario.links.iter();
        links.find_map(|link| Some(link.from_end(link.interfaces.iter().position(is_it)?)))
    };
    interfaces.into_iter().filter_map(|interface| of(&interface.node, &interface.name)).collect()
}
