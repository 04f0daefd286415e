//! Measures the CPU time that the lab's shapers take on the CPUs of measured hosts, since a host outside the lab has none.
//!
//! A timer interrupts each CPU about 1,003 times a second, and the kernel stores the stack of functions that it interrupted
//! (perf_event_open(2), the event cpu-clock). The share of samples within HTB or a qdisc's watchdog timer is their share of
//! the CPU. Its standard error is below 0.4% of the CPU in a trial of 2 s (binomial, a share of 10%). What a shaper
//! causes elsewhere is not included: entering the timer's interrupt, and soft interrupts in which a packet that has
//! waited is sent.

use crate::affinity;
use crate::error::{Context, Error, Result};
use crate::processors::Placement;
use nettrial_scenario::{Link, Scenario, chain};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::eventfd::{EfdFlags, EventFd};
use perf_event::data::Record;
use perf_event::events::Software;
use perf_event::{Builder, SampleFlag, Sampler};
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::ops::Range;
use std::os::fd::AsFd;
use std::sync::OnceLock;
use std::thread::{self, JoinHandle};

/// The time between two samples in nanoseconds. It is a prime number, so that periodic work can't stay in step with it.
const PERIOD_NS: u64 = 997_001;
/// The largest number of functions in a sample: a shaper's are among the last that were called.
const DEPTH: u16 = 24;
/// The samples that the kernel keeps until they are read, bytes for each CPU: those of more than a second.
const BUFFER_BYTES: usize = 256 * 1024;
/// The time after which samples are read, milliseconds.
const READING_MS: u16 = 200;

/// A thread that collects samples of some CPUs.
pub struct Watch {
    stop: EventFd,
    thread: JoinHandle<Vec<(usize, Samples)>>,
}

/// The samples of a CPU.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Samples {
    all: u64,
    of_shapers: u64,
    lost: u64,
}

/// Describes in words how the shapers' CPU time is counted on this machine.
pub fn description() -> String {
    let counted = Functions::of_this_kernel().and_then(|_| sampler(affinity::usable()[0]));
    match counted {
        Ok(_) => "counted apart from the hosts', by samples of the kernel's stacks".into(),
        Err(error) => format!("counted as the hosts': {}", chain(&error)),
    }
}

/// The shapers' share of the time of each measured CPU, in percent, by its number, or the reason why it is unknown.
pub type Shares = Result<HashMap<usize, f64>, String>;

impl Watch {
    /// Starts to sample the CPUs on which `placement` keeps the measured hosts of `scenario`; returns nothing if no host
    /// is measured or no link is shaped.
    pub fn of_hosts(scenario: &Scenario, placement: Option<&Placement>) -> Option<Result<Self, String>> {
        let placement = placement?;
        scenario.links.iter().any(Link::is_shaped).then(|| {
            let processors = scenario.measurement.cpu.iter().filter_map(|host| placement.of(host));
            Self::start(&processors.collect::<Vec<_>>(), placement.engine_processor())
        })
    }

    /// Starts to sample `processors`; the thread runs on the CPU `own`.
    ///
    /// # Errors
    /// Returns the reason why the kernel can't be sampled here.
    pub fn start(processors: &[usize], own: usize) -> Result<Self, String> {
        Self::try_start(processors, own).map_err(|error| chain(&error))
    }

    fn try_start(processors: &[usize], own: usize) -> Result<Self> {
        let functions = Functions::of_the_lab()?;
        let open = |&processor: &usize| Ok((processor, sampler(processor)?));
        let mut samplers: Vec<(usize, Sampler)> = processors.iter().map(open).collect::<Result<_>>()?;
        for (_, sampler) in &mut samplers {
            sampler.enable().context("starting a sampling timer")?;
        }
        let stop = EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?;
        let stopped = stop.as_fd().try_clone_to_owned()?;
        let collect = move || {
            affinity::keep_to(own);
            let mut samples: Vec<_> =
                samplers.iter().map(|(number, _)| (*number, Samples::default())).collect();
            loop {
                let mut waiting = [PollFd::new(stopped.as_fd(), PollFlags::POLLIN)];
                // An interrupted wait reads early, which is harmless.
                let ends = matches!(poll(&mut waiting, PollTimeout::from(READING_MS)), Ok(1));
                if ends {
                    samplers.iter_mut().for_each(|(_, sampler)| drop(sampler.disable()));
                }
                for ((_, sampler), (_, samples)) in samplers.iter_mut().zip(&mut samples) {
                    samples.read(sampler, functions);
                }
                if ends {
                    return samples;
                }
            }
        };
        let thread = thread::Builder::new().name("stack sampler".into()).spawn(collect);
        Ok(Self { stop, thread: thread.context("starting a thread that collects samples")? })
    }

    /// Ends the sampling, and returns the shapers' share of each CPU's time.
    pub fn finish(self) -> Shares {
        let ended = self.stop.write(1).map_err(|error| error.to_string());
        let samples = ended.and_then(|_| self.thread.join().map_err(|_| "the thread ended early".to_owned()));
        let samples = samples.map_err(|error| format!("collecting samples: {error}"))?;
        let percent = |(number, samples): (usize, Samples)| match samples.percent() {
            Some(percent) => Ok((number, percent)),
            None => Err(format!("CPU {number}: {} of its samples were lost", samples.lost)),
        };
        samples.into_iter().map(percent).collect()
    }
}

impl Samples {
    fn read(&mut self, sampler: &mut Sampler, functions: &Functions) {
        while let Some(record) = sampler.next_record() {
            match record.parse_record() {
                Ok(Record::Sample(sample)) => {
                    let stack = sample.callchain().unwrap_or_default();
                    self.all += 1;
                    self.of_shapers += u64::from(stack.iter().any(|&address| functions.contain(address)));
                }
                Ok(Record::Lost(lost)) => self.lost += lost.lost,
                _ => {}
            }
        }
    }

