//! Samples every shaped interface's queue while traffic goes: how long it is, and what it has passed.

use crate::affinity::keep_to;
use crate::namespace::Home;
use crate::netlink::Netlink;
use crate::network::{BuiltNode, Network, Shaped};
use crate::processors::Placement;
use crate::queue::{self, Reading};
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How often queues are read where the measurement does not ask for their lengths: only to tell whether a link
/// was saturated.
const INTERVAL: Duration = Duration::from_millis(20);
/// Then reading them takes one part in so many of a processor's time at the most.
const SPARED: u32 = 100;

/// A thread that samples.
pub struct QueueSampler {
    /// Dropped to end it.
    stop: Sender<()>,
    thread: JoinHandle<Result<Vec<Probe>>>,
}

/// What was read of one interface's queue.
pub struct Sampled {
    /// The node that sends.
    pub node: String,
    /// The interface.
    pub shaped: Shaped,
    /// Each reading and when it was made, in order.
    pub samples: Vec<(Instant, Reading)>,
}

/// A node's queues, by the interface's index.
struct Probe {
    node: String,
    shaped: Vec<Shaped>,
    netlink: Netlink,
    samples: BTreeMap<i32, Vec<(Instant, Reading)>>,
}

impl QueueSampler {
    /// Reads every shaped queue each `interval` from now on; without one as often as costs little.
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
                netlink: home.visit(&node.namespace, Netlink::open)?,
                samples: BTreeMap::new(),
            })
        };
        let shaped = network.nodes().filter(|node| !node.shaped().is_empty());
        let mut probes = shaped.map(probe).collect::<Result<Vec<Probe>>>()?;
        let (stop, stopped) = channel();
        let processor = placement.map(Placement::engine_processor);
        let thread = std::thread::Builder::new().name("queue sampler".into()).spawn(move || {
            processor.into_iter().for_each(keep_to);
            let mut next = Instant::now();
            let mut pause = interval.unwrap_or(INTERVAL);
            loop {
                // After a late sample the next is an interval later: none are made in a burst.
                next = (next + pause).max(Instant::now());
                match stopped.recv_timeout(next.saturating_duration_since(Instant::now())) {
                    Err(RecvTimeoutError::Timeout) => {
                        let begin = Instant::now();
                        probes.iter_mut().try_for_each(Probe::sample)?;
                        if interval.is_none() {
                            pause = INTERVAL.max(begin.elapsed() * SPARED);
                        }
                    }
                    _ => return Ok(probes),
                }
            }
        });
        Ok(Self { stop, thread: thread.context("starting a thread to sample queues")? })
    }

    /// Ends, and gives what was read of every shaped interface.
    pub fn finish(self) -> Result<Vec<Sampled>> {
        drop(self.stop);
        let probes = self.thread.join().map_err(|_| anyhow::anyhow!("the queue sampler ended early"))??;
        Ok(probes.into_iter().flat_map(Probe::sampled).collect())
    }
}

impl Probe {
    fn sample(&mut self) -> Result<()> {
        for reading in queue::read(&mut self.netlink)? {
            self.samples.entry(reading.index).or_default().push((Instant::now(), reading));
        }
        Ok(())
    }

    fn sampled(mut self) -> Vec<Sampled> {
        let sampled = self.shaped.into_iter().filter_map(|shaped| {
            let samples = self.samples.remove(&shaped.index)?;
            Some(Sampled { node: self.node.clone(), shaped, samples })
        });
        sampled.collect()
    }
}
