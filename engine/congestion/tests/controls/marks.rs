//! Tests DCTCP against RFC 8257's equations.

use nettrial_congestion::{Ack, Control, Event};

use crate::support::{MS, ack, avoiding};

/// Runs rounds of 100 segments, of which `marked_pkts` are marked.
fn mark(control: &mut dyn Control, rounds: u64, marked_pkts: u64) {
    let (mut delivered, mut marked) = (1, 0);
    let mut window = avoiding(100);
    for round in 1..=rounds {
        delivered += 100;
        marked += marked_pkts;
        let ack = Ack {
            delivered_pkts: delivered,
            delivered_marked_pkts: marked,
            una_bytes: delivered,
            next_bytes: delivered + 100,
            ..ack(round * 20 * MS, 20 * MS, 100)
        };
        control.on_ack(&mut window, &ack, &[], 0);
    }
}

/// Returns alpha, from the share of a window by which a mark reduces it: alpha / 2.
fn alpha(control: &mut dyn Control) -> f64 {
    control.on_event(Event::Marked, &mut avoiding(10_000), 0);
    2.0 * (1.0 - f64::from(control.ssthresh(&avoiding(10_000), &[], 0)) / 10_000.0)
}

/// alpha converges to the marked fraction (RFC 8257 section 3.3), to 3%, which is the error that rounding 1/16 of
/// 1024ths can leave.
#[test]
fn alpha_becomes_the_marked_fraction() {
    for percent in [0, 5, 20, 50, 80, 100] {
        let mut control = nettrial_congestion::new("dctcp").unwrap();
        mark(control.as_mut(), 200, percent);
        let alpha = alpha(control.as_mut());
        assert!((alpha - percent as f64 / 100.0).abs() < 0.032, "{alpha} of {percent}%");
    }
}

/// alpha begins at 1, and decreases by a sixteenth per round without marks.
#[test]
fn alpha_goes_down_by_a_sixteenth() {
    let mut control = nettrial_congestion::new("dctcp").unwrap();
    assert!((alpha(control.as_mut()) - 1.0).abs() < 1e-3);
    mark(control.as_mut(), 10, 0);
    let model = (15.0f64 / 16.0).powi(10);
    assert!((alpha(control.as_mut()) - model).abs() < 0.01);
}

/// A loss halves the window whatever alpha is (RFC 8257 section 3.5).
#[test]
fn a_loss_halves() {
    let mut control = nettrial_congestion::new("dctcp").unwrap();
    mark(control.as_mut(), 200, 0);
    let mut window = avoiding(100);
    control.on_event(Event::EnterRecovery, &mut window, 0);
    assert_eq!(control.ssthresh(&window, &[], 0), 50);
    control.on_event(Event::Marked, &mut window, 0);
    assert_eq!(control.ssthresh(&window, &[], 0), 100);
    control.on_event(Event::Timeout, &mut window, 0);
    assert_eq!(window.ssthresh_pkts, 50);
    assert!(control.needs_ecn());
}
