//! The timers of a subflow, based on wake-ups that can't be cancelled.

use crate::{Endpoint, Io, Time};

/// An event in time for which a subflow waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timer {
    /// The retransmission timer, whatever its purpose.
    Retransmit = 0,
    /// A delayed acknowledgment.
    Acknowledge = 1,
    /// A pause because of pacing, or for lack of room in the host's own interface.
    Send = 2,
    /// The end of the time for which acknowledgments of out-of-order data are held back.
    Compress = 3,
}

/// The purpose of the retransmission timer. There is one timer for all purposes, as in Linux (icsk_pending).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Purpose {
    /// A timeout.
    #[default]
    Timeout,
    /// A tail loss probe.
    Probe,
    /// The end of RACK's reordering window.
    Reordering,
    /// A probe of a window that is too small, or another attempt after a local drop.
    Window,
}

/// The number of timers.
const COUNT: usize = 4;

/// The timers of a subflow. Each has at most one pending wake-up while its time only moves later.
#[derive(Debug)]
pub struct Timers {
    pub(super) due: [Time; COUNT],
    pub(super) waking: [Time; COUNT],
    /// The purpose of [`Timer::Retransmit`].
    pub purpose: Purpose,
}

impl Default for Timers {
    fn default() -> Self {
        Self { due: [Time::NEVER; COUNT], waking: [Time::NEVER; COUNT], purpose: Purpose::Timeout }
    }
}

impl Timers {
    /// Sets a timer to the time `at` instead of its previous one. [`Timer::Retransmit`] and [`Timer::Acknowledge`] fire
    /// at a tick after it.
    pub fn set(&mut self, timer: Timer, at: Time, me: Endpoint, io: &mut dyn Io) {
        let at = match timer {
            Timer::Retransmit | Timer::Acknowledge => io.wheel().fires_at(io.now(), at),
            Timer::Send | Timer::Compress => at,
        };
        self.arm(timer, at, me, io);
    }

    fn arm(&mut self, timer: Timer, at: Time, me: Endpoint, io: &mut dyn Io) {
        let timer = timer as usize;
        self.due[timer] = at;
        if at < self.waking[timer] {
            self.waking[timer] = at;
            io.wake(me, at);
        }
    }

    /// Stops a timer.
    pub fn stop(&mut self, timer: Timer) {
        self.due[timer as usize] = Time::NEVER;
        if timer == Timer::Retransmit {
            self.purpose = Purpose::Timeout;
        }
    }

    /// Returns the time at which a timer is due, if it is set.
    pub fn due(&self, timer: Timer) -> Option<Time> {
        Some(self.due[timer as usize]).filter(|&due| due != Time::NEVER)
    }

    /// Handles a wake-up. Returns whether the timer is due; if it is set to a later time, it is woken again then.
    pub fn take(&mut self, timer: Timer, me: Endpoint, io: &mut dyn Io) -> bool {
        let now = io.now();
        let index = timer as usize;
        if self.waking[index] <= now {
            self.waking[index] = Time::NEVER;
        }
        let due = self.due[index];
        if due <= now {
            self.due[index] = Time::NEVER;
            return true;
        }
        if due != Time::NEVER {
            self.arm(timer, due, me, io);
        }
        false
    }
}
