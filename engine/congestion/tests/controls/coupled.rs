//! Tests LIA, OLIA and BALIA against the equations of their documents: the average growth per acknowledged segment
//! over many acknowledgments, to 0.2% and the one segment that is not yet whole. Windows are in segments,
//! round-trip times in seconds.

use crate::support::{Connection, MS, ack};

/// The number of acknowledgments over which growth is averaged.
const ACKS: u32 = 100_000;

/// Connections with different subflows.
const CONNECTIONS: [&[(u32, u64)]; 5] = [
    &[(10, 20 * MS), (20, 20 * MS)],
    &[(50, 10 * MS), (5, 100 * MS)],
    &[(7, 30 * MS), (7, 30 * MS), (7, 30 * MS)],
    &[(100, 40 * MS), (20, 5 * MS), (3, 200 * MS), (60, 40 * MS)],
    &[
        (1, MS),
        (2, 2 * MS),
        (4, 4 * MS),
        (8, 8 * MS),
        (16, 16 * MS),
        (32, 32 * MS),
        (64, 64 * MS),
        (128, 128 * MS),
    ],
];

/// Returns the x = w / rtt of the equations.
fn rates(flows: &[(u32, u64)]) -> Vec<f64> {
    flows.iter().map(|&(window, rtt_ns)| f64::from(window) / seconds(rtt_ns)).collect()
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

fn largest(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(f64::MIN, f64::max)
}

/// Compares the growth of each subflow of each connection with `model`, a function of the subflows and the index
/// of the one that grows.
fn grows_as(name: &str, model: impl Fn(&[(u32, u64)], usize) -> f64) {
    for flows in CONNECTIONS {
        for own in 0..flows.len() {
            let increase = Connection::of(name, flows).increase(own, ACKS);
            let expected = model(flows, own);
            let allowed = expected.abs() * 2e-3 + 1.0 / f64::from(ACKS);
            assert!((increase - expected).abs() <= allowed, "{flows:?}[{own}]: {increase}, not {expected}");
        }
    }
}

/// The growth is min(alpha / w_total, 1 / w_r), where alpha = w_total max(w_i / rtt_i²) / (Σ w_i / rtt_i)² (RFC
/// 6356 section 3).
#[test]
fn lia_grows_as_rfc_6356_says() {
    grows_as("lia", |flows, own| {
        let total: f64 = flows.iter().map(|&(window, _)| f64::from(window)).sum();
        let best = largest(flows.iter().map(|&(window, rtt_ns)| f64::from(window) / seconds(rtt_ns).powi(2)));
        let alpha = total * best / rates(flows).iter().sum::<f64>().powi(2);
        (alpha / total).min(1.0 / f64::from(flows[own].0))
    });
}

/// The growth is (w_r / rtt_r²) / (Σ w_p / rtt_p)²: without losses and bytes all subflows are best, including the
/// widest, and then no window moves.
#[test]
fn olia_grows_as_the_paper_says() {
    grows_as("olia", |flows, own| {
        let widest = flows.iter().map(|&(window, _)| window).max().unwrap();
        let at_widest = flows.iter().filter(|&&(window, _)| window == widest).count();
        let below = flows.len() - at_widest;
        let window = f64::from(flows[own].0);
        let alpha = match (below, flows[own].0 == widest) {
            (0, _) => 0.0,
            (_, true) => -1.0 / (flows.len() * at_widest) as f64,
            (_, false) => 1.0 / (flows.len() * below) as f64,
        };
        window / seconds(flows[own].1).powi(2) / rates(flows).iter().sum::<f64>().powi(2) + alpha / window
    });
}

/// The narrower of two similar paths takes window from the wider one if it delivered more between losses. Once it
/// is also the wider one, nothing moves. A path that is worse takes nothing.
#[test]
fn olia_moves_window_to_the_better_path() {
    let opportunistic = |windows: [u32; 2], bytes: [u64; 2]| {
        let flows = windows.map(|window| (window, 20 * MS));
        let mut connection = Connection::of("olia", &flows);
        for (own, una_bytes) in bytes.into_iter().enumerate() {
            // A run of these bytes ends with a loss, and no run since then is longer.
            let reached =
                nettrial_congestion::Ack { una_bytes, is_cwnd_limited: false, ..ack(0, 20 * MS, 0) };
            connection.on_ack(own, &reached);
            connection.after_loss(own);
        }
        let rates = rates(&flows);
        let coupled = |own: usize| rates[own] / 0.02 / rates.iter().sum::<f64>().powi(2);
        [0, 1].map(|own| {
            // The run since the loss is empty.
            let subflows = connection.subflows();
            let (control, window, _) = &mut connection.flows[own];
            let mut grown = 0.0;
            let kept = window.cwnd_pkts;
            for _ in 0..ACKS {
                let ack = nettrial_congestion::Ack { una_bytes: bytes[own], ..ack(0, 20 * MS, 1) };
                control.on_ack(window, &ack, &subflows, own);
                grown += f64::from(window.cwnd_pkts) - f64::from(kept);
                window.cwnd_pkts = kept;
            }
            (grown / f64::from(ACKS) - coupled(own)) * f64::from(kept)
        })
    };
    let is = |found: [f64; 2], expected: [f64; 2]| {
        let near = found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 0.01);
        assert!(near, "{found:?}, not {expected:?}");
    };
    is(opportunistic([10, 20], [1_000_000, 100_000]), [0.5, -0.5]);
    is(opportunistic([20, 10], [1_000_000, 100_000]), [0.0, 0.0]);
    is(opportunistic([20, 10], [100_000, 1_000_000]), [-0.5, 0.5]);
    is(opportunistic([20, 20], [100_000, 1_000_000]), [0.0, 0.0]);
}

