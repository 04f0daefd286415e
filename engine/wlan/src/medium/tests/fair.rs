//! Tests of the queues of flows, and of shares of airtime.

use super::*;

const MS: u64 = 1_000_000_000;

/// Runs an access point that always has 300 packets of flow 1 for station 1 and of flow 2 for station 2, which
/// uses MCS 0. Returns the medium after a second, and the delay of each packet of flow 3, one of which arrives
/// every 10 ms for station 1.
fn crowded(settings: &str) -> (Medium, Vec<u64>) {
    let slow = r#""stations": {"b": {"mcs": 0}}"#;
    let mut medium = medium(&wlan(&format!("{settings}, {slow}")), 3);
    let (mut there, mut sent, mut delays) = ([0_u32; 4], 0_u32, Vec::new());
    let fill = |medium: &mut Medium, now_ps: u64, there: &mut [u32; 4], sent: &mut u32| {
        for flow in [1, 2] {
            while there[flow as usize] < 300 {
                let packet = Packet { flow, ..packet(Category::BestEffort, flow, 1500) };
                assert!(medium.offer(now_ps, [0, flow as usize], packet));
                there[flow as usize] += 1;
            }
        }
        if now_ps >= u64::from(*sent) * 10 * MS {
            let packet = Packet { flow: 3, ..packet(Category::BestEffort, 100 + *sent, 100) };
            assert!(medium.offer(now_ps, [0, 1], packet));
            *sent += 1;
        }
    };
    fill(&mut medium, 0, &mut there, &mut sent);
    run(&mut medium, SECOND, |medium, now_ps, outcomes| {
        for outcome in outcomes {
            let (Outcome::Delivered(tag) | Outcome::Dropped(tag)) = *outcome else { continue };
            match tag.checked_sub(100) {
                Some(number) => delays.push(now_ps.saturating_sub(u64::from(number) * 10 * MS)),
                None => there[tag as usize] -= 1,
            }
        }
        fill(medium, now_ps, &mut there, &mut sent);
    });
    (medium, delays)
}

#[test]
fn a_slow_receiver_has_its_share_of_airtime_and_no_more() {
    let delivered = |discipline: &str| {
        let settings = format!(r#""ampdu": 1, "queue": "2000 packets", "discipline": "{discipline}""#);
        crowded(&settings).0.counters(0).delivered_pkts
    };
    let (even, fair) = (delivered("drop_tail"), delivered("fq_codel"));
    // A packet takes 1930 us at 6.5 Mbit/s and 228 us at 65 Mbit/s, plus an overhead of 154 us. In pairs, 405 of
    // each are sent in a second; with equal airtime 188 and 1592, in addition to those of flow 3.
    assert!((780..830).contains(&even) && (1780..1880).contains(&fair), "{even} {fair}");
}

#[test]
fn a_sparse_flow_does_not_wait_for_others() {
    let found = |discipline: &str| {
        let settings = format!(r#""queue": "2000 packets", "discipline": "{discipline}""#);
        let (medium, mut delays) = crowded(&settings);
        delays.sort_unstable();
        (delays[delays.len() / 2] / MS, medium.counters(0).codel_drops_pkts)
    };
    let ((in_line_ms, none), (own_ms, dropped)) = (found("drop_tail"), found("fq_codel"));
    assert!(in_line_ms > 80 && own_ms < 25, "{in_line_ms} {own_ms}");
    assert!(none == 0 && dropped > 10, "{none} {dropped}");
}

/// CoDel marks each packet once that it would drop if it could not be marked, and drops none.
#[test]
fn packets_that_can_be_marked_are_marked_instead_of_dropped() {
    let seen = |can_be_marked: bool| {
        let mut medium = medium(&wlan(r#""mcs": 0, "queue": "500 packets", "discipline": "fq_codel""#), 2);
        for tag in 0..400 {
            let packet = Packet { can_be_marked, ..packet(Category::BestEffort, tag, 1500) };
            assert!(medium.offer(0, [0, 1], packet));
        }
        let mut outcomes = Vec::new();
        run(&mut medium, SECOND, |_, _, more| outcomes.extend_from_slice(more));
        let counters = medium.counters(0);
        (outcomes, counters.codel_drops_pkts, counters.codel_marks_pkts, counters.delivered_pkts)
    };
    let (outcomes, dropped, marked, delivered) = seen(true);
    assert!(dropped == 0 && marked > 5 && delivered == 400, "{dropped} {marked} {delivered}");
    let mut tags: Vec<u32> = outcomes
        .iter()
        .enumerate()
        .filter_map(|(at, outcome)| {
            let Outcome::Marked(tag) = outcome else { return None };
            assert!(outcomes[at..].contains(&Outcome::Delivered(*tag)));
            Some(*tag)
        })
        .collect();
    tags.dedup();
    assert_eq!(tags.len() as u64, marked);
    let (_, dropped, marked, delivered) = seen(false);
    assert!(dropped > 5 && marked == 0 && dropped + delivered == 400, "{dropped} {marked} {delivered}");
}

#[test]
fn a_full_queue_takes_a_new_packet_and_drops_one_of_the_longest_flow() {
    let mut medium = medium(&wlan(r#""queue": "10 packets", "discipline": "fq_codel""#), 2);
    for tag in 0..12 {
        let flow = u32::from(tag == 11);
        assert!(medium.offer(0, [1, 0], Packet { flow, ..packet(Category::BestEffort, tag, 1500) }));
    }
    let mut outcomes = Vec::new();
    run(&mut medium, SECOND, |_, _, more| outcomes.extend_from_slice(more));
    assert_eq!(outcomes[..2], [Outcome::Dropped(0), Outcome::Dropped(1)]);
    assert!(outcomes.contains(&Outcome::Delivered(11)) && outcomes.len() == 12);
    assert_eq!((medium.counters(1).queue_drops_pkts, medium.counters(1).delivered_pkts), (2, 10));
}

#[test]
fn delays_are_kept_over_time() {
    let mut medium = medium(&wlan(r#""standard": "a""#), 2);
    medium.keep_delays();
    saturate(&mut medium, 1..2, 20, 1000, SECOND);
    let means: Vec<_> = medium.counters(1).delays.iter().flat_map(|delays| delays.means()).collect();
    assert_eq!(
        means.iter().map(|(at_ps, _)| at_ps / MS).collect::<Vec<_>>(),
        (0..10).map(|at| at * 100).collect::<Vec<_>>()
    );
    let mean_ns = medium.counters(1).queue_delay.mean_ns();
    assert!(means.iter().all(|(_, [queue, contention])| {
        queue.is_some_and(|ns| ns.abs_diff(mean_ns) < mean_ns / 5) && contention.is_some()
    }));
}
