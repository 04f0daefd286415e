//! Tests of wVegas, and of its equilibrium on a simulated path.

use proptest::prelude::*;

use crate::library::{Vegas, Windows, wvegas_round};

/// Returns the result of the draft's round in floating point, with whole packets.
fn model(state: Vegas, now: Windows, rtt_us: u32, share: f64) -> (Vegas, f64) {
    let (w, base, rtt) = (f64::from(now.window), f64::from(state.base_rtt_us), f64::from(rtt_us));
    let diff = (w * (rtt - base) / rtt).floor();
    let mut next = state;
    if now.window < now.threshold {
        return (next, if diff > 1.0 { w.min((w * base / rtt).floor() + 1.0) } else { w });
    }
    let mut window = w;
    if diff >= f64::from(state.alpha) {
        next.alpha = (10.0 * share).floor().max(2.0) as u32;
    }
    window +=
        f64::from((diff < f64::from(next.alpha)) as u8) - f64::from((diff > f64::from(next.alpha)) as u8);
    let queueing = rtt_us - state.base_rtt_us;
    next.least_queueing_us = match state.least_queueing_us {
        0 => queueing,
        least => least.min(queueing),
    };
    if next.least_queueing_us > 0 && queueing / 2 >= next.least_queueing_us {
        window *= base / (2.0 * rtt);
        next.least_queueing_us = 0;
    }
    (next, window)
}

fn states() -> impl Strategy<Value = (Vegas, Windows, u32, f64)> {
    let windows = (2u32..1 << 20, prop_oneof![Just(0x7fff_ffff), 2u32..1 << 20]);
    let delays = (1u32..1 << 24, prop_oneof![0u32..100, 0u32..1 << 20], prop_oneof![Just(0), 1u32..1 << 20]);
    (windows, delays, 2u32..=10, 1u32..=1000).prop_map(
        |((window, threshold), (base_rtt_us, queueing_us, least_queueing_us), alpha, thousandths)| {
            let state = Vegas { base_rtt_us, least_queueing_us, alpha };
            // The share is never on the boundary between two alphas.
            let share = (f64::from(thousandths) + 0.5) / 1001.0;
            (state, Windows { window, threshold }, base_rtt_us + queueing_us, share)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn a_round_does_what_the_draft_says((state, now, rtt_us, share) in states()) {
        let (expected_state, expected) = model(state, now, rtt_us, share);
        let (next, windows) = wvegas_round(state, now, rtt_us, share, true);
        prop_assert_eq!(next, expected_state);
        // Rounded down to whole packets, at least two.
        prop_assert!((f64::from(windows.window) - expected.max(2.0)).abs() < 1.0, "{windows:?} instead of {expected}");
    }

    #[test]
    fn a_window_that_limits_nothing_does_not_grow((state, now, rtt_us, share) in states()) {
        let (_, windows) = wvegas_round(state, now, rtt_us, share, false);
        prop_assert!(windows.window <= now.window);
    }

    #[test]
    fn slow_start_ends_with_the_queue((state, now, rtt_us, share) in states()) {
        let (_, windows) = wvegas_round(state, Windows { threshold: u32::MAX, ..now }, rtt_us, share, true);
        let queued = u64::from(now.window) * u64::from(rtt_us - state.base_rtt_us) / u64::from(rtt_us);
        prop_assert_eq!(windows.window < windows.threshold, queued <= 1);
    }

    /// A single flow on its own path never leaves the path idle for long, and its queue stays near alpha, 10
    /// packets, plus the remainder of slow start.
    #[test]
    fn a_path_of_its_own_is_filled(bandwidth_delay_pkts in 20u32..500, base_rtt_us in 1_000u32..100_000) {
        let mut state = Vegas { base_rtt_us, least_queueing_us: 0, alpha: 2 };
        let mut windows = Windows { window: 10, threshold: 0x7fff_ffff };
        let (mut used, mut rounds) = (0.0, 0);
        for round in 0..400 {
            let filled = f64::from(windows.window) / f64::from(bandwidth_delay_pkts);
            let rtt_us = (f64::from(base_rtt_us) * filled.max(1.0)) as u32;
            if round >= 100 {
                prop_assert!(windows.window <= bandwidth_delay_pkts + 13, "{windows:?}");
                used += filled.min(1.0);
                rounds += 1;
            }
            (state, windows) = wvegas_round(state, windows, rtt_us, 1.0, true);
            if windows.window < windows.threshold {
                windows.window = (2 * windows.window).min(windows.threshold);
            }
        }
        let utilisation = used / f64::from(rounds);
        prop_assert!(utilisation > 0.7, "{utilisation}");
    }
}
