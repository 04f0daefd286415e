//! Chooses the size of a shaper's bucket from the lateness of this machine's timers.
//!
//! A token bucket gathers credit for the bytes that it could have sent, up to its size. Credit above that is lost,
//! which is right if the link was idle, and wrong if packets waited and only the timer was late. HTB can't
//! distinguish the two, and with a larger bucket more packets pass at once after an idle time.
//!
//! Therefore the bucket is larger if timers are late, and a second one, HTB's ceiling, bounds the speed at which
//! its credit is spent: after an idle time a link carries the usual burst at once, then at most
//! [`CATCH_UP_PERCENT`] more than its rate, until it has made up for at most [`LARGEST_NS`] at its rate. If timers
//! are punctual the ceiling is the rate, and nothing is made up for.
//!
//! A qdisc that gathers credit only while packets wait would need no bound. The kernel has no such qdisc; since
//! Linux 6.16 a BPF program can be one (CONFIG_NET_SCH_BPF).

use nettrial_scenario::{Rate, TimerLateness};

/// The size of the burst that may pass at once after the link was idle, as a time at the link's rate, in
/// nanoseconds.
const BURST_NS: u64 = 200_000;
/// The least size of the burst in frames, for links that are so slow that fewer would fit.
const BURST_FRAMES: u64 = 4;
/// The size of the burst on routers and switches, in nanoseconds. Traffic that a host has shaped passes a bucket
/// of the same rate without waiting only if the bucket holds the host's burst and the jitter on the path. Each
/// wait costs a timer interrupt, which is expensive on a virtual machine.
const FORWARDER_BURST_NS: u64 = 3 * BURST_NS;
/// The step of the size of larger buckets, in nanoseconds at the rate, so that sessions on one machine choose the
/// same size.
const STEP_NS: u64 = 1_000_000;
/// The size of the largest bucket, in nanoseconds at the rate.
const LARGEST_NS: u64 = 4_000_000;
/// The percentage by which a link may exceed its rate while it makes up for a late timer, beyond the burst that
/// passes at once.
const CATCH_UP_PERCENT: u64 = 10;

/// A shaper's two buckets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bucket {
    /// The number of bytes of credit at the link's rate.
    pub bytes: u64,
    /// The ceiling: the highest rate at which credit is spent, beyond the burst that passes at once.
    pub ceiling_bytes_per_second: u64,
    /// The number of bytes that pass at once.
    pub at_once_bytes: u64,
}

impl Bucket {
    /// Returns the buckets of a link of `rate` whose largest frame occupies `frame` bytes on the wire; `forwards`
    /// is true at a router or switch.
    pub fn new(rate: Rate, frame: u64, forwards: bool, lateness: &TimerLateness) -> Self {
        let bytes_per_second = (rate.0 / 8).max(1);
        let in_time = |ns: u64| {
            let bytes = u128::from(bytes_per_second) * u128::from(ns) / 1_000_000_000;
            u64::try_from(bytes).unwrap_or(u64::MAX)
        };
        let burst_ns = burst_ns(forwards);
        let at_once_bytes = in_time(burst_ns).max(BURST_FRAMES * frame);
        let none = Self { bytes: at_once_bytes, ceiling_bytes_per_second: bytes_per_second, at_once_bytes };
        if lateness.p99_9_ns <= burst_ns {
            return none;
        }
        let held_ns =
            (burst_ns + lateness.p99_9_ns.min(LARGEST_NS)).next_multiple_of(STEP_NS).min(LARGEST_NS);
        let bytes = in_time(held_ns);
        if bytes <= at_once_bytes {
            return none;
        }
        let ceiling_bytes_per_second = bytes_per_second + bytes_per_second * CATCH_UP_PERCENT / 100;
        Self { bytes, ceiling_bytes_per_second, at_once_bytes }
    }
}

/// Returns the size of the burst, in nanoseconds at `rate`, that passes at once at a host, or at a router or
/// switch, after the link was idle.
pub fn at_once_ns(rate: Rate, frame: u64, forwards: bool) -> u64 {
    let frames_ns = u128::from(BURST_FRAMES * frame) * 8_000_000_000 / u128::from(rate.0.max(1));
    burst_ns(forwards).max(u64::try_from(frames_ns).unwrap_or(u64::MAX))
}

