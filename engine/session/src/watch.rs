//! Watches whether processes of this machine get a CPU in time: a thread that wakes every 20 ms notes its
//! lateness. The work of an agent is delayed by as much.

use nettrial_scenario::nanoseconds;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The time for which the thread of a watch sleeps.
const PERIOD: Duration = Duration::from_millis(20);

/// A running watch, which ends when it is dropped.
pub struct Watch {
    latest_ns: Arc<AtomicU64>,
    ended: Arc<AtomicBool>,
}

impl Watch {
    /// Starts a watch.
    pub fn start() -> Self {
        let watch = Self { latest_ns: Arc::default(), ended: Arc::default() };
        let (latest_ns, ended) = (Arc::clone(&watch.latest_ns), Arc::clone(&watch.ended));
        std::thread::spawn(move || {
            while !ended.load(Ordering::Relaxed) {
                let began = Instant::now();
                std::thread::sleep(PERIOD);
                let late = began.elapsed().saturating_sub(PERIOD);
                latest_ns.fetch_max(nanoseconds(late), Ordering::Relaxed);
            }
        });
        watch
    }

    /// Returns the largest lateness since the last call, in nanoseconds.
    pub fn latest_ns(&self) -> u64 {
        self.latest_ns.swap(0, Ordering::Relaxed)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sleeping_takes_a_little_longer_than_asked_for() {
        let watch = Watch::start();
        while watch.latest_ns() == 0 {
            std::thread::sleep(PERIOD);
        }
    }
}
