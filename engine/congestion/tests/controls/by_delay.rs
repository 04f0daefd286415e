//! Tests Vegas and wVegas over dedicated links, and over rounds of given round-trip times.

use nettrial_congestion::{Ack, Control, Phase, Subflow, Window};

use crate::path::{Flow, run};
use crate::support::{MS, MSS, ack, avoiding};

/// A sender of rounds whose round-trip times are given.
struct Rounds {
    control: Box<dyn Control>,
    window: Window,
    subflows: Vec<Subflow>,
    round: u64,
}

impl Rounds {
    /// Creates a sender in congestion avoidance, after one round of `base_ns`.
    fn new(name: &str, cwnd_pkts: u32, base_ns: u64, others: &[(u32, u64)]) -> Self {
        let subflow = |&(cwnd_pkts, srtt_ns): &(u32, u64)| Subflow {
            window: avoiding(cwnd_pkts),
            srtt_ns,
            mss_bytes: MSS,
            phase: Phase::Open,
            // The unit is that of the kernel's variant: 2⁻¹⁶ segments per microsecond.
            shared: [(f64::from(cwnd_pkts) * 65_536_000.0 / srtt_ns as f64).to_bits(), 0],
        };
        let mut subflows = vec![subflow(&(cwnd_pkts, base_ns))];
        subflows.extend(others.iter().map(subflow));
        let control = nettrial_congestion::new(name).unwrap();
        let mut rounds = Self { control, window: avoiding(cwnd_pkts), subflows, round: 0 };
        // A round needs more samples than these.
        rounds.take_some(base_ns, 2);
        rounds.window = avoiding(cwnd_pkts);
        rounds
    }

    /// Returns the window once a round of `rtt_ns` has begun, which is the result of the round before.
    fn take(&mut self, rtt_ns: u64) -> u32 {
        self.take_some(rtt_ns, 10)
    }

    fn take_some(&mut self, rtt_ns: u64, acks: u64) -> u32 {
        self.round += 1;
        let mut after = 0;
        for number in 1..=acks {
            let ack = Ack {
                // The first acknowledgment ends the previous round, which should have no samples but its own.
                rtt_ns: (number > 1).then_some(rtt_ns),
                una_bytes: self.round * 100 + number,
                next_bytes: self.round * 100 + 100,
                ..ack(self.round * 100 * MS, rtt_ns, 1)
            };
            self.subflows[0].window = self.window;
            self.subflows[0].srtt_ns = rtt_ns;
            self.control.on_ack(&mut self.window, &ack, &self.subflows, 0);
            if number == 1 {
                after = self.window.cwnd_pkts;
            }
        }
        after
    }
}

/// Vegas keeps from alpha = 2 to beta = 4 segments queued, and never more or less once it has got there. Slow
/// start ends below that, because the queue that it leaves shrinks by only one segment per round.
#[test]
fn vegas_keeps_from_alpha_to_beta_queued() {
    for delay_ms in [20, 50, 200] {
        let mut flow = Flow::new("vegas", MS, delay_ms * MS);
        flow.window.ssthresh_pkts = delay_ms as u32 - 5;
        let mut flows = [flow];
        run(&mut flows, 10_000 * MS, |now_ns, flows| {
            let queued = f64::from(flows[0].window.cwnd_pkts) - flows[0].product_pkts();
            // The bounds allow for the rounding to whole segments.
            let is_there = (1.0..=5.0).contains(&queued);
            assert!(now_ns < 5_000 * MS || is_there, "{queued} queued at {now_ns} ns of {delay_ms} ms");
        });
        assert!(flows[0].delivered_pkts > 9_000, "{} of {delay_ms} ms", flows[0].delivered_pkts);
    }
}

/// Vegas comes to rest, from above and below, where w (60 - 50) / 50, rounded down, is from 2 to 4.
#[test]
fn vegas_rests_from_alpha_to_beta() {
    for (first, rests) in [(5, 10), (15, 15), (40, 24)] {
        let mut rounds = Rounds::new("vegas", first, 50 * MS, &[]);
        for _ in 0..50 {
            rounds.take(60 * MS);
        }
        assert_eq!(rounds.window.cwnd_pkts, rests, "from {first}");
    }
}

/// A round of two samples decides nothing, because both may be those of delayed acknowledgments: the window grows
/// as Reno's.
#[test]
fn two_samples_decide_nothing() {
    for name in ["vegas", "wvegas", "wvegas-kernel"] {
        let mut rounds = Rounds::new(name, 100, 50 * MS, &[]);
        // Each round has a sample from all acknowledgments but its first.
        rounds.take_some(100 * MS, 3);
        assert_eq!(rounds.take_some(100 * MS, 4), 100, "{name}");
        assert!(rounds.take(100 * MS) < 100, "{name}");
    }
}

