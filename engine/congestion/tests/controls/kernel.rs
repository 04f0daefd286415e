//! Tests the quirks of the out-of-tree MPTCP kernel: the differences of its variants from the documents, and their
//! agreement elsewhere.

use crate::support::{Connection, MS, ack};

/// The number of acknowledgments over which growth is averaged.
const ACKS: u32 = 100_000;

/// The kernel divides alpha before it scales it: a subflow with 1/1.9 of the fastest's rate is halved, and one
/// with 1/2 loses three quarters. With the draft's equation the first loses 95% of a half, and the second the same
/// as here.
#[test]
fn balia_takes_a_half_or_three_quarters() {
    for (slower_ms, of_kernel, of_draft) in
        [(20, 50, 50), (26, 50, 35), (38, 50, 25), (40, 25, 25), (80, 25, 25)]
    {
        let flows = [(100, 20 * MS), (100, slower_ms * MS)];
        for (name, expected) in [("balia-kernel", of_kernel), ("balia", of_draft)] {
            let mut connection = Connection::of(name, &flows);
            connection.on_ack(1, &ack(0, slower_ms * MS, 1));
            assert_eq!(connection.after_loss(1), expected, "{name}, {slower_ms} ms");
        }
    }
}

/// Rates above 2²⁵ bytes per second are shifted: a window still grows as the draft's, with one more
/// acknowledgment, to 1%.
#[test]
fn balia_shifts_fast_rates() {
    let flows = [(1000, MS), (500, MS)];
    let mut connection = Connection::of("balia-kernel", &flows);
    connection.settle(1);
    let kernel = connection.increase(1, 10 * ACKS);
    let paper = Connection::of("balia", &flows).increase(1, 10 * ACKS);
    let model = 1.0 / (1.0 / paper + 1.0);
    assert!((kernel / model - 1.0).abs() < 0.01, "{kernel}, not {model}");
}

/// The reduction after a loss is the one computed when the window last changed: siblings that have become faster
/// since then count as before.
#[test]
fn balia_remembers_its_siblings() {
    let mut connection = Connection::of("balia-kernel", &[(100, 20 * MS), (100, 20 * MS)]);
    connection.on_ack(1, &ack(0, 20 * MS, 1));
    connection.flows[0].1.cwnd_pkts = 1000;
    assert_eq!(connection.after_loss(1), 50);
}

/// The kernel counts acknowledgments instead of segments: delayed ones, for two segments each, add no more than
/// others.
#[test]
fn growth_counts_acknowledgments() {
    for (name, counts_acks) in
        [("lia", false), ("lia-kernel", true), ("olia-kernel", true), ("balia-kernel", true)]
    {
        let increase = |segments: u32| {
            let mut connection = Connection::of(name, &[(20, 20 * MS), (20, 20 * MS)]);
            connection.settle(0);
            connection.increase_by(0, ACKS, segments)
        };
        let ratio = increase(2) / increase(1);
        assert!((ratio - if counts_acks { 1.0 } else { 2.0 }).abs() < 0.01, "{name}: {ratio}");
    }
}

/// LIA's alpha is in units of 2⁻¹²: an increase of 1/5000 is less than one unit and counts as one, 1/4096; and
/// with round-trip times of 100 ms w / rtt² of all paths is 0, so that the last path counts as the best.
#[test]
fn lia_rounds_alpha() {
    let increase = |name: &str, flows: &[(u32, u64)]| {
        let mut connection = Connection::of(name, flows);
        connection.settle(0);
        connection.increase(0, ACKS)
    };
    let large = [(1250, 20 * MS), (1250, 20 * MS)];
    assert!((increase("lia-kernel", &large) - 1.0 / 4097.0).abs() < 2e-5);
    assert!((increase("lia", &large) - 1.0 / 5000.0).abs() < 2e-5);

    // The first path is better, 30 / (30 + 10)², but the last one is used: once its window is 31, 2¹² · 10 / (31 +
    // 10)² is 24, and it needs 4096 / 24 acknowledgments and one more.
    let slow = [(30, 100 * MS), (10, 100 * MS)];
    assert!((1.0 / increase("lia-kernel", &slow) - 171.0).abs() < 1.0);
    assert!((1.0 / increase("lia", &slow) - 1600.0 / 30.0).abs() < 1.0);
}

/// OLIA counts in units of 2⁻¹⁰, and any excess over a segment is lost: a window grows by one in as many
/// acknowledgments as make 1023 units, to 2% because of the rounding of rates.
#[test]
fn olia_counts_in_whole_parts() {
    for flows in [[(5, 20 * MS), (5, 20 * MS)], [(4, 10 * MS), (8, 40 * MS)], [(40, 30 * MS), (20, 20 * MS)]]
    {
        for own in 0..2 {
            let kernel = Connection::of("olia-kernel", &flows).increase(own, ACKS);
            let paper = Connection::of("olia", &flows).increase(own, ACKS);
            let parts = (paper.abs() * 1024.0).floor();
            let model = paper.signum() / (1023.0 / parts).ceil();
            assert!((kernel - model).abs() < 0.02 * model.abs(), "{flows:?}[{own}]: {kernel}, not {model}");
        }
    }
}
