//! Describes the machine, as far as it affects results.

use crate::clock::Clock;
use crate::{affinity, awake, settings, shaper_time, wire};
use nettrial_scenario::{Environment, TimerLateness};
use std::collections::BTreeMap;
use std::fs;

/// Describes the machine, with the lateness of its timers, and the calling thread's network namespace.
pub fn describe(privileges: &str, timer_lateness: Option<TimerLateness>, clock: Clock) -> Environment {
    let kernel = nix::sys::utsname::uname().map_or_else(
        |_| "unknown".to_owned(),
        |name| {
            let parts = [name.sysname(), name.release(), name.version(), name.machine()];
            parts.map(|part| part.to_string_lossy().into_owned()).join(" ")
        },
    );
    Environment {
        engine_version: env!("CARGO_PKG_VERSION").into(),
        kernel,
        processor: processor_model(),
        processors: u32::try_from(affinity::usable().len()).unwrap_or(u32::MAX),
        privileges: privileges.into(),
        congestion_controls: congestion_controls(),
        sysctls: settings::recorded(),
        timer_lateness,
        apparatus: apparatus(clock),
        machines: Vec::new(),
    }
}

/// Returns the parts of the apparatus that may differ between sessions, each with its value in words. A part that this
/// machine does not report is left out.
fn apparatus(clock: Clock) -> BTreeMap<String, String> {
    let read = |path: &str| fs::read_to_string(path).ok().map(|text| text.trim().to_owned());
    let processors: Vec<String> = affinity::usable().iter().map(ToString::to_string).collect();
    let parts = [
        ("shaper", Some(clock.shaper())),
        ("CPU time of shapers", (clock == Clock::Real).then(shaper_time::description)),
        ("GSO packets", Some(wire::description(clock))),
        ("idle CPUs", Some(awake::description().to_owned())),
        ("CPUs", Some(processors.join(", "))),
        ("clock source", read("/sys/devices/system/clocksource/clocksource0/current_clocksource")),
    ];
    parts.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

/// Returns the congestion controls that the kernel has loaded, without those of engines.
pub fn congestion_controls() -> Vec<String> {
    let text = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap_or_default();
    let kept = text.split_whitespace().filter(|name| !nettrial_bpf::is_of_an_engine(name));
    let mut names: Vec<String> = kept.map(str::to_owned).collect();
    names.sort();
    names
}

/// The CPU's model.
pub fn processor_model() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        let line = text.lines().find(|line| line.split(':').next().is_some_and(|key| key.trim() == name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    field("model name").or_else(|| field("CPU part")).unwrap_or_else(|| "unknown".to_owned())
}
