//! The sizes of a shaper's buckets.
//!
//! A token bucket gathers credit for the bytes that it could have sent, up to its size. Credit above that is lost,
//! which is right if the link was idle, and wrong if packets waited and only the timer was late. HTB can't
//! distinguish the two.
//!
//! Therefore there are two buckets. The first holds credit at the link's rate for [`CREDIT_NS`]; the second, HTB's
//! ceiling, bounds the speed at which it is spent: after an idle time a link carries a burst of [`BURST_NS`] at once,
//! then at most [`CATCH_UP_PERCENT`] more than its rate, until the credit is gone. A link is therefore never more than
//! that percentage faster than its rate beyond the burst, and makes up for timers that are late by less than the
//! credit. Where they are later, it falls short, and the trial's record has a warning (`wire_short`).
//!
//! Nothing here depends on the machine or on a measurement, so that the links of every session are the same.
//!
//! A qdisc that gathers credit only while packets wait would need no bound. The kernel has no such qdisc; since
//! Linux 6.16 a BPF program can be one (CONFIG_NET_SCH_BPF).

use nettrial_scenario::Rate;

/// The size of the burst that may pass at once after the link was idle, as a time at the link's rate, in
/// nanoseconds.
const BURST_NS: u64 = 200_000;
/// The least size of the burst in frames, for links that are so slow that fewer would fit.
const BURST_FRAMES: u64 = 4;
/// The credit that the first bucket holds, in nanoseconds at the rate.
const CREDIT_NS: u64 = 1_000_000;
/// The factor by which both buckets are larger on routers and switches. Traffic that a host has shaped passes a
/// bucket of the same rate without waiting only if the bucket holds the host's burst and credit, and the jitter on
/// the path. Each wait costs a timer, which is expensive on a virtual machine: with equal buckets the packets of a
/// saturated host wait for a timer each, and the router takes most of a CPU.
const FORWARDER_FACTOR: u64 = 3;
/// The percentage by which a link may exceed its rate while it spends credit, beyond the burst that passes at once.
const CATCH_UP_PERCENT: u64 = 5;

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
    pub fn new(rate: Rate, frame: u64, forwards: bool) -> Self {
        let bytes_per_second = (rate.0 / 8).max(1);
        let in_time = |ns: u64| {
            let bytes = u128::from(bytes_per_second) * u128::from(ns) / 1_000_000_000;
            u64::try_from(bytes).unwrap_or(u64::MAX)
        };
        let at_once_bytes = in_time(BURST_NS * factor(forwards)).max(BURST_FRAMES * frame);
        Self {
            bytes: in_time(CREDIT_NS * factor(forwards)).max(at_once_bytes),
            ceiling_bytes_per_second: bytes_per_second + bytes_per_second * CATCH_UP_PERCENT / 100,
            at_once_bytes,
        }
    }

    /// Returns the bucket of an exact wire, which never carries more than its rate and one frame.
    pub fn of_a_wire(rate: Rate, frame: u64) -> Self {
        Self { bytes: frame, ceiling_bytes_per_second: (rate.0 / 8).max(1), at_once_bytes: frame }
    }
}

/// Describes the shapers of all links, for the fingerprint of a session.
pub fn description() -> String {
    format!(
        "HTB: {} us at once and {} us of credit, {FORWARDER_FACTOR} times that on routers and switches; up to {CATCH_UP_PERCENT}% above \
         the rate while credit is spent",
        BURST_NS / 1000,
        CREDIT_NS / 1000
    )
}

/// Returns the size of the burst, in nanoseconds at `rate`, that passes at once at a host, or at a router or
/// switch, after the link was idle.
pub fn at_once_ns(rate: Rate, frame: u64, forwards: bool) -> u64 {
    let frames_ns = u128::from(BURST_FRAMES * frame) * 8_000_000_000 / u128::from(rate.0.max(1));
    (BURST_NS * factor(forwards)).max(u64::try_from(frames_ns).unwrap_or(u64::MAX))
}

