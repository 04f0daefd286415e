//! Measures the rate that emulated guests carry on this machine, with a transfer between two of them.

use crate::environment::processor_model;
use crate::error::{Context, Error, Result};
use crate::{affinity, guests::Guests};
use nettrial_admission::output;
use nettrial_guest::{Catalogue, PROGRAM};
use nettrial_scenario::{Rate, Record, Scenario, chain};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;
use std::{fs, process};

/// The file of the cache with the rate (`nettrial/guests/catalogue.py`).
const FILE: &str = "calibration";
/// The rate that is assumed if the transfer failed, as it does if a kernel does not boot.
const NOT_CALIBRATED: Rate = Rate(50_000_000);
/// The number of transfers of a session. There are several, because other work on the machine may slow one down.
pub const ATTEMPTS: u32 = 3;

/// The most bytes that QEMU may print about its version, and the time that this may take.
const MOST_VERSION_BYTES: u64 = 4096;
const PATIENCE: Duration = Duration::from_secs(60);
/// The step to which the rate is rounded.
const STEP_BPS: u64 = 1_000_000;

/// The rate that guests carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carried {
    /// The goodput of the calibration transfer.
    Measured(Rate),
    /// No transfer has measured the rate.
    Unknown,
}

/// The rate in the cache.
#[derive(Serialize, Deserialize)]
struct Calibration {
    /// The machine and the programs for which the rate is valid.
    machine: String,
    /// The goodput of the transfer.
    goodput_bps: u64,
}

impl Carried {
    /// Returns the rate that was measured on this machine earlier, if it is in the cache.
    pub fn known(catalogue: &Catalogue) -> Option<Self> {
        let text = fs::read(file(catalogue)?).ok()?;
        let Calibration { machine, goodput_bps } = serde_json::from_slice(&text).ok()?;
        (machine == machine_in_words()).then_some(Self::Measured(Rate(goodput_bps)))
    }

    /// Returns the highest rate of a guest's links.
    pub fn rate(self) -> Rate {
        match self {
            Self::Measured(rate) => rate,
            Self::Unknown => NOT_CALIBRATED,
        }
    }

    /// Returns the reason for this limit.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Measured(_) => {
                "KVM is not available here, and a transfer between two emulated guests was no faster; \
                 `nettrial systems \
                 calibrate` measures it again"
            }
            Self::Unknown => {
                "KVM is not available here, and the transfer between two emulated guests that measures \
                 their rate failed"
            }
        }
    }
}

impl Guests {
    /// Takes the outcome of a calibration transfer, and keeps the highest rate in the cache. After a failed
    /// transfer this session makes no more.
    pub fn calibrated(&mut self, outcome: Result<Record>) {
        let goodput = outcome.and_then(|record| {
            let flow = record.flows.first().ok_or_else(|| Error::Missing("the record has no flow".into()))?;
            flow.goodput_bps.ok_or_else(|| Error::Missing("the flow has no goodput".into()))
        });
        match (goodput, self.carried) {
            (Ok(goodput_bps), before) => {
                self.calibrations -= 1;
                let rate = Rate((goodput_bps as u64 / STEP_BPS).max(1) * STEP_BPS);
                tracing::info!("a transfer between two emulated guests had a goodput of {rate}");
                if matches!(before, Some(Carried::Measured(known)) if known >= rate) {
                    return;
                }
                self.carried = Some(Carried::Measured(rate));
                if let Err(error) = self.keep_calibration(rate) {
                    tracing::warn!(
                        "the next session measures the rate of emulated guests again: {}",
                        chain(&error)
                    );
                }
            }
            (Err(error), before) => {
                self.calibrations = 0;
                tracing::warn!("the rate of emulated guests could not be measured: {}", chain(&error));
                self.carried = before.or(Some(Carried::Unknown));
            }
        }
    }

    fn keep_calibration(&self, rate: Rate) -> Result<()> {
        let file =
            file(&self.catalogue).ok_or_else(|| Error::Unsupported("there is no cache of systems".into()))?;
        let calibration = Calibration { machine: machine_in_words(), goodput_bps: rate.0 };
        let unfinished = file.with_extension(format!("unfinished-{}", process::id()));
        let text = serde_json::to_vec(&calibration)?;
        // A leftover of this name, which may be a link, is replaced.
        let _ = fs::remove_file(&unfinished);
        fs::File::create_new(&unfinished)
            .and_then(|mut new| new.write_all(&text))
            .and_then(|()| fs::rename(&unfinished, &file))
            .with_context(|| format!("writing {}", file.display()))
    }
}

fn file(catalogue: &Catalogue) -> Option<PathBuf> {
    Some(catalogue.directory()?.join(FILE))
}

/// Returns the properties of this machine on which the rate depends.
fn machine_in_words() -> String {
    let qemu = output(Command::new(PROGRAM).arg("--version"), MOST_VERSION_BYTES, PATIENCE);
    let qemu = qemu.map(|output| String::from_utf8_lossy(&output).lines().next().map(str::to_owned));
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let build = if cfg!(debug_assertions) { " (debug)" } else { "" };
    let parts = [
        processor_model(),
        format!("{} CPUs", affinity::usable().len()),
        format!("Linux {}", kernel.trim()),
        qemu.ok().flatten().unwrap_or_default(),
        format!("nettrial {}{build}", env!("CARGO_PKG_VERSION")),
    ];
    parts.join(", ")
}

/// Returns the scenario of the transfer, between guests of these systems.
pub fn calibration(systems: [&str; 2]) -> Scenario {
    let offloads = json!({"tso": false, "gso": false, "gro": false});
    let buffer = json!({"minimum": "4096 B", "initial": "131072 B", "maximum": "6291456 B"});
    let stack = json!({
        "name": "calibration", "congestion_control": "reno", "window_scaling": true, "sack": true, "timestamps": true,
        "receive_buffer": buffer, "send_buffer": buffer,
    });
    let node = |name: &str, system: &str| json!({"name": name, "kind": "host", "stack": stack, "offloads": offloads, "system": system});
    let end = |node: &str, address: &str| json!({"node": node, "interface": "eth0", "mtu": "1500 B", "addresses": [address]});
    let scenario = json!({
        "format": nettrial_scenario::FORMAT,
        "nodes": [node("client", systems[0]), node("server", systems[1])],
        "links": [{"ends": [end("client", "10.0.0.1/24"), end("server", "10.0.0.2/24")]}],
        "routing": {"policy": "shortest_path"},
        "workload": [{
            "name": "calibration", "from": "client", "to": "server", "transport": "tcp", "ip": 4,
            "traffic": {"kind": "transfer", "duration": "2 s"},
        }],
        "measurement": {"interval": "100 ms", "queue_drops": "allowed"},
    });
    serde_json::from_value(scenario).expect("a scenario that a test reads")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_calibration_is_a_scenario_without_problems() {
        let scenario = calibration(["linux-6.1", "linux-6.12"]);
        assert!(nettrial_scenario::check(&scenario).is_empty());
    }
}
