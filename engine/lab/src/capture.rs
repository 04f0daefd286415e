//! Captures the frames of the lab's interfaces in both directions as pcapng files, with packet sockets
//! (packet(7)).
//!
//! Frames are captured as any capture on that host sees them: outgoing frames after the queue, incoming frames
//! before the stack, and GSO or GRO packets as one. Timestamps are those of the kernel, from the wall clock.
//!
//! Cost: the kernel copies the captured part of each frame on the CPU that handles it, and a thread writes the
//! files on the engine's own CPU. The thread's CPU time is measured, and a warning in the record states it,
//! because the trial's figures include it. In virtual time a capture takes no time.

use crate::affinity::keep_to;
use crate::clock::Clock;
use crate::error::{Context, Error, Result};
use crate::namespace::Home;
use crate::network::Network;
use crate::packet_socket::{Intake, Ring, overflow};
use crate::processors::Placement;
use nettrial_capture::{Capture, LinkType};
use nettrial_scenario::{Capture as Settings, Warning};
use nix::time::{ClockId, clock_gettime};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The time that frames may wait in the rings.
const PAUSE: Duration = Duration::from_millis(2);
/// The largest size of all rings together and of each ring, in bytes.
const ALL_BYTES: usize = 512 << 20;
const RING_BYTES: usize = 32 << 20;
/// The least number of frames that a ring holds.
const LEAST_FRAMES: usize = 64;

/// A thread that captures frames.
pub struct Capturing {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Result<Done>>,
    began: Instant,
}

/// The outcome of a capture.
struct Done {
    interfaces: usize,
    frames: u64,
    missed: u64,
    /// The CPU time of the thread.
    cpu: Duration,
}

/// A captured interface: its socket, the ring of the socket, and the file.
struct Tap {
    ring: Ring,
    socket: OwnedFd,
    file: Capture,
}

impl Capturing {
    /// Starts to capture at the interfaces that `settings` name.
    pub fn start(
        settings: &Settings,
        home: &Home,
        network: &Network,
        placement: Option<&Placement>,
    ) -> Result<Self> {
        let wanted = |node: &str, interface: &str| settings.includes(node, interface);
        let count: usize = network
            .nodes()
            .map(|node| node.interfaces().iter().filter(|(name, _)| wanted(&node.name, name)).count())
            .sum();
        let snap_bytes = settings.snap_bytes as usize;
        let slots = ((ALL_BYTES / count.max(1)).min(RING_BYTES) / (snap_bytes + 128)).max(LEAST_FRAMES);
        let mut taps = Vec::new();
        for node in network.nodes() {
            let tap = |(interface, index): &(String, i32)| -> Result<Tap> {
                let ring = Ring::open(*index, Intake::Captured, snap_bytes, slots)?;
                let socket = ring.socket()?;
                let name = settings.file_name(&node.name, interface);
                let directory = Path::new(&settings.directory);
                let file = Capture::create(directory, &name, interface, LinkType::Ethernet, snap_bytes)?;
                Ok(Tap { ring, socket, file })
            };
            let chosen = || node.interfaces().iter().filter(|(name, _)| wanted(&node.name, name));
            let opened = home.visit(&node.namespace, || chosen().map(tap).collect());
            taps.extend::<Vec<Tap>>(opened.with_context(|| format!("capturing packets of {}", node.name))?);
        }
        let stop = Arc::new(AtomicBool::new(false));
        let (stopped, processor) = (stop.clone(), placement.map(Placement::engine_processor));
        let thread = std::thread::Builder::new().name("capture".into()).spawn(move || {
            processor.into_iter().for_each(keep_to);
            let mut failure = None;
            while !stopped.load(Relaxed) {
                std::thread::sleep(PAUSE);
                taps.iter_mut().for_each(|tap| {
                    failure = failure.take().or(tap.drain().err());
                });
            }
            failure.map_or(Ok(()), Err)?;
            finish(taps)
        });
        Ok(Self {
            stop,
            thread: thread.context("starting a thread to capture packets")?,
            began: Instant::now(),
        })
    }

