//! Watches the machine during the traffic: its CPUs, its clocks and its other processes.

use crate::awake::Awake;
use crate::clock::Clock;
use crate::error::{Context, Result};
use crate::processors::{self, Placement};
use crate::shaper_time::{self, Shares};
use crate::{affinity, lateness};
use nettrial_scenario::{Distribution, DisturbanceRecord, Scenario};
use nettrial_session::{Agents, Census, Reading, Use};
use nix::time::{ClockId, clock_gettime};
use std::collections::HashMap;

/// A running observation of the machine. Idle CPUs do not halt while it lives.
pub struct MachineWatch {
    clock: Clock,
    part_of_trial: Vec<u32>,
    bystanders: Option<Census>,
    clock_offset_ns: i64,
    timers: Option<lateness::Watch>,
    idle: Reading,
    shapers: Option<Result<shaper_time::Watch, String>>,
    awake: Awake,
}

/// The state of the machine during the traffic.
pub struct MachineUse {
    /// The use of each usable CPU, by its number; empty in virtual time, where computing takes none.
    pub processors: Vec<(usize, Use)>,
    /// The frequency of each CPU in MHz at the end of the traffic, as far as it is known.
    pub frequencies_mhz: HashMap<usize, f64>,
    /// The lateness of timers on each CPU, in microseconds.
    pub timer_lateness_us: HashMap<usize, Distribution>,
    /// The share of each host's CPU that the shapers used, in percent; `None` if no host's CPU time is measured.
    pub shapers_percent: Option<Shares>,
    /// The share of one CPU that processes outside of the trial used, in percent; `None` if it is not known.
    pub bystander_percent: Option<f64>,
    /// The change of the wall clock against the monotonic clock, in nanoseconds.
    pub clock_step_ns: i64,
}

impl MachineUse {
    /// Returns what else happened on the machine; `None` in virtual time, which it does not change.
    pub fn disturbances(&self) -> Option<DisturbanceRecord> {
        let (_, first) = self.processors.first()?;
        let stolen = |most: f64, (_, spent): &(usize, Use)| most.max(spent.steal_percent);
        let late = self.timer_lateness_us.values().map(|late| late.maximum);
        Some(DisturbanceRecord {
            machine: "this machine".into(),
            other_work_percent: self.bystander_percent,
            stolen_percent: Some(self.processors.iter().fold(first.steal_percent, stolen)),
            timer_lateness_us: late.reduce(f64::max),
            clock_step_ns: Some(self.clock_step_ns),
        })
    }
}

impl MachineWatch {
    /// Starts to watch the machine of a trial with these agents.
    pub fn start(
        clock: Clock,
        agents: &Agents,
        scenario: &Scenario,
        placement: Option<&Placement>,
    ) -> Result<Self> {
        let part_of_trial: Vec<u32> = agents.processes().chain([std::process::id()]).collect();
        Ok(Self {
            clock,
            bystanders: Census::take(&part_of_trial),
            part_of_trial,
            clock_offset_ns: clock_offset_ns()?,
            timers: clock.measured(|| lateness::Watch::start().map(Some))?,
            awake: Awake::begin(),
            shapers: shaper_time::Watch::of_hosts(scenario, placement),
            idle: Reading::now()?,
        })
    }

    /// Ends the observation, and returns its results.
    pub fn finish(self) -> Result<MachineUse> {
        let frequencies_mhz = processors::frequencies_mhz();
        let busy = Reading::now()?;
        let shapers_percent = self.shapers.map(|watch| watch.and_then(shaper_time::Watch::finish));
        drop(self.awake);
        let timer_lateness_us = self.timers.map_or_else(|| Ok(HashMap::new()), lateness::Watch::finish)?;
        Ok(MachineUse {
            processors: match self.clock {
                Clock::Real => usage(&self.idle, &busy),
                Clock::Virtual => Vec::new(),
            },
            frequencies_mhz,
            timer_lateness_us,
            shapers_percent,
            bystander_percent: bystander_percent(self.bystanders.as_ref(), &self.part_of_trial),
            clock_step_ns: clock_offset_ns()? - self.clock_offset_ns,
        })
    }
}

/// Returns the share of one CPU that processes outside of the trial used since the census `before`, in percent.
fn bystander_percent(before: Option<&Census>, part_of_trial: &[u32]) -> Option<f64> {
    let before = before?;
    Some(before.percent_until(&Census::take(part_of_trial)?))
}

/// Returns the time of the wall clock minus that of the monotonic clock, in nanoseconds.
fn clock_offset_ns() -> Result<i64> {
    let read = |clock| -> Result<i64> {
        let time = clock_gettime(clock).context("reading a clock")?;
        Ok(time.tv_sec() * 1_000_000_000 + time.tv_nsec())
    };
    Ok(read(ClockId::CLOCK_REALTIME)? - read(ClockId::CLOCK_MONOTONIC)?)
}

/// Returns the use of each usable CPU during the traffic, by its number.
fn usage(before: &Reading, after: &Reading) -> Vec<(usize, Use)> {
    let all = before.until(after);
    let spent = |processor| Some((processor, *all.get(&processor)?));
    affinity::usable().into_iter().filter_map(spent).collect()
}