fn burst_ns(forwards: bool) -> u64 {
    if forwards { FORWARDER_BURST_NS } else { BURST_NS }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIGABIT: Rate = Rate(1_000_000_000);
    const FRAME: u64 = 1538;
    const PUNCTUAL: TimerLateness = TimerLateness { median_ns: 20_000, p99_ns: 60_000, p99_9_ns: 150_000 };
    /// The lateness of a virtual machine that shares its CPUs.
    const LATE: TimerLateness = TimerLateness { median_ns: 116_000, p99_ns: 1_300_000, p99_9_ns: 3_900_000 };

    /// Returns the share of its rate that a link carries if its queue is never empty, according to a model of
    /// net/sched/sch_htb.c: a class sends while both buckets hold credit, and its timer fires late.
    fn carried(bucket: Bucket, lateness: &TimerLateness) -> f64 {
        const PACKET: f64 = 12.0 * FRAME as f64;
        let rate = GIGABIT.0 as f64 / 8e9;
        let ceiling = bucket.ceiling_bytes_per_second as f64 / 1e9;
        let (largest, at_once) = (bucket.bytes as f64, bucket.at_once_bytes as f64);
        let (mut tokens, mut ceiling_tokens, mut sent, mut now) = (largest, at_once, 0.0, 0.0);
        for wake_up in 0..20_000_u32 {
            while tokens >= 0.0 && ceiling_tokens >= 0.0 {
                (tokens, ceiling_tokens, sent) = (tokens - PACKET, ceiling_tokens - PACKET, sent + PACKET);
            }
            let late = match wake_up % 1000 {
                500 => lateness.p99_9_ns,
                place if place % 100 == 0 => lateness.p99_ns,
                _ => lateness.median_ns,
            };
            let waited = (-tokens / rate).max(-ceiling_tokens / ceiling) + late as f64;
            now += waited;
            tokens = (tokens + waited * rate).min(largest);
            ceiling_tokens = (ceiling_tokens + waited * ceiling).min(at_once);
        }
        sent / (now * rate)
    }

    #[test]
    fn a_link_with_a_queue_carries_its_rate_however_late_timers_are() {
        for forwards in [false, true] {
            for lateness in [PUNCTUAL, LATE] {
                let share = carried(Bucket::new(GIGABIT, FRAME, forwards, &lateness), &lateness);
                assert!((0.998..1.003).contains(&share), "{lateness:?}: {share}");
            }
            let as_if_punctual = Bucket::new(GIGABIT, FRAME, forwards, &PUNCTUAL);
            let share = carried(as_if_punctual, &LATE);
            assert!(share < 0.98, "a bucket of {} bytes was enough: {share}", as_if_punctual.bytes);
        }
    }

    #[test]
    fn a_link_with_punctual_timers_makes_up_for_nothing() {
        for (forwards, bytes) in [(false, 25_000), (true, 75_000)] {
            let bucket = Bucket::new(GIGABIT, FRAME, forwards, &PUNCTUAL);
            assert_eq!((bucket.bytes, bucket.at_once_bytes), (bytes, bytes));
            assert_eq!(bucket.ceiling_bytes_per_second, GIGABIT.0 / 8);
        }
    }

    #[test]
    fn bursts_have_a_bound_however_late_timers_are() {
        for p99_9_ns in [210_000, 700_000, 3_900_000, 80_000_000, u64::MAX] {
            let late = TimerLateness { p99_9_ns, ..LATE };
            let bucket = Bucket::new(GIGABIT, FRAME, false, &late);
            assert_eq!(bucket.at_once_bytes, 25_000);
            assert!(
                bucket.bytes <= 500_000 && bucket.bytes.is_multiple_of(125_000),
                "{p99_9_ns}: {bucket:?}"
            );
            assert_eq!(bucket.ceiling_bytes_per_second, 137_500_000);
        }
    }

    #[test]
    fn a_slow_link_holds_four_frames_whatever_the_timers() {
        let bucket = Bucket::new(Rate(1_000_000), FRAME, false, &LATE);
        assert_eq!((bucket.bytes, bucket.at_once_bytes), (4 * FRAME, 4 * FRAME));
        assert_eq!(at_once_ns(Rate(1_000_000), FRAME, false), 4 * FRAME * 8000);
        assert_eq!([false, true].map(|forwards| at_once_ns(GIGABIT, FRAME, forwards)), [200_000, 600_000]);
        assert_eq!(bucket.ceiling_bytes_per_second, 125_000);
    }
}
