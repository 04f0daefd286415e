//! Describes the machine, as far as it affects results.

use crate::{affinity, settings};
use nettrial_scenario::{Environment, TimerLateness};
use std::fs;

/// Describes the machine, with the lateness of its timers, and the calling thread's network namespace.
pub fn describe(privileges: &str, timer_lateness: Option<TimerLateness>) -> Environment {
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
        machines: Vec::new(),
    }
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
