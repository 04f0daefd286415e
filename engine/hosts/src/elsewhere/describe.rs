//! Describes and observes this machine, as far as its system allows.

use crate::error::{Context, Result};
use crate::message::{Counted, Observation};
use crate::radio;
use nettrial_scenario::{Machine, MachineInterface, Rate};
use nettrial_session::Surroundings;
use nettrial_traffic::host::{self, Interface};
use std::collections::BTreeMap;

/// Describes this machine and those of `interfaces` that exist. The caller fills in the machine's name and the
/// lead of its clock.
///
/// # Errors
/// Fails if the system does not report its interfaces.
pub fn describe(interfaces: &[String]) -> Result<Machine> {
    let description = host::describe();
    Ok(Machine {
        name: String::new(),
        system: description.system,
        kernel: description.kernel,
        architecture: std::env::consts::ARCH.into(),
        processor: description.processor,
        processors: std::thread::available_parallelism()
            .map_or(1, |count| u32::try_from(count.get()).unwrap_or(u32::MAX)),
        is_root: description.may_change,
        boot: description.boot,
        free_ports: None,
        governor: None,
        clock_source: Some(description.clock_source.into()),
        clock_ahead_ns: 0,
        clock_error_ns: 0,
        interfaces: of(interfaces)?.into_iter().map(described).collect(),
        congestion_controls: Vec::new(),
        sysctls: BTreeMap::new(),
        reaches: Vec::new(),
    })
}

/// Returns the existing interfaces among those with these names, in the order of the names.
fn of(names: &[String]) -> Result<Vec<Interface>> {
    let mut all = host::interfaces().context("listing interfaces")?;
    let mut take = |name: &String| {
        let place = all.iter().position(|interface| interface.name == *name)?;
        Some(all.swap_remove(place))
    };
    Ok(names.iter().filter_map(&mut take).collect())
}

fn described(interface: Interface) -> MachineInterface {
    MachineInterface {
        wireless: radio::of(&interface.name),
        name: interface.name,
        addresses: interface.addresses,
        is_up: interface.is_up,
        driver: None,
        speed: interface.speed_bps.map(Rate),
        mtu_bytes: interface.mtu_bytes,
        largest_mtu_bytes: interface.largest_mtu_bytes,
        offloads: None,
        bus: None,
    }
}

/// Observes this machine and those of `interfaces` that exist. An interface whose packets the system does not
/// count has zero packets, before and after the traffic.
///
/// # Errors
/// Fails if the system does not report its interfaces.
pub fn observe(interfaces: &[String], surroundings: Surroundings) -> Result<Observation> {
    let counted = |interface: Interface| {
        let counts = interface.counts.unwrap_or_default();
        Counted {
            wireless: radio::of(&interface.name),
            name: interface.name,
            sent_bytes: counts.sent_bytes,
            sent_pkts: counts.sent_pkts,
            received_bytes: counts.received_bytes,
            received_pkts: counts.received_pkts,
            carrier_changes: 0,
            speed_bps: interface.speed_bps,
        }
    };
    Ok(Observation {
        surroundings,
        interfaces: of(interfaces)?.into_iter().map(counted).collect(),
        pace: crate::pace::pace(),
    })
}

/// Returns true, because flows do not choose a congestion control here and use the system's own.
pub fn has_control(_name: &str) -> bool {
    true
}