    /// Ends the capture, completes the files, and returns the record's warning about it, if there is something to warn
    /// of. `of_channels` has the numbers of frames that the threads of radio channels have captured.
    pub fn finish(self, of_channels: &[u64], clock: Clock) -> Result<Option<Warning>> {
        let elapsed = self.began.elapsed();
        self.stop.store(true, Relaxed);
        let mut done = self.thread.join().map_err(|_| Error::Thread("the capture ended early"))??;
        done.interfaces += of_channels.len();
        done.frames += of_channels.iter().sum::<u64>();
        Ok(done.warning(elapsed, clock))
    }
}

impl Done {
    /// Returns what to warn of after a capture that took this long: its cost where it has one, and the frames that are
    /// missing.
    fn warning(&self, elapsed: Duration, clock: Clock) -> Option<Warning> {
        let Self { interfaces, frames, missed, cpu } = self;
        let missing = format!("{missed} frames arrived too fast and are missing from the files");
        let percent = 100.0 * cpu.as_secs_f64() / elapsed.as_secs_f64().max(1e-9);
        let cost = format!(
            "{frames} frames were captured, which took {percent:.1}% of a CPU in addition to the kernel's copying: the \
             trial's throughput, delays and CPU figures include that cost"
        );
        let (message, consequence) = match (clock, missed) {
            (Clock::Virtual, 0) => return None,
            (Clock::Virtual, _) => (missing, "capture fewer interfaces or fewer bytes of each frame"),
            (Clock::Real, _) => (
                if *missed == 0 { cost } else { format!("{cost}; {missing}") },
                "capture fewer interfaces, fewer bytes of each frame or fewer trials, and take figures from trials \
                 without a capture",
            ),
        };
        Some(Warning::new("captured", &format!("{interfaces} interfaces"), message, consequence))
    }
}

fn finish(mut taps: Vec<Tap>) -> Result<Done> {
    let mut done = Done { interfaces: taps.len(), frames: 0, missed: 0, cpu: Duration::ZERO };
    for tap in &mut taps {
        tap.drain()?;
        done.missed += overflow(&tap.socket)?;
    }
    for tap in taps {
        done.frames += tap.file.packets();
        tap.file.finish()?;
    }
    let cpu = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).context("reading a thread's CPU time")?;
    done.cpu = Duration::from(cpu);
    Ok(done)
}

impl Tap {
    /// Writes the frames captured so far, in the order in which the kernel saw them.
    fn drain(&mut self) -> Result<()> {
        let mut last_ns = 0;
        while let Some(slot) = self.ring.peek() {
            last_ns = last_ns.max(slot.arrived_unix_ns);
            self.file.add(slot.arrived_unix_ns, slot.length as usize, slot.bytes);
            self.ring.release();
        }
        // Frames that two CPUs handle at once may be out of order in the ring, so the last ones wait for the next
        // turn.
        Ok(self.file.release(last_ns.saturating_sub(PAUSE.as_nanos() as u64))?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Only a capture that takes time, or misses frames, deserves a warning.
    #[test]
    fn a_capture_is_warned_of_where_it_costs_something() {
        let done = |missed| Done { interfaces: 2, frames: 100, missed, cpu: Duration::from_millis(10) };
        let said = |missed, clock| {
            done(missed).warning(Duration::from_millis(100), clock).map(|warning| warning.message)
        };
        assert_eq!(said(0, Clock::Virtual), None);
        let missing = "3 frames arrived too fast and are missing from the files";
        assert_eq!(said(3, Clock::Virtual).as_deref(), Some(missing));
        assert!(said(0, Clock::Real).unwrap().contains("took 10.0% of a CPU"));
        assert!(said(3, Clock::Real).unwrap().ends_with(missing));
    }
}