/// Slow start ends when more than one segment waits, with the window that fills the path and one more segment.
#[test]
fn slow_start_ends_with_a_queue() {
    for name in ["vegas", "wvegas", "wvegas-kernel"] {
        let mut rounds = Rounds::new(name, 100, 50 * MS, &[]);
        rounds.window = Window { cwnd_pkts: 100, ssthresh_pkts: u32::MAX, credit_pkts: 0 };
        rounds.take(50 * MS);
        let cwnd_pkts = rounds.window.cwnd_pkts;
        assert!(cwnd_pkts > 100 && rounds.window.in_slow_start(), "{name}: {:?}", rounds.window);
        rounds.take(60 * MS);
        rounds.take(60 * MS);
        assert!(!rounds.window.in_slow_start(), "{name}: {:?}", rounds.window);
        // The window at the end of the second round is at most twice that of its beginning.
        assert!(rounds.window.cwnd_pkts <= 2 * cwnd_pkts * 50 / 60 + 2, "{name}: {:?}", rounds.window);
    }
}

/// With a single subflow the window rests where ten segments wait: at w (60 - 50) / 60 = 10, up to which a smaller
/// window grows by one per round.
#[test]
fn wvegas_alone_is_vegas_with_alpha_ten() {
    for name in ["wvegas", "wvegas-kernel"] {
        for (first, rests) in [(12, 60), (61, 61), (80, 65)] {
            let mut rounds = Rounds::new(name, first, 50 * MS, &[]);
            for _ in 0..100 {
                rounds.take(60 * MS);
            }
            assert_eq!(rounds.window.cwnd_pkts, rests, "{name} from {first}");
        }
    }
}

/// A subflow rests where its share of the ten waiting segments is its share of the rate: beside a subflow of 19
/// segments with the same round-trip time, its w / 6 waiting segments are 10 w / (w + 19) first at 36, in whole
/// segments.
#[test]
fn wvegas_weighs_subflows_by_their_rates() {
    for name in ["wvegas", "wvegas-kernel"] {
        let mut rounds = Rounds::new(name, 12, 50 * MS, &[(19, 60 * MS)]);
        for _ in 0..100 {
            rounds.take(60 * MS);
        }
        assert_eq!(rounds.window.cwnd_pkts, 36, "{name}");
    }
}

/// The window becomes w base / (2 rtt) as soon as the queueing delay doubles, and may return in slow start to
/// three quarters of its size.
#[test]
fn wvegas_drains_a_queue_that_doubles() {
    let mut rounds = Rounds::new("wvegas", 100, 50 * MS, &[]);
    rounds.take(55 * MS);
    rounds.take(60 * MS);
    let before = rounds.window.cwnd_pkts;
    let after = rounds.take(60 * MS);
    // The window has shrunk by one before, because more than ten segments wait; the first acknowledgment of the
    // next round grows it by one.
    let emptied = (before - 1) * 50 / 120 + 1;
    assert!(after.abs_diff(emptied) <= 1, "{before} became {after}, not {emptied}");
    assert_eq!(rounds.window.ssthresh_pkts, (before - 1) / 2 + (before - 1) / 4);
}

/// Over a dedicated link wVegas never leaves the link idle for long, and its queue stays at alpha plus what slow
/// start leaves, as engine/bpf's does over the same link.
#[test]
fn wvegas_fills_a_path_of_its_own() {
    let mut flow = Flow::new("wvegas", MS, 50 * MS);
    flow.window.ssthresh_pkts = 40;
    let mut flows = [flow];
    run(&mut flows, 30_000 * MS, |_, flows| {
        let queued = f64::from(flows[0].window.cwnd_pkts) - flows[0].product_pkts();
        assert!(queued <= 13.0, "{queued}");
    });
    assert!(flows[0].delivered_pkts > 21_000, "{}", flows[0].delivered_pkts);
}

/// For the out-of-tree kernel an empty queue has twice its least delay of 0: it halves a window that queues
/// nothing, whereas the draft's wVegas grows it.
#[test]
fn the_kernels_wvegas_halves_windows_that_queue_nothing() {
    for (name, expected) in [("wvegas", 41), ("wvegas-kernel", 20)] {
        let mut rounds = Rounds::new(name, 40, 50 * MS, &[]);
        rounds.take(50 * MS);
        assert_eq!(rounds.take(50 * MS), expected, "{name}");
    }
}
