//! The point at which threads wait for each other.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The number of looks at the others before a waiting thread offers its CPU to another one: some 20 us, in which
/// another thread on a CPU of its own usually arrives.
const LOOKS: u32 = 5000;

/// A barrier for threads that wait for each other so often that sleeping would take most of the time.
#[derive(Debug)]
pub struct Barrier {
    threads: usize,
    /// The number of times that a thread has arrived.
    arrived: AtomicUsize,
    /// True if a thread has panicked, so that it will not arrive.
    is_broken: AtomicBool,
}

/// Breaks the barrier if its thread panics.
struct Guard<'a>(&'a Barrier);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.is_broken.store(true, Ordering::Release);
        }
    }
}

impl Barrier {
    /// Returns a barrier for that many threads.
    pub fn new(threads: usize) -> Self {
        Self { threads, arrived: AtomicUsize::new(0), is_broken: AtomicBool::new(false) }
    }

    /// Calls `work`, which may wait at the barrier. If it panics, no other thread waits for it.
    pub fn guard(&self, work: impl FnOnce()) {
        let _guard = Guard(self);
        work();
    }

    /// Waits until all threads have arrived. Returns false if one of them never will.
    #[must_use]
    pub fn wait(&self) -> bool {
        let before = self.arrived.fetch_add(1, Ordering::AcqRel);
        let all = before - before % self.threads + self.threads;
        let mut looks = 0;
        while self.arrived.load(Ordering::Acquire) < all {
            if self.is_broken.load(Ordering::Acquire) {
                return false;
            }
            looks += 1;
            if looks < LOOKS { spin_loop() } else { std::thread::yield_now() }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_passes_before_all_have_arrived() {
        let (barrier, steps) = (Barrier::new(3), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for step in 0..1000 {
                        steps.fetch_add(1, Ordering::AcqRel);
                        assert!(barrier.wait());
                        assert!(steps.load(Ordering::Acquire) >= 3 * (step + 1));
                        assert!(barrier.wait());
                    }
                });
            }
        });
        assert_eq!(steps.into_inner(), 3000);
    }

    #[test]
    fn nobody_waits_for_a_thread_that_panicked() {
        let barrier = Barrier::new(2);
        let panicked = std::thread::scope(|scope| {
            let one = scope.spawn(|| barrier.guard(|| panic!("as meant")));
            let other = scope.spawn(|| barrier.wait());
            (one.join().is_err(), other.join().unwrap())
        });
        assert_eq!(panicked, (true, false));
    }
}
