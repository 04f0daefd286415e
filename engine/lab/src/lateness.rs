//! Measures the lateness of the kernel's timers on this machine.
//!
//! A shaper releases each packet by a timer. On a virtual machine that shares its CPUs, a timer fires late while
//! another machine has the CPU, and the link falls short by the bytes that its bucket can't hold during that time.
//! If other processes keep a CPU busy, the kernel leaves part of a shaper's work to a thread of ordinary priority
//! (ksoftirqd), so sleeps are measured at that priority.

use crate::affinity::{keep_to, usable};
use anyhow::{Context, Result, bail};
use nettrial_scenario::TimerLateness;
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, ClockNanosleepFlags, clock_gettime, clock_nanosleep};
use std::thread;

/// The requested length of each sleep, in nanoseconds: about the time that a shaper waits between two packets.
const SLEEP_NS: i64 = 200_000;
/// The number of sleeps over all CPUs together: as many as percentile 99.9 needs.
const SLEEPS: usize = 1000;
/// The largest number of CPUs that are measured. The threads on them sleep at the same time.
const PROCESSORS: usize = 8;

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
            Err(_) => bail!("a thread that measured the lateness of timers ended early"),
        }
    }
    summarise(lateness).context("this process may use no CPU")
}

/// Returns the time, in nanoseconds, by which each of `sleeps` sleeps was longer than requested.
fn sleep_and_measure(sleeps: usize) -> Result<Vec<u64>> {
    // The kernel's own timers have no slack, but a thread's sleeps have a slack of 50 us by default (prctl(2)).
    nix::sys::prctl::set_timerslack(1).context("prctl(PR_SET_TIMERSLACK)")?;
    let now = || clock_gettime(ClockId::CLOCK_MONOTONIC).context("reading the monotonic clock");
    let sleep = |_| -> Result<u64> {
        let due = now()? + TimeSpec::new(0, SLEEP_NS);
        clock_nanosleep(ClockId::CLOCK_MONOTONIC, ClockNanosleepFlags::TIMER_ABSTIME, &due)
            .context("clock_nanosleep")?;
        let late = now()? - due;
        Ok(u64::try_from(late.tv_sec() * 1_000_000_000 + late.tv_nsec()).unwrap_or(0))
    };
    (0..sleeps).map(sleep).collect()
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
    fn a_sleep_is_never_shorter_than_asked_and_quantiles_rise() {
        let found = measure().unwrap();
        assert!(found.median_ns <= found.p99_ns && found.p99_ns <= found.p99_9_ns);
        assert!(found.median_ns > 0, "the clock moves between waking up and reading it");
    }
}
