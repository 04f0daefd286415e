//! Tests BBR over a dedicated link.

use nettrial_congestion::{Ack, Event, Window};

use crate::path::{Flow, run};
use crate::support::{MS, ack};

/// BBR finds a link's rate and round-trip time: 1000 segments per second and 51 ms. It then sends 99% of the rate
/// on average (its pacing margin), to 2%; keeps a window of twice the bandwidth-delay product plus room for
/// bursts; and queues less than the product, although a window of twice the product could queue all of it.
#[test]
fn bbr_finds_rate_and_round_trip() {
    let mut flows = [Flow::new("bbr", MS, 50 * MS)];
    let (mut rtts_ns, mut acks) = (0, 0);
    let mut at_three = 0;
    run(&mut flows, 9_000 * MS, |now_ns, flows| {
        if now_ns < 3_000 * MS {
            at_three = flows[0].delivered_pkts;
            return;
        }
        acks += 1;
        rtts_ns += flows[0].rtt_ns;
        let paced = flows[0].paced_pkts().unwrap() / 990.0;
        let is_of_the_cycle = [0.75, 1.0, 1.25].iter().any(|gain| (paced / gain - 1.0).abs() < 0.02);
        assert!(is_of_the_cycle, "paced at {paced} of the rate, at {now_ns} ns");
        assert!((102..=118).contains(&flows[0].window.cwnd_pkts), "{:?}", flows[0].window);
    });
    let rate = (flows[0].delivered_pkts - at_three) as f64 / 6.0;
    assert!((rate / 990.0 - 1.0).abs() < 0.02, "{rate} segments a second");
    let mean_rtt_ms = rtts_ns as f64 / f64::from(acks) / MS as f64;
    assert!((51.0..60.0).contains(&mean_rtt_ms), "{mean_rtt_ms} ms");
}

/// Startup doubles the rate each round: within 1 s, or twenty rounds, it uses the whole rate of a fast link.
#[test]
fn bbr_starts_up_fast() {
    let mut flows = [Flow::new("bbr", MS / 20, 50 * MS)];
    let mut late = 0;
    run(&mut flows, 1_200 * MS, |now_ns, _| late += u32::from(now_ns > 1_000 * MS));
    assert!((3_500..=4_000).contains(&late), "{late} segments of at most 4000 in 200 ms");
}

/// If an application sends less than the path's capacity, every round-trip time is the least one, because nothing
/// ever waits. As in Linux since 5.10 these do not postpone PROBE_RTT: in 60 s BBR enters it five times, every ten
/// seconds plus its own duration.
#[test]
fn bbr_probes_the_round_trip_where_all_are_equal() {
    let mut control = nettrial_congestion::new("bbr").unwrap();
    let mut window = Window { cwnd_pkts: 10, ssthresh_pkts: u32::MAX, credit_pkts: 0 };
    control.on_event(Event::Established, &mut window, 0);
    let (mut begun_ns, mut was_small) = (Vec::new(), false);
    for number in 1..60_000u64 {
        // The application sends a segment each millisecond over a path with a round-trip time of 2 ms.
        let taken = Ack {
            in_flight_pkts: 1,
            prior_in_flight_pkts: 2,
            delivered_pkts: number,
            prior_delivered_pkts: number.saturating_sub(2),
            rate: Some((2, 2 * MS)),
            is_cwnd_limited: false,
            ..ack(number * MS, 2 * MS, 1)
        };
        control.on_ack(&mut window, &taken, &[], 0);
        let is_small = window.cwnd_pkts <= 4;
        if is_small && !was_small {
            begun_ns.push(taken.now_ns);
        }
        was_small = is_small;
    }
    assert_eq!(begun_ns.len(), 5, "{begun_ns:?}");
    for (begun, number) in begun_ns.iter().zip(1u64..) {
        assert!(begun.abs_diff(number * 10_200 * MS - 200 * MS) < 100 * MS, "{begun_ns:?}");
    }
}

/// Ten seconds after its least round-trip time BBR empties the path, for 200 ms and a round, and then continues as
/// before.
#[test]
fn bbr_probes_the_round_trip() {
    let mut flows = [Flow::new("bbr", MS, 50 * MS)];
    let mut small_ns = Vec::new();
    run(&mut flows, 13_000 * MS, |now_ns, flows| {
        if flows[0].window.cwnd_pkts <= 4 {
            small_ns.push(now_ns);
        }
    });
    let (first, last) = (small_ns[0], *small_ns.last().unwrap());
    assert!((10_000 * MS..12_500 * MS).contains(&first), "from {first} ns");
    assert!((200 * MS..500 * MS).contains(&(last - first)), "for {} ns", last - first);
    assert!(flows[0].window.cwnd_pkts > 100, "{:?}", flows[0].window);
}
