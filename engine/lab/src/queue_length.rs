//! Samples the queue of every shaped interface during the traffic: its length, and its counters.

use crate::affinity::keep_to;
use crate::clock::Clock;
use crate::error::{Context, Error, Result};
use crate::namespace::Home;
use crate::network::{BuiltNode, Network, Shaped};
use crate::processors::Placement;
use crate::queue::{self, Length, Reading};
use nettrial_netlink::Netlink;
use std::collections::BTreeMap;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The mean interval at which queues are read if the measurement does not request their lengths, only to find out
/// whether a link was saturated.
const INTERVAL: Duration = Duration::from_millis(2);
/// The reciprocal of the largest share of a CPU's time that reading them takes in that case.
const SPARED: u32 = 100;

/// A thread that samples queues.
pub struct QueueSampler {
    /// A sender that is dropped to end the thread.
    stop: Sender<()>,
    thread: JoinHandle<Result<Vec<Probe>>>,
}

/// The readings of one interface's queue.
pub struct Sampled {
    /// The node that sends.
    pub node: String,
    /// The interface.
    pub shaped: Shaped,
    /// The length of its queue in each sample, if the measurement requests it.
    pub lengths: Vec<Length>,
    /// The samples in which packets waited; `None` if no packet waited in any sample.
    pub backlog: Option<Backlog>,
}

/// The samples from the first to the last of them that saw packets wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backlog {
    /// The time of the first sample, and the bytes that had been sent by then, as they occupy the wire.
    pub begin: (Instant, u64),
    /// The time of the last sample, and the bytes that had been sent by then.
    pub end: (Instant, u64),
    /// The number of these samples, including the first and the last.
    pub samples: u32,
    /// The number of samples that saw packets wait.
    pub waiting: u32,
    /// The number of samples after the last of them.
    idle: u32,
}

impl Backlog {
    /// Returns the backlog with one more sample.
    pub fn after(backlog: Option<Self>, now: Instant, reading: &Reading) -> Option<Self> {
        let here = (now, reading.counters.wire_bytes);
        match backlog {
            Some(so_far) if reading.length.packets == 0 => Some(Self { idle: so_far.idle + 1, ..so_far }),
            Some(Self { begin, samples, waiting, idle, .. }) => {
                Some(Self { begin, end: here, samples: samples + idle + 1, waiting: waiting + 1, idle: 0 })
            }
            None if reading.length.packets == 0 => None,
            None => Some(Self { begin: here, end: here, samples: 1, waiting: 1, idle: 0 }),
        }
    }
}

/// A node's queues, by the interface's index.
struct Probe {
    node: String,
    shaped: Vec<Shaped>,
    netlink: Netlink,
    readings: BTreeMap<i32, (Vec<Length>, Option<Backlog>)>,
}

impl QueueSampler {
    /// Starts to read every shaped queue each `interval`, and to keep the lengths. Without an interval queues are
    /// read at random times, as often as is cheap, so that periodic traffic can't evade the samples; in virtual time,
    /// where wires are exact, they are not.
    pub fn start(
        home: &Home,
        network: &Network,
        interval: Option<Duration>,
        placement: Option<&Placement>,
    ) -> Result<Self> {
        let probe = |node: &BuiltNode| -> Result<Probe> {
            Ok(Probe {
                node: node.name.clone(),
                shaped: node.shaped().to_vec(),
                netlink: home.visit(&node.namespace, || Ok(Netlink::open()?))?,
                readings: BTreeMap::new(),
            })
        };
        let is_wanted = interval.is_some() || home.clock == Clock::Real;
        let shaped = network.nodes().filter(|node| is_wanted && !node.shaped().is_empty());
        let mut probes = shaped.map(probe).collect::<Result<Vec<Probe>>>()?;
        let (stop, stopped) = channel();
        let processor = placement.map(Placement::engine_processor);
        let thread = std::thread::Builder::new().name("queue sampler".into()).spawn(move || {
            processor.into_iter().for_each(keep_to);
            if probes.is_empty() {
                // It returns when the sender is dropped.
                let _ = stopped.recv();
                return Ok(probes);
            }
            let mut next = Instant::now();
            let mut pause = interval.unwrap_or(INTERVAL);
            loop {
                // After a late sample the next one follows an interval later, so that there is no burst of
                // samples.
                next = (next + pause).max(Instant::now());
                match stopped.recv_timeout(next.saturating_duration_since(Instant::now())) {
                    Err(RecvTimeoutError::Timeout) => {
                        let begin = Instant::now();
                        probes.iter_mut().try_for_each(|probe| probe.sample(interval.is_some()))?;
                        if interval.is_none() {
                            let mean = INTERVAL.max(begin.elapsed() * SPARED);
                            pause = mean.mul_f64(rand::random_range(0.5..1.5));
                        }
                    }
                    _ => return Ok(probes),
                }
            }
        });
        Ok(Self { stop, thread: thread.context("starting a thread to sample queues")? })
    }

    /// Ends sampling, and returns the readings of every shaped interface.
    pub fn finish(self) -> Result<Vec<Sampled>> {
        drop(self.stop);
        let probes = self.thread.join().map_err(|_| Error::Thread("the queue sampler ended early"))??;
        Ok(probes.into_iter().flat_map(Probe::sampled).collect())
    }
}

impl Probe {
    fn sample(&mut self, with_lengths: bool) -> Result<()> {
        for reading in queue::read(&mut self.netlink)? {
            let (lengths, backlog) = self.readings.entry(reading.index).or_default();
            lengths.extend(with_lengths.then_some(reading.length));
            *backlog = Backlog::after(*backlog, Instant::now(), &reading);
        }
        Ok(())
    }

    fn sampled(mut self) -> Vec<Sampled> {
        let sampled = self.shaped.into_iter().filter_map(|shaped| {
            let (lengths, backlog) = self.readings.remove(&shaped.index)?;
            Some(Sampled { node: self.node.clone(), shaped, lengths, backlog })
        });
        sampled.collect()
    }
}