/// The growth is x_r / (rtt_r (Σ x)²) (1 + alpha)/2 (4 + alpha)/5, where alpha = max(x) / x_r.
#[test]
fn balia_grows_as_the_draft_says() {
    grows_as("balia", |flows, own| {
        let rates = rates(flows);
        let alpha = largest(rates.iter().copied()) / rates[own];
        let total: f64 = rates.iter().sum();
        rates[own] / (seconds(flows[own].1) * total.powi(2)) * (1.0 + alpha) / 2.0 * (4.0 + alpha) / 5.0
    });
}

/// The window after a loss is w - (w / 2) min(alpha, 1.5), rounded down, and at least 2: half for the fastest
/// subflow, and a quarter for one that is half as fast.
#[test]
fn balia_shrinks_as_the_draft_says() {
    for (flows, expected) in [
        ([(100, 20 * MS), (100, 20 * MS)], [50, 50]),
        ([(100, 20 * MS), (80, 20 * MS)], [50, 30]),
        ([(100, 20 * MS), (100, 40 * MS)], [50, 25]),
        ([(100, 20 * MS), (4, 20 * MS)], [50, 2]),
    ] {
        let mut connection = Connection::of("balia", &flows);
        assert_eq!([0, 1].map(|own| connection.after_loss(own)), expected, "{flows:?}");
    }
}

/// RFC 6356's second goal on a small scale: n equal subflows together grow as one flow with all their windows, by
/// 1 / (n² w) for each acknowledged segment.
#[test]
fn like_subflows_grow_as_one() {
    for name in ["balia", "lia", "olia"] {
        for count in 2..=8u32 {
            let flows = vec![(10, 20 * MS); count as usize];
            let increase = Connection::of(name, &flows).increase(0, ACKS);
            let expected = 1.0 / f64::from(count * count * 10);
            let allowed = expected * 2e-3 + 1.0 / f64::from(ACKS);
            assert!((increase - expected).abs() <= allowed, "{name}: {increase}, not {expected}");
        }
    }
}