fn factor(forwards: bool) -> u64 {
    if forwards { FORWARDER_FACTOR } else { 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIGABIT: Rate = Rate(1_000_000_000);
    const FRAME: u64 = 1538;
    const HOST: bool = false;
    const ROUTER: bool = true;

    /// A class of HTB with two buckets, according to net/sched/sch_htb.c: it sends while both hold credit, and its
    /// timer fires late. Times are in nanoseconds.
    struct Class {
        bucket: Bucket,
        rate: f64,
        tokens: f64,
        ceiling_tokens: f64,
        now: f64,
    }

    impl Class {
        fn new(bucket: Bucket) -> Self {
            let (tokens, ceiling_tokens) = (bucket.bytes as f64, bucket.at_once_bytes as f64);
            Self { bucket, rate: GIGABIT.0 as f64 / 8e9, tokens, ceiling_tokens, now: 0.0 }
        }

        fn wait(&mut self, ns: f64) {
            let ceiling = self.bucket.ceiling_bytes_per_second as f64 / 1e9;
            self.now += ns;
            self.tokens = (self.tokens + ns * self.rate).min(self.bucket.bytes as f64);
            self.ceiling_tokens = (self.ceiling_tokens + ns * ceiling).min(self.bucket.at_once_bytes as f64);
        }

        /// Sends a packet of `bytes`, after the timer for which it has to wait, if it has, and that is `late`.
        fn send(&mut self, bytes: f64, late: f64) {
            if self.tokens < 0.0 || self.ceiling_tokens < 0.0 {
                let ceiling = self.bucket.ceiling_bytes_per_second as f64 / 1e9;
                self.wait((-self.tokens / self.rate).max(-self.ceiling_tokens / ceiling) + late);
            }
            (self.tokens, self.ceiling_tokens) = (self.tokens - bytes, self.ceiling_tokens - bytes);
        }
    }

    /// Returns the share of its rate that a link carries over two seconds if its queue is never empty, and timers
    /// are `median` late, but one in a hundred `p99` and one in a thousand `p99_9`, in nanoseconds.
    fn carried(bucket: Bucket, [median, p99, p99_9]: [f64; 3]) -> f64 {
        const PACKET: f64 = 12.0 * FRAME as f64;
        let (mut class, mut sent) = (Class::new(bucket), 0.0);
        for packet in 0_u32.. {
            let late = match packet % 1000 {
                500 => p99_9,
                place if place % 100 == 0 => p99,
                _ => median,
            };
            class.send(PACKET, late);
            sent += PACKET;
            if class.now > 2e9 {
                break;
            }
        }
        sent / (class.now * class.rate)
    }

    #[test]
    fn a_link_with_a_queue_carries_its_rate_although_timers_are_late() {
        let exact = [0.0; 3];
        // A virtual machine on quiet hardware, and one that shares its CPUs.
        let late = [[50_000.0, 150_000.0, 200_000.0], [116_000.0, 700_000.0, 900_000.0]];
        for forwards in [HOST, ROUTER] {
            for lateness in [exact, late[0], late[1]] {
                let share = carried(Bucket::new(GIGABIT, FRAME, forwards), lateness);
                assert!((0.998..1.003).contains(&share), "{forwards}, {lateness:?}: {share}");
            }
        }
        let share = carried(Bucket::new(GIGABIT, FRAME, HOST), [116_000.0, 2_300_000.0, 9_900_000.0]);
        assert!(share < 0.98, "no bucket of this size makes up for such timers: {share}");
    }

    #[test]
    fn what_a_link_carries_after_an_idle_time_is_bounded() {
        for (forwards, burst_ns) in [(HOST, 200_000.0), (ROUTER, 600_000.0)] {
            let mut class = Class::new(Bucket::new(GIGABIT, FRAME, forwards));
            let mut sent = 0.0;
            while class.now < 40e6 {
                class.send(FRAME as f64, 0.0);
                sent += FRAME as f64;
                let most = (burst_ns + class.now * 1.05) * class.rate + FRAME as f64 + 1e-6;
                assert!(sent <= most, "{forwards}: {sent} bytes in {} ns", class.now);
            }
        }
    }

    /// A frame that waits at a router's shaper costs a timer. The frames of a host whose link has the router's rate
    /// must therefore not wait there, however late the host's timers are.
    #[test]
    fn a_router_passes_what_a_host_has_shaped_without_a_wait() {
        for late in [0.0, 50_000.0, 500_000.0, 900_000.0] {
            let mut host = Class::new(Bucket::new(GIGABIT, FRAME, HOST));
            let mut router = Class::new(Bucket::new(GIGABIT, FRAME, ROUTER));
            for packet in 0..20_000_u32 {
                host.send(12.0 * FRAME as f64, if packet % 7 == 0 { late } else { 0.0 });
                router.wait(host.now - router.now);
                for _ in 0..12 {
                    assert!(
                        router.tokens >= 0.0 && router.ceiling_tokens >= 0.0,
                        "packet {packet} waits, late by {late}"
                    );
                    router.send(FRAME as f64, 0.0);
                }
            }
        }
    }

    #[test]
    fn the_sizes_are_times_at_the_rate() {
        for (forwards, bytes, at_once_bytes) in [(HOST, 125_000, 25_000), (ROUTER, 375_000, 75_000)] {
            let bucket = Bucket::new(GIGABIT, FRAME, forwards);
            assert_eq!((bucket.bytes, bucket.at_once_bytes), (bytes, at_once_bytes));
            assert_eq!(bucket.ceiling_bytes_per_second, 131_250_000);
        }
    }

    #[test]
    fn a_slow_link_holds_four_frames() {
        let bucket = Bucket::new(Rate(1_000_000), FRAME, HOST);
        assert_eq!((bucket.bytes, bucket.at_once_bytes), (4 * FRAME, 4 * FRAME));
        assert_eq!(at_once_ns(Rate(1_000_000), FRAME, HOST), 4 * FRAME * 8000);
        assert_eq!([HOST, ROUTER].map(|forwards| at_once_ns(GIGABIT, FRAME, forwards)), [200_000, 600_000]);
    }
}
