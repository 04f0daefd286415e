//! Measures the lateness of the kernel's timers on this machine: once as a session starts, to describe the machine, and
//! during the traffic of each trial, whose warnings follow from it.
//!
//! A shaper releases each packet by a timer. On a virtual machine that shares its CPUs, a timer fires late while
//! another machine has the CPU. If other processes keep a CPU busy, the kernel leaves part of a shaper's work to a
//! thread of ordinary priority (ksoftirqd), so sleeps are measured at that priority.

use crate::affinity::{keep_to, usable};
use crate::error::{Context, Error, Result};
use nettrial_flows::statistics::Durations;
use nettrial_scenario::{Distribution, TimerLateness};
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, ClockNanosleepFlags, clock_gettime, clock_nanosleep};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

/// The requested length of each sleep, in nanoseconds: about the time that a shaper waits between two packets.
const SLEEP_NS: i64 = 200_000;
/// The number of sleeps over all CPUs together: as many as percentile 99.9 needs.
const SLEEPS: usize = 1000;
/// The largest number of CPUs that are measured. The threads on them sleep at the same time.
const PROCESSORS: usize = 8;
/// The shortest and the longest sleep during the traffic, in nanoseconds. Lengths are random, so that periodic
/// traffic can't evade them, and so long that they take less than a thousandth of a CPU.
const WATCHING_NS: std::ops::Range<i64> = 5_000_000..15_000_000;

/// Threads that measure the lateness of timers during the traffic, one on each CPU.
pub struct Watch {
    stop: Arc<AtomicBool>,
    threads: Vec<(usize, JoinHandle<Result<Durations>>)>,
}

impl Watch {
    /// Starts them on the CPUs that this process may use, or on the first few of them.
    ///
    /// # Errors
    /// Fails if a thread can't be started.
    pub fn start() -> Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let start = |processor| {
            let stop = Arc::clone(&stop);
            let name = "timer watch".to_owned();
            let thread = thread::Builder::new().name(name).spawn(move || {
                keep_to(processor);
                let mut lateness = Durations::default();
                without_slack()?;
                while !stop.load(Ordering::Relaxed) {
                    lateness.record(sleep_ns(rand::random_range(WATCHING_NS))?);
                }
                Ok(lateness)
            });
            Ok((processor, thread.context("starting a thread that watches timers")?))
        };
        let threads = usable().into_iter().take(PROCESSORS).map(start).collect::<Result<_>>()?;
        Ok(Self { stop, threads })
    }

    /// Ends them, and returns the lateness on each CPU, in microseconds, by the CPU's number.
    ///
    /// # Errors
    /// Fails if a thread failed.
    pub fn finish(self) -> Result<HashMap<usize, Distribution>> {
        self.stop.store(true, Ordering::Relaxed);
        let finish = |(processor, thread): (usize, JoinHandle<Result<Durations>>)| {
            let lateness =
                thread.join().map_err(|_| Error::Thread("a thread that watched timers ended early"))??;
            Ok((processor, lateness.distribution_us()))
        };
        self.threads.into_iter().map(finish).collect()
    }
}

/// Measures the lateness of timers on the CPUs that this process may use; this takes about 0.3 s divided by their
/// number.
///
/// # Errors
/// Fails if a thread can't be started, or if the kernel refuses to let it sleep.
pub fn measure() -> Result<TimerLateness> {
    let processors: Vec<usize> = usable().into_iter().take(PROCESSORS).collect();
    let sleeps = SLEEPS.div_ceil(processors.len().max(1));
    let measured = processors.into_iter().map(|processor| {
        let name = "timer lateness".to_owned();
        thread::Builder::new().name(name).spawn(move || {
            keep_to(processor);
            sleep_and_measure(sleeps)
        })
    });
    // All threads are started before the first is joined.
    let threads = measured.collect::<std::io::Result<Vec<_>>>().context("starting threads that sleep")?;
    let mut lateness = Vec::with_capacity(SLEEPS);
    for thread in threads {
        match thread.join() {
            Ok(measured) => lateness.extend(measured?),
            Err(_) => return Err(Error::Thread("a thread that measured the lateness of timers ended early")),
        }
    }
    summarise(lateness).ok_or_else(|| Error::Unsupported("this process may use no CPU".into()))
}

/// Returns the time, in nanoseconds, by which each of `sleeps` sleeps was longer than requested.
fn sleep_and_measure(sleeps: usize) -> Result<Vec<u64>> {
    without_slack()?;
    (0..sleeps).map(|_| sleep_ns(SLEEP_NS)).collect()
}

/// Makes the calling thread's sleeps as exact as the kernel's own timers, which have no slack; a thread's have 50 us
/// by default (prctl(2)).
fn without_slack() -> Result<()> {
    nix::sys::prctl::set_timerslack(1).context("prctl(PR_SET_TIMERSLACK)")
}

/// Sleeps for `length` nanoseconds, and returns the time, in nanoseconds, by which the sleep was longer.
fn sleep_ns(length: i64) -> Result<u64> {
    let now = || clock_gettime(ClockId::CLOCK_MONOTONIC).context("reading the monotonic clock");
    let due = now()? + TimeSpec::new(0, length);
    clock_nanosleep(ClockId::CLOCK_MONOTONIC, ClockNanosleepFlags::TIMER_ABSTIME, &due)
        .context("clock_nanosleep")?;
    let late = now()? - due;
    Ok(u64::try_from(late.tv_sec() * 1_000_000_000 + late.tv_nsec()).unwrap_or(0))
}

fn summarise(mut lateness: Vec<u64>) -> Option<TimerLateness> {
    lateness.sort_unstable();
    let last = lateness.len().checked_sub(1)?;
    // A quantile is the smallest value that at least this share of the values (per mille) do not exceed.
    let quantile =
        |per_mille: usize| lateness[(lateness.len() * per_mille).div_ceil(1000).clamp(1, last + 1) - 1];
    Some(TimerLateness { median_ns: quantile(500), p99_ns: quantile(990), p99_9_ns: quantile(999) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_values_that_so_many_do_not_exceed() {
        let found = summarise((1..=1000).rev().collect()).unwrap();
        assert_eq!((found.median_ns, found.p99_ns, found.p99_9_ns), (500, 990, 999));
        assert_eq!(summarise(vec![7]).unwrap().p99_9_ns, 7);
        assert_eq!(summarise(Vec::new()), None);
    }

    #[test]
    fn a_watch_measures_each_cpu_until_it_is_finished() {
        let mut length = std::time::Duration::from_millis(50);
        let found = loop {
            let watch = Watch::start().unwrap();
            thread::sleep(length);
            let found = watch.finish().unwrap();
            // On a busy machine, a thread may not have run in that time.
            if found.values().all(|one| one.count > 0) || length.as_secs() > 60 {
                break found;
            }
            length *= 2;
        };
        let expected: Vec<usize> = usable().into_iter().take(PROCESSORS).collect();
        let mut watched: Vec<usize> = found.keys().copied().collect();
        watched.sort_unstable();
        assert_eq!(watched, expected);
        assert!(found.values().all(|one| one.count > 0 && one.minimum > 0.0 && one.p50 <= one.maximum));
    }

    #[test]
    fn a_sleep_is_never_shorter_than_asked_and_quantiles_rise() {
        let found = measure().unwrap();
        assert!(found.median_ns <= found.p99_ns && found.p99_ns <= found.p99_9_ns);
        assert!(found.median_ns > 0, "the clock moves between waking up and reading it");
    }
}
