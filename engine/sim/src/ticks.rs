//! The ticks at which a kernel's timers fire (kernel/time/timer.c).
//!
//! The ticks of all hosts are at the same moments, as in a kernel with several network namespaces. They begin with the
//! simulation, while a kernel that has run for some time has them at any other moment. High-resolution timers, as those
//! of pacing, have no ticks.

use crate::Time;

/// The base-2 logarithm of the number of buckets of each level of the wheel (LVL_BITS).
const BUCKETS_LOG2: u32 = 6;
/// The base-2 logarithm of the ratio of two adjacent levels' granularities (LVL_CLK_SHIFT).
const RATIO_LOG2: u32 = 3;
/// The number of levels (LVL_DEPTH).
const LEVELS: u32 = 9;

/// A kernel's timer wheel, on which a timer fires the less exactly the later it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wheel {
    /// The time between two ticks (1 / HZ).
    pub tick: Time,
    /// The time from a tick whose number is a multiple of all granularities to the simulation's beginning.
    pub before: Time,
}

impl Wheel {
    /// The wheel of a kernel with 1000 ticks per second that has just booted, at tick -300,000 (INITIAL_JIFFIES).
    pub const LINUX: Self =
        Self { tick: Time::from_ms(1), before: Time::from_ms((1 << (RATIO_LOG2 * (LEVELS - 1))) - 300_000) };

    /// Returns the time at which a timer fires that is set at `now` to `at`: the next tick after it at the granularity
    /// of its level (calc_wheel_index, calc_index).
    pub fn fires_at(self, now: Time, at: Time) -> Time {
        let wait = at.since(now).0.div_ceil(self.tick.0);
        let is_beyond = |level: &u32| wait >= ((1 << BUCKETS_LOG2) - 1) << (RATIO_LOG2 * level);
        let shift = RATIO_LOG2 * (0..LEVELS - 1).take_while(is_beyond).count() as u32;
        let expires = (self.before + now).0 / self.tick.0 + wait;
        let bucket = ((expires >> shift) + 1) << shift;
        Time(bucket * self.tick.0 - self.before.0)
    }

    /// Returns the shortest time of whole ticks that is not shorter than `span` (usecs_to_jiffies).
    pub fn whole(self, span: Time) -> Time {
        Time(span.0.div_ceil(self.tick.0).saturating_mul(self.tick.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The times that the kernel's wheel gives to the usual timers: a delayed acknowledgment, the smallest timeout, and
    /// those that follow it.
    #[test]
    fn a_timer_fires_at_a_tick_of_its_level() {
        let fires = |now_us, wait_us| {
            Wheel::LINUX.fires_at(Time::from_us(now_us), Time::from_us(now_us + wait_us)).0
                / Time::from_ms(1).0
        };
        let each =
            [(0, 40_000), (300, 40_000), (300, 40_001), (999, 62_000)].map(|(now, wait)| fires(now, wait));
        assert_eq!(each, [41, 41, 42, 63], "the level of 1 ms");
        // 63 ticks and more are of the level of 8 ms, 504 and more of that of 64 ms.
        let each = [(0, 63_000), (0, 200_000), (5_500, 200_000)].map(|(now, wait)| fires(now, wait));
        assert_eq!(each, [64, 208, 208], "the level of 8 ms");
        let each = [(0, 504_000), (0, 1_000_000), (0, 4_031_000)].map(|(now, wait)| fires(now, wait));
        assert_eq!(each, [544, 1056, 4064], "the level of 64 ms");
    }

    #[test]
    fn a_span_has_whole_ticks() {
        assert_eq!(Wheel::LINUX.whole(Time::from_us(200_001)), Time::from_ms(201));
        assert_eq!(Wheel::LINUX.whole(Time::from_ms(200)), Time::from_ms(200));
    }
}
