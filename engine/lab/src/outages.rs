//! Links and nodes that fail during the traffic.
//!
//! A link that is to fail has a delay line, whose inner ends go down. Both nodes then lose the carrier at once, as
//! if a cable were cut, and frames in flight are lost. The nodes' own interfaces stay up and keep their routes,
//! which the kernel ignores while there is no carrier (`ignore_routes_with_linkdown`), so that a router uses
//! another of its equal next hops. Routes are static, so no other router learns of the failure.

use crate::error::{Context, Error, Result};
use crate::kernels::Kernels;
use crate::namespace::Home;
use crate::network::{Breaker, Network};
use nettrial_scenario::{OutageRecord, Scenario, nanoseconds};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The events of a trial, which happen as long as this value lives.
pub struct Outages {
    stop: Sender<()>,
    thread: JoinHandle<Result<Vec<OutageRecord>>>,
}

/// A change at one time: event number `event` begins, or the link or node that failed returns.
struct Change {
    at_ns: u64,
    event: usize,
    returns: bool,
}

impl Outages {
    /// Starts the events of `scenario`, whose times count from now; returns `None` if it has none.
    pub fn start(
        home: &Home,
        network: &Network,
        scenario: &Scenario,
        kernels: &dyn Kernels,
    ) -> Result<Option<Self>> {
        if scenario.events.is_empty() {
            return Ok(None);
        }
        let breaker = network.breaker(home, kernels.carriers(scenario))?;
        let links: Vec<Vec<usize>> = scenario.events.iter().map(|outage| outage.links(scenario)).collect();
        let fails: Vec<Vec<String>> = scenario.events.iter().map(|outage| outage.fails.clone()).collect();
        let mut changes = Vec::new();
        for (event, outage) in scenario.events.iter().enumerate() {
            changes.push(Change { at_ns: outage.at.0, event, returns: false });
            changes.extend(outage.returns.map(|at| Change { at_ns: at.0, event, returns: true }));
        }
        changes.sort_by_key(|change| change.at_ns);
        let origin = Instant::now();
        let (stop, stopped) = channel();
        let wait = move |at_ns| {
            let left = Duration::from_nanos(at_ns).saturating_sub(origin.elapsed());
            stopped.recv_timeout(left) == Err(RecvTimeoutError::Timeout)
        };
        let thread = std::thread::Builder::new().name("outages".into());
        let thread = thread.spawn(move || happen(breaker, &changes, (&links, &fails), origin, wait));
        Ok(Some(Self { stop, thread: thread.context("starting a thread for the events")? }))
    }

    /// Ends the events, and returns those that have happened.
    pub fn finish(self) -> Result<Vec<OutageRecord>> {
        drop(self.stop);
        self.thread.join().map_err(|_| Error::Thread("the thread of the events panicked"))?
    }
}

/// Applies each change at its time, as long as `wait` returns true when the time has come.
fn happen(
    mut breaker: Breaker,
    changes: &[Change],
    (links, fails): (&[Vec<usize>], &[Vec<String>]),
    origin: Instant,
    wait: impl Fn(u64) -> bool,
) -> Result<Vec<OutageRecord>> {
    let mut records: Vec<Option<OutageRecord>> = vec![None; links.len()];
    // Several events may keep a link down at the same time.
    let mut away = vec![0_u32; links.iter().flatten().max().map_or(0, |last| last + 1)];
    for Change { at_ns, event, returns } in changes {
        if !wait(*at_ns) {
            break;
        }
        for &link in &links[*event] {
            if *returns {
                away[link] -= 1;
                if away[link] == 0 {
                    breaker.mend(link)?;
                }
            } else {
                away[link] += 1;
                if away[link] == 1 {
                    breaker.cut(link)?;
                }
            }
        }
        let now_ns = nanoseconds(origin.elapsed());
        tracing::info!(event, returns, now_ns, "a link or node has failed or returned");
        match &mut records[*event] {
            Some(record) => record.returned_ns = Some(now_ns),
            none => {
                *none = Some(OutageRecord { fails: fails[*event].clone(), at_ns: now_ns, returned_ns: None });
            }
        }
    }
    Ok(records.into_iter().flatten().collect())
}
