//! Waits for departures without bursts and without taking all of a CPU's time.
//!
//! A sleeping thread wakes several microseconds late, so the thread polls the clock in the last part of a wait.
//! This may take a fifth of the time. If departures are so dense that it would take more, the thread sleeps at
//! least [`REST_NS`] at a time, and all packets that became due meanwhile depart together. In virtual time the thread sleeps
//! until each departure: it wakes at that very time.

use crate::platform;

/// The last part of a wait, in which the thread polls the clock because a sleep could be late.
const SPIN_NS: u64 = 20_000;
/// Polling may take one in this many nanoseconds.
const SPIN_SHARE: u64 = 5;
/// The polling time that is allowed at the start.
const SPIN_CREDIT_NS: u64 = 1_000_000;
/// The shortest time between two wakings if departures are dense.
const REST_NS: u64 = 50_000;
/// Departures are dense if at least this many fall into a rest.
const DENSE: u64 = 5;

/// Waits for the departures of one thread. Times are those of the monotonic clock.
pub struct Pacer {
    begin_ns: u64,
    spun_ns: u64,
    woken_ns: u64,
    /// True if sleeps end at the very time.
    is_exact: bool,
}

impl Pacer {
    /// Creates a pacer for a flow that begins at `now_ns` and that the calling thread sends.
    pub fn new(now_ns: u64) -> Self {
        platform::wake_promptly();
        Self { begin_ns: now_ns, spun_ns: 0, woken_ns: now_ns, is_exact: platform::is_time_virtual() }
    }

    /// Waits at `now_ns` until `due_ns` or a little longer, after `departed` packets of the flow. Returns the time then.
    pub fn wait(&mut self, due_ns: u64, now_ns: u64, departed: u64) -> u64 {
        if self.is_exact {
            if due_ns > now_ns {
                platform::sleep_until(due_ns);
            }
            return due_ns.max(now_ns);
        }
        let elapsed_ns = now_ns - self.begin_ns;
        if departed / DENSE > elapsed_ns / REST_NS || self.spun_ns > SPIN_CREDIT_NS + elapsed_ns / SPIN_SHARE
        {
            self.rest(due_ns, now_ns)
        } else if due_ns > now_ns {
            self.spin(due_ns, now_ns)
        } else {
            now_ns
        }
    }

    /// Sleeps for a rest, unless the departure became due since the last rest began.
    fn rest(&mut self, due_ns: u64, now_ns: u64) -> u64 {
        if due_ns <= self.woken_ns {
            return now_ns;
        }
        platform::sleep_until(due_ns.max(self.woken_ns + REST_NS));
        self.woken_ns = platform::now_ns();
        self.woken_ns
    }

    fn spin(&mut self, due_ns: u64, mut now_ns: u64) -> u64 {
        if due_ns > now_ns + SPIN_NS {
            platform::sleep_until(due_ns - SPIN_NS);
            now_ns = platform::now_ns();
        }
        let spin_ns = now_ns;
        while now_ns < due_ns {
            std::hint::spin_loop();
            now_ns = platform::now_ns();
        }
        self.spun_ns += now_ns - spin_ns;
        self.woken_ns = now_ns;
        now_ns
    }
}
