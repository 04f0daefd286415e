//! Assigns each node's work to a CPU, and measures how busy that CPU was.
//!
//! A host's CPU runs its processes (affinity) and the receive work of its interfaces (receive packet steering,
//! Documentation/networking/scaling.rst), so the figures of /proc/stat for that CPU, including softirq, are the
//! host's.

use crate::affinity::usable;
use crate::clock::Clock;
use crate::delay_line;
use crate::error::{Context, Result};
use crate::namespace::{Home, Namespace};
use nettrial_scenario::{NodeKind, Scenario};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use std::collections::HashMap;
use std::fs;

/// The CPU on which each node's work is kept.
pub struct Placement {
    by_node: HashMap<String, usize>,
    engine: usize,
    /// The work of the engine's own threads during the traffic.
    engine_work: Vec<&'static str>,
}

impl Placement {
    /// Plans a separate CPU for each host whose CPU time is measured. The other nodes and the engine's own work
    /// share the remaining CPUs, or else the CPU of the first host, which by custom is a sender, because receiving
    /// costs more.
    ///
    /// # Errors
    /// Returns the reason why there is no such placement.
    pub fn plan(scenario: &Scenario, home: &Home) -> Result<Self, String> {
        let measured = &scenario.measurement.cpu;
        let processors = usable();
        if !home.is_root {
            return Err("steering an interface's receive work to a CPU needs root".into());
        }
        if processors.len() < measured.len() {
            return Err(format!(
                "{} hosts are to be measured, but there are {} CPUs, and each host needs one of its own",
                measured.len(),
                processors.len()
            ));
        }
        let mut by_node: HashMap<String, usize> =
            measured.iter().cloned().zip(processors.iter().copied()).collect();
        let left = &processors[measured.len()..];
        let rest = scenario.nodes.iter().filter(|node| !measured.contains(&node.name));
        for (number, node) in rest.enumerate() {
            let processor = if left.is_empty() { processors[0] } else { left[number % left.len()] };
            by_node.insert(node.name.clone(), processor);
        }
        let engine = left.last().copied().unwrap_or(processors[0]);
        Ok(Self { by_node, engine, engine_work: engine_work(scenario, home.clock) })
    }

    /// Returns the CPU of the engine's own work.
    pub fn engine_processor(&self) -> usize {
        self.engine
    }

    /// Returns the CPU of `node`.
    pub fn of(&self, node: &str) -> Option<usize> {
        self.by_node.get(node).copied()
    }

    /// Returns the other nodes on the CPU of `node`, in the scenario's order, and the engine's own work there.
    pub fn neighbours(&self, scenario: &Scenario, node: &str) -> Vec<String> {
        let shares = |other: &str| other != node && self.of(other) == self.of(node);
        let names =
            scenario.nodes.iter().filter(|other| other.kind != NodeKind::Switch || shares(&other.name));
        let nodes = names.map(|other| other.name.clone()).filter(|other| shares(other));
        let here = self.of(node) == Some(self.engine);
        let work = self.engine_work.iter().filter(|_| here).map(|work| (*work).to_owned());
        nodes.chain(work).collect()
    }

    /// Steers the receive work of `interfaces`, which all belong to `node` in `namespace`, to the node's CPU.
    pub fn steer(
        &self,
        home: &Home,
        namespace: &Namespace,
        node: &str,
        interfaces: impl Iterator<Item = String>,
    ) -> Result<()> {
        self.of(node).map_or(Ok(()), |processor| Self::steer_to(processor, home, namespace, interfaces))
    }

    /// Steers the receive work of `interfaces` in `namespace` to `processor`.
    pub fn steer_to(
        processor: usize,
        home: &Home,
        namespace: &Namespace,
        mut interfaces: impl Iterator<Item = String>,
    ) -> Result<()> {
        // The kernel in virtual time has one CPU, and nothing to steer.
        if home.clock == Clock::Virtual {
            return Ok(());
        }
        let mask = mask_text(processor);
        home.visit(namespace, || {
            // Only a sysfs mounted from within the namespace shows the namespace's interfaces.
            mount(Some("sysfs"), "/sys", Some("sysfs"), MsFlags::empty(), None::<&str>)
                .context("mounting /sys")?;
            let steered = interfaces.try_for_each(|interface| {
                let path = format!("/sys/class/net/{interface}/queues/rx-0/rps_cpus");
                fs::write(&path, &mask).with_context(|| format!("writing {mask} to {path}"))
            });
            umount2("/sys", MntFlags::MNT_DETACH).context("unmounting /sys")?;
            steered
        })
    }
}

/// Returns the work of the engine's own threads for `scenario` during the traffic.
fn engine_work(scenario: &Scenario, clock: Clock) -> Vec<&'static str> {
    let work = [
        ("delay line", delay_line::is_needed_by_any(scenario, clock)),
        ("radio channel", scenario.links.iter().any(|link| link.wlan.is_some())),
        ("packet counter", scenario.measurement.packet_sizes),
        ("queue sampler", scenario.measurement.queue_interval.is_some()),
    ];
    work.into_iter().filter(|(_, there)| *there).map(|(name, _)| name).collect()
}

/// Returns a CPU as the kernel's bitmap: hexadecimal words of 32 bits, separated by commas.
fn mask_text(processor: usize) -> String {
    let mut text = format!("{:x}", 1u32 << (processor % 32));
    for _ in 0..processor / 32 {
        text.push_str(",00000000");
    }
    text
}

/// Returns the clock of each usable CPU in MHz, by its number, if its driver reports it
/// (Documentation/admin-guide/pm/cpufreq.rst).
pub fn frequencies_mhz() -> HashMap<usize, f64> {
    let read = |processor: usize| {
        let path = format!("/sys/devices/system/cpu/cpu{processor}/cpufreq/scaling_cur_freq");
        let kilohertz: f64 = fs::read_to_string(path).ok()?.trim().parse().ok()?;
        Some((processor, kilohertz / 1e3))
    };
    usable().into_iter().filter_map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_processor_is_a_bit_of_the_bitmap() {
        assert_eq!(mask_text(0), "1");
        assert_eq!(mask_text(5), "20");
        assert_eq!(mask_text(32), "1,00000000");
        assert_eq!(mask_text(65), "2,00000000,00000000");
    }
}