    /// Returns the percentage of samples within shapers; nothing if too many samples are missing to tell.
    fn percent(self) -> Option<f64> {
        let enough = self.all > 0 && self.lost * 100 < self.all;
        enough.then(|| self.of_shapers as f64 / self.all as f64 * 100.0)
    }
}

/// Returns a timer that samples the stacks on a CPU, not yet started.
fn sampler(processor: usize) -> Result<Sampler> {
    let counter = Builder::new(Software::CPU_CLOCK)
        .any_pid()
        .one_cpu(processor)
        .sample_period(PERIOD_NS)
        .sample(SampleFlag::CALLCHAIN)
        .sample_max_stack(DEPTH)
        .exclude_callchain_user(true)
        .include_kernel()
        .build()
        .with_context(|| format!("opening a sampling timer on CPU {processor}"))?;
    counter.sampled(BUFFER_BYTES).context("mapping the buffer of samples")
}

/// The places of functions in the kernel's memory.
struct Functions(Vec<Range<u64>>);

impl Functions {
    /// Returns the functions of this kernel's shapers, once a shaper exists. They are looked up once, because the list has
    /// 100,000 lines, and a trial should not begin with reading it.
    fn of_the_lab() -> Result<&'static Self> {
        static FUNCTIONS: OnceLock<Functions> = OnceLock::new();
        if let Some(known) = FUNCTIONS.get() {
            return Ok(known);
        }
        let functions = Self::of_this_kernel()?;
        Ok(FUNCTIONS.get_or_init(|| functions))
    }

    /// Returns those that the kernel has now: a module's are there only while it is loaded.
    fn of_this_kernel() -> Result<Self> {
        let symbols = File::open("/proc/kallsyms").context("opening /proc/kallsyms")?;
        Self::of_shapers(BufReader::new(symbols))
    }

    /// Returns the functions of the shapers, from the kernel's list of symbols (`/proc/kallsyms`).
    ///
    /// # Errors
    /// Fails if there are none, or if the kernel hides its addresses.
    fn of_shapers(symbols: impl BufRead) -> Result<Self> {
        let mut places: Vec<(u64, bool)> = Vec::new();
        for line in symbols.lines() {
            let line = line.context("reading /proc/kallsyms")?;
            let mut words = line.split_whitespace();
            let (Some(address), Some(kind), Some(name)) = (words.next(), words.next(), words.next()) else {
                continue;
            };
            if kind.eq_ignore_ascii_case("t") {
                let shapes = name.starts_with("htb_") || name.starts_with("qdisc_watchdog");
                places.push((
                    u64::from_str_radix(address, 16)
                        .map_err(|error| Error::Kernel(format!("/proc/kallsyms: {address:?}: {error}")))?,
                    shapes,
                ));
            }
        }
        places.sort_unstable();
        let ranges = places.windows(2).filter(|pair| pair[0].1).map(|pair| pair[0].0..pair[1].0);
        let ranges: Vec<_> = ranges.filter(|range| !range.is_empty()).collect();
        if ranges.is_empty() {
            let why = "the kernel shows no addresses of its shapers in /proc/kallsyms (kernel.kptr_restrict hides them)";
            return Err(Error::Kernel(why.into()));
        }
        Ok(Self(ranges))
    }

    fn contain(&self, address: u64) -> bool {
        self.0.iter().any(|range| range.contains(&address))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SYMBOLS: &[u8] = b"ffffffff81000000 T _text
ffffffff81000200 t htb_dequeue
ffffffff81000500 t fifo_init
ffffffff81000400 t qdisc_watchdog
ffffffff81000100 D htb_qdisc_ops
ffffffffc0000000 t nft_do_chain\t[nf_tables]
";

    #[test]
    fn functions_of_shapers_are_those_of_htb_and_of_watchdogs() {
        let functions = Functions::of_shapers(SYMBOLS).expect("there are some");
        let inside =
            [0xffff_ffff_8100_0200, 0xffff_ffff_8100_03ff, 0xffff_ffff_8100_0400, 0xffff_ffff_8100_04ff];
        let outside =
            [0xffff_ffff_8100_0100, 0xffff_ffff_8100_01ff, 0xffff_ffff_8100_0500, 0xffff_ffff_c000_0000];
        assert!(inside.iter().all(|&address| functions.contain(address)));
        assert!(!outside.iter().any(|&address| functions.contain(address)));
    }

    #[test]
    fn a_kernel_that_hides_its_addresses_is_an_error() {
        let hidden = b"0000000000000000 T _text\n0000000000000000 t htb_dequeue\n";
        assert!(
            Functions::of_shapers(&hidden[..])
                .is_err_and(|error| error.to_string().contains("kptr_restrict"))
        );
    }

    #[test]
    fn a_share_needs_nearly_all_samples() {
        let samples = Samples { all: 2000, of_shapers: 100, lost: 0 };
        assert_eq!(samples.percent(), Some(5.0));
        assert_eq!(Samples { lost: 20, ..samples }.percent(), None);
        assert_eq!(Samples::default().percent(), None);
    }

    #[test]
    fn an_idle_machine_has_samples_and_hardly_any_of_shapers() {
        let processor = affinity::usable()[0];
        // At some moment, the trials that other tests run leave the CPU alone.
        for attempt in 1.. {
            let Ok(watch) = Watch::start(&[processor], processor) else { return };
            thread::sleep(std::time::Duration::from_millis(500));
            let shares = watch.finish().expect("nothing is lost");
            if shares[&processor] < 20.0 {
                break;
            }
            assert!(attempt < 100, "{shares:?}");
        }
    }
}
