//! The environment of a simulation, which does not affect its results.

use nettrial_scenario::{Environment, Preflight};
use std::collections::BTreeMap;

/// Returns the preflight, in which nothing is missing on any machine.
pub fn preflight() -> Preflight {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    Preflight {
        missing: Vec::new(),
        limits: Vec::new(),
        capabilities: Some(Box::new(crate::capabilities())),
        environment: Environment {
            engine_version: env!("CARGO_PKG_VERSION").to_owned(),
            kernel: "simulated".to_owned(),
            processor: processor(),
            processors: u32::try_from(processors).unwrap_or(u32::MAX),
            privileges: "none".to_owned(),
            congestion_controls: nettrial_congestion::names().map(str::to_owned).collect(),
            sysctls: BTreeMap::new(),
            timer_lateness: None,
            apparatus: BTreeMap::new(),
            machines: Vec::new(),
        },
    }
}

/// Returns the CPU's model if a file of the system contains it, otherwise its architecture.
fn processor() -> String {
    let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpuinfo.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    model.map_or(std::env::consts::ARCH.to_owned(), |(_, name)| name.trim().to_owned())
}
