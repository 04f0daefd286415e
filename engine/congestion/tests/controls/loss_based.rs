//! Tests Reno and CUBIC against their equations, with evenly spaced acknowledgments, one window per round trip.

use nettrial_congestion::{Control, Window};

use crate::support::{MS, ack, avoiding};

/// Acknowledges `window` segment by segment from `from_ns` until `until_ns`, and calls `seen` with the time and
/// the window after each round trip.
fn run(
    control: &mut dyn Control,
    window: &mut Window,
    (from_ns, until_ns): (u64, u64),
    rtt_ns: u64,
    mut seen: impl FnMut(u64, u32),
) {
    let mut now_ns = from_ns;
    while now_ns < until_ns {
        let acks = window.cwnd_pkts;
        for number in 1..=acks {
            control.on_ack(
                window,
                &ack(now_ns + rtt_ns * u64::from(number) / u64::from(acks), rtt_ns, 1),
                &[],
                0,
            );
        }
        now_ns += rtt_ns;
        seen(now_ns, window.cwnd_pkts);
    }
}

/// Applies a loss.
fn lose(control: &mut dyn Control, window: &mut Window) {
    window.ssthresh_pkts = control.ssthresh(window, &[], 0);
    window.cwnd_pkts = window.ssthresh_pkts;
}

#[test]
fn reno_grows_by_one_segment_a_round_trip_and_halves() {
    let mut control = nettrial_congestion::new("reno").unwrap();
    let mut window = avoiding(10);
    let mut rounds = 0;
    run(control.as_mut(), &mut window, (0, 50 * 20 * MS), 20 * MS, |_, cwnd_pkts| {
        rounds += 1;
        assert_eq!(cwnd_pkts, 10 + rounds);
    });
    lose(control.as_mut(), &mut window);
    assert_eq!((window.cwnd_pkts, window.ssthresh_pkts), (30, 30));
}

/// The window follows W(t) = C (t - K)³ + W_max from 0.7 W_max on (RFC 9438 section 4.2), to 1%: before, at and
/// after the turning point.
#[test]
fn cubic_grows_by_its_function() {
    let mut control = nettrial_congestion::new("cubic").unwrap();
    let (rtt_ns, largest) = (100 * MS, 1000.0);
    let mut window = avoiding(1000);
    lose(control.as_mut(), &mut window);
    assert_eq!(window.cwnd_pkts, 700);
    let c = 410.0 / 1024.0;
    let k = f64::cbrt(300.0 / c);
    run(control.as_mut(), &mut window, (0, 16_000 * MS), rtt_ns, |now_ns, cwnd_pkts| {
        let model = c * (now_ns as f64 / 1e9 - k).powi(3) + largest;
        assert!((f64::from(cwnd_pkts) / model - 1.0).abs() < 0.01, "{cwnd_pkts}, not {model} at {now_ns} ns");
    });
    assert!(window.cwnd_pkts > 1100, "{window:?}");
}

/// A second loss below the last maximum leaves room for other flows: W_max becomes 0.85 of the window (RFC 9438
/// section 4.7). The window then rests there.
#[test]
fn cubic_converges_fast() {
    let mut control = nettrial_congestion::new("cubic").unwrap();
    let mut window = avoiding(1000);
    lose(control.as_mut(), &mut window);
    run(control.as_mut(), &mut window, (0, 100 * MS), 100 * MS, |_, _| {});
    window.cwnd_pkts = 800;
    lose(control.as_mut(), &mut window);
    assert_eq!(window.cwnd_pkts, 560);
    let origin = 800.0 * 1741.0 / 2048.0;
    let k = f64::cbrt((origin - 560.0) / (410.0 / 1024.0));
    let turning_ns = 100 * MS + (k * 1e9) as u64;
    let mut at_turning = 0;
    run(control.as_mut(), &mut window, (100 * MS, turning_ns), 100 * MS, |_, cwnd_pkts| {
        at_turning = cwnd_pkts
    });
    assert!((f64::from(at_turning) / origin - 1.0).abs() < 0.01, "{at_turning}, not {origin}");
}

/// With a small window and a short round-trip time, the window is that of Reno with CUBIC's decrease: it grows by
/// 8/15 of a segment per round trip (RFC 9438 section 4.3 has 9/17), where the cubic function alone would give 20.
/// The tolerance is 4 segments: CUBIC compares with Reno's window every 1/32 s, in which it gains 1.7 segments
/// here, counts whole segments, and reaches that window a round trip later.
#[test]
fn cubic_is_friendly_to_reno() {
    let mut control = nettrial_congestion::new("cubic").unwrap();
    let mut window = avoiding(20);
    lose(control.as_mut(), &mut window);
    assert_eq!(window.cwnd_pkts, 14);
    let mut rounds = 0.0;
    run(control.as_mut(), &mut window, (0, 100 * 10 * MS), 10 * MS, |_, cwnd_pkts| {
        rounds += 1.0;
        let model = 14.0 + rounds * 8.0 / 15.0;
        assert!((f64::from(cwnd_pkts) - model).abs() < 4.0, "{cwnd_pkts}, not {model}");
    });
}

