//! Waiting for departures without bursts and without a processor's full time.
//!
//! A sleeping thread wakes several microseconds late, so the last of a wait is spent looking at the clock
//! instead. That may take a fifth of the time. Where departures are so dense that it would take more, the
//! thread sleeps at least [`REST_NS`] at a time, and what fell due meanwhile departs together.

use crate::clock;

/// The last part of a wait, in which a sleep could be late.
const SPIN_NS: u64 = 20_000;
/// Spinning may take one in so many nanoseconds.
const SPIN_SHARE: u64 = 5;
/// Spinning that is allowed at the beginning.
const SPIN_CREDIT_NS: u64 = 1_000_000;
/// The least time between two wakings where departures are dense.
const REST_NS: u64 = 50_000;

/// Waits for the departures of one thread. Moments are of the monotonic clock.
pub struct Pacer {
    begin_ns: u64,
    spun_ns: u64,
    woken_ns: u64,
}

impl Pacer {
    /// For a flow that begins at `now_ns`, sent by the calling thread.
    pub fn new(now_ns: u64) -> Self {
        // By default the kernel may wake a thread 50 us late to save power (prctl(2)). If it does not
        // let itself be told otherwise, the lateness shows it.
        let _ = nix::sys::prctl::set_timerslack(1);
        Self { begin_ns: now_ns, spun_ns: 0, woken_ns: now_ns }
    }

    /// Waits until `due_ns` or a little longer.
    pub fn wait(&mut self, due_ns: u64) {
        let mut now_ns = clock::now_ns();
        if self.spun_ns <= SPIN_CREDIT_NS + (now_ns - self.begin_ns) / SPIN_SHARE {
            if due_ns > now_ns + SPIN_NS {
                clock::sleep_until(due_ns - SPIN_NS);
                now_ns = clock::now_ns();
            }
            let spin_ns = now_ns;
            while now_ns < due_ns {
                std::hint::spin_loop();
                now_ns = clock::now_ns();
            }
            self.spun_ns += now_ns - spin_ns;
        } else {
            clock::sleep_until(due_ns.max(self.woken_ns + REST_NS));
            now_ns = clock::now_ns();
        }
        self.woken_ns = now_ns;
    }
}