/// Before its first loss, once HyStart has ended slow start, the window grows by one for 20 acknowledged segments
/// as long as the function, without a maximum to regain, hardly rises: 5% per round trip, to 1%.
#[test]
fn cubic_grows_by_a_twentieth_before_its_first_loss() {
    let mut control = nettrial_congestion::new("cubic").unwrap();
    let mut window = avoiding(1000);
    run(control.as_mut(), &mut window, (0, 500 * MS), 100 * MS, |_, _| {});
    let model = 1000.0 * 1.05f64.powi(5);
    assert!((f64::from(window.cwnd_pkts) / model - 1.0).abs() < 0.01, "{window:?}, not {model}");
}

/// HyStart's delay detection: eight samples of a round-trip time that has grown by more than an eighth, and at
/// least 4 ms, end slow start at the current window. Smaller growth does not.
#[test]
fn cubic_leaves_slow_start_when_the_delay_grows() {
    for (queue_ms, leaves) in [(4, false), (6, true)] {
        let mut control = nettrial_congestion::new("cubic").unwrap();
        let mut window = Window { cwnd_pkts: 10, ssthresh_pkts: u32::MAX, credit_pkts: 0 };
        let mut bytes = 0;
        for round in 0..4u64 {
            let rtt_ns = 40 * MS + if round < 2 { 0 } else { queue_ms * MS };
            let acks = window.cwnd_pkts;
            let next_bytes = bytes + 2 * u64::from(acks);
            for number in 1..=u64::from(acks) {
                // These are further apart than those of a train, so that the train detection does not act.
                let now_ns = round * 1000 * MS + number * 3 * MS;
                let ack = nettrial_congestion::Ack {
                    una_bytes: bytes + number,
                    next_bytes,
                    ..ack(now_ns, rtt_ns, 1)
                };
                control.on_ack(&mut window, &ack, &[], 0);
            }
            bytes += u64::from(acks);
        }
        assert_eq!(window.ssthresh_pkts != u32::MAX, leaves, "with {queue_ms} ms of queue: {window:?}");
    }
}

/// HyStart's train detection: acknowledgments close together for half of the round trip fill the path.
#[test]
fn cubic_leaves_slow_start_when_a_train_fills_the_path() {
    let mut control = nettrial_congestion::new("cubic").unwrap();
    let mut window = Window { cwnd_pkts: 40, ssthresh_pkts: u32::MAX, credit_pkts: 0 };
    let mut left_at_ns = None;
    for number in 1..=40u64 {
        let ack = nettrial_congestion::Ack {
            una_bytes: number,
            next_bytes: 80,
            // A train has an acknowledgment per millisecond; the first two start the round.
            ..ack(100 * MS + number * MS, 40 * MS, 1)
        };
        control.on_ack(&mut window, &ack, &[], 0);
        if window.ssthresh_pkts != u32::MAX && left_at_ns.is_none() {
            left_at_ns = Some(number * MS);
        }
    }
    // The time from the first is half of 40 ms, plus half of the at most 1 ms allowed for bursts.
    let left_at_ns = left_at_ns.expect("slow start has ended");
    assert!((20 * MS..=23 * MS).contains(&left_at_ns), "after {left_at_ns} ns");
}

/// The pacing rate of a train's allowance is that of the acknowledgment before (hystart_ack_delay reads what
/// tcp_update_pacing_rate has set at the end of tcp_cong_control), which counts while the round-trip time grows fast. It is
/// 16 · 1448 · 2 bytes in 100 us here, at which 4 · 65,279 bytes take 563 us; (4 + 563) / 2 is 283.
#[test]
fn a_trains_allowance_follows_from_the_rate_before_the_acknowledgment() {
    for (after_us, leaves) in [(283, false), (284, true)] {
        let mut control = nettrial_congestion::new("cubic").unwrap();
        let mut window = Window { cwnd_pkts: 15, ssthresh_pkts: u32::MAX, credit_pkts: 0 };
        for (number, at_us, srtt_us) in [(1, 0, 100), (2, after_us, 120)] {
            let ack = nettrial_congestion::Ack {
                una_bytes: number,
                next_bytes: 80,
                srtt_ns: srtt_us * 1000,
                ..ack(MS + at_us * 1000, 4000, 1)
            };
            control.on_ack(&mut window, &ack, &[], 0);
        }
        assert_eq!(window.ssthresh_pkts, if leaves { 16 } else { u32::MAX }, "after {after_us} us");
    }
}
