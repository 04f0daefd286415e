//! Tests of the medium against closed forms: a lone sender, saturation, and conservation.

mod fair;
mod reach;

use super::*;
use crate::Phy;
use nettrial_scenario::{FrameErrors, WlanStation};
use proptest::prelude::*;

const SECOND: u64 = 1_000_000_000_000;

fn wlan(settings: &str) -> Wlan {
    let text = format!(r#"{{{settings}}}"#);
    let mut wlan: Wlan = serde_json::from_str(&text).unwrap();
    wlan.beacon_interval = nettrial_scenario::Duration(0);
    wlan
}

/// Returns `count` stations, an access point and others, whose names the settings use.
fn stations(wlan: &Wlan, count: usize) -> Vec<WlanStation> {
    const NAMES: [&str; 6] = ["ap", "a", "b", "c", "d", "e"];
    let name = |number: usize| NAMES.get(number).copied().unwrap_or("further");
    (0..count).map(|number| wlan.stations.get(name(number)).copied().unwrap_or_default()).collect()
}

/// Returns a medium of `count` stations, including the access point.
fn medium(wlan: &Wlan, count: usize) -> Medium {
    Medium::new(wlan, &stations(wlan, count), random())
}

/// Returns a packet of flow 0.
fn packet(category: Category, tag: u32, bytes: u32) -> Packet {
    Packet { category, flow: 0, can_be_marked: false, tag, bytes }
}

fn random() -> Random {
    Random::new(7, 11)
}

/// Runs a medium until `until_ps`, and calls `on_event` after each event.
fn run(medium: &mut Medium, until_ps: u64, mut on_event: impl FnMut(&mut Medium, u64, &[Outcome])) {
    let mut outcomes = Vec::new();
    loop {
        let at = medium.next();
        if at > until_ps {
            return;
        }
        outcomes.clear();
        medium.advance(at, &mut outcomes);
        on_event(medium, at, &outcomes);
    }
}

/// Keeps at least so many packets of that size at each of these stations for the access point. Returns the bits
/// delivered per second.
fn saturate(
    medium: &mut Medium,
    stations: std::ops::Range<usize>,
    packets: u64,
    bytes: u32,
    until_ps: u64,
) -> f64 {
    let fill = |medium: &mut Medium, now_ps: u64| {
        for station in stations.clone() {
            while medium.counters(station).queued_pkts < packets {
                assert!(medium.offer(now_ps, [station, 0], packet(Category::BestEffort, 0, bytes)));
            }
        }
    };
    fill(medium, 0);
    let mut delivered = 0;
    run(medium, until_ps, |medium, now_ps, outcomes| {
        delivered += outcomes.len() as u64;
        fill(medium, now_ps);
    });
    (delivered * u64::from(bytes) * 8) as f64 / (until_ps as f64 / SECOND as f64)
}

/// Returns the throughput of a lone sender with full aggregates in bits per second, computed independently from
/// the formulas of the standard.
fn closed_form(wlan: &Wlan, ip_bytes: u64) -> f64 {
    let phy = Phy::new(wlan);
    let mpdu = 26 + 8 + ip_bytes + 4;
    let always =
        matches!(wlan.standard, nettrial_scenario::WlanStandard::Ac | nettrial_scenario::WlanStandard::Ax);
    let psdu = |count: u64| match count {
        1 if !always => mpdu,
        _ if always => count * (4 + mpdu.next_multiple_of(4)),
        _ => (count - 1) * (4 + mpdu.next_multiple_of(4)) + 4 + mpdu,
    };
    let limit = match wlan.standard {
        nettrial_scenario::WlanStandard::Ac => 1_048_575,
        nettrial_scenario::WlanStandard::Ax => 4_194_303,
        _ => 65_535,
    };
    let fits =
        |count: &u64| *count == 1 || (psdu(*count) <= limit && phy.ppdu_ps(psdu(*count)) <= 5484 * 1_000_000);
    let count = (1..=u64::from(wlan.mpdus())).take_while(fits).last().unwrap();
    let (bytes, us) = (
        if count == 1 {
            14
        } else if wlan.mpdus() > 64 {
            56
        } else {
            32
        },
        1_000_000,
    );
    let basic = [24, 12, 6].into_iter().find(|rate| *rate <= wlan.reference_mbps()).unwrap();
    let response = 20 * us + (16 + 8 * bytes + 6_u64).div_ceil(4 * u64::from(basic)) * 4 * us;
    // AIFS of best effort, and 15/2 slots.
    let before = 16 * us + 3 * 9 * us + 15 * 9 * us / 2;
    let cycle = before + phy.ppdu_ps(psdu(count)) + 16 * us + response;
    (8 * ip_bytes * count) as f64 / (cycle as f64 / SECOND as f64)
}

/// Returns the bits per second of 8 exchanges of a lone sender that always has so many packets of 1500 B, if each
/// waited for the mean backoff.
fn without_chance(medium: &mut Medium, packets: u64) -> f64 {
    let (mut outcomes, mut now_ps) = (Vec::new(), 0);
    for _ in 0..8 {
        while medium.counters(1).queued_pkts < packets {
            assert!(medium.offer(now_ps, [1, 0], packet(Category::BestEffort, 0, 1500)));
        }
        // The events are the beginning and the end of the data and of the acknowledgment.
        for _ in 0..4 {
            now_ps = medium.next();
            medium.advance(now_ps, &mut outcomes);
        }
    }
    assert_eq!(medium.counters(1).exchanges, 8);
    let waited_ps = 8 * (medium.timing().aifs_ps(3) + 15 * SLOT / 2);
    let took_ps = now_ps - medium.unused_ps(now_ps).0 + waited_ps;
    (outcomes.len() * 8 * 1500) as f64 / (took_ps as f64 / SECOND as f64)
}

#[test]
fn a_lone_sender_waits_for_the_mean_backoff() {
    let wlan = wlan(r#""standard": "a""#);
    let mut medium = medium(&wlan, 2);
    let found = saturate(&mut medium, 1..2, 2, 1500, 10 * SECOND);
    let expected = closed_form(&wlan, 1500);
    assert!((found / expected - 1.0).abs() < 0.003, "{found} for {expected}");
}

#[test]
fn a_lone_sender_reaches_the_closed_form() {
    let (mut cases, mut furthest) = (0, 0.0_f64);
    let widths =
        [("a", vec![20]), ("n", vec![20, 40]), ("ac", vec![20, 40, 80, 160]), ("ax", vec![20, 40, 80, 160])];
    for (standard, widths) in widths {
        for width in widths {
            for mcs in 0..12 {
                for streams in [1, 2, 4] {
                    for interval in ["400 ns", "800 ns", "1600 ns", "3200 ns"] {
                        for ampdu in [1, 16, 256] {
                            let settings = format!(
                                r#""standard": "{standard}", "width_mhz": {width}, "mcs": {mcs}, "streams": {streams},
                                   "guard_interval": "{interval}", "ampdu": {ampdu}"#
                            );
                            let mut wlan = wlan(&settings);
                            wlan.ampdu = wlan.ampdu.map(|most| most.min(wlan.most_mpdus()));
                            let knows = wlan.guard_intervals_ns().contains(&wlan.guard_interval.0);
                            if !knows || wlan.symbol_bits().is_none() {
                                continue;
                            }
                            let expected = closed_form(&wlan, 1500);
                            let mut medium = medium(&wlan, 2);
                            let found = without_chance(&mut medium, 2 * u64::from(wlan.mpdus()));
                            let ratio = found / expected;
                            assert!((0.999..1.001).contains(&ratio), "{settings}: {found} for {expected}");
                            furthest = furthest.max((ratio - 1.0).abs());
                            cases += 1;
                        }
                    }
                }
            }
        }
    }
    println!("{cases} cases, at most {:.3}% from the closed form", 100.0 * furthest);
    assert!(cases > 900, "{cases}");
}

/// Bianchi's model (IEEE JSAC 18(3), 2000, equations 7, 9 and 13): returns the probability of a collision, and the
/// payload bits per second, of `count` stations whose successes and collisions take these times.
fn bianchi(count: i32, payload_bits: f64, success_ps: f64, collision_ps: f64) -> (f64, f64) {
    let (window, stages) = (16.0, 6);
    let attempt = |p: f64| {
        let sum = window * p * (1.0 - (2.0 * p).powi(stages));
        2.0 * (1.0 - 2.0 * p) / ((1.0 - 2.0 * p) * (window + 1.0) + sum)
    };
    let (mut low, mut high) = (0.0, 0.999);
    for _ in 0..100 {
        let p = f64::midpoint(low, high);
        *(if 1.0 - (1.0 - attempt(p)).powi(count - 1) > p { &mut low } else { &mut high }) = p;
    }
    let tau = attempt(low);
    let (none, one) = ((1.0 - tau).powi(count), f64::from(count) * tau * (1.0 - tau).powi(count - 1));
    let several = 1.0 - none - one;
    let slot_ps = none * SLOT as f64 + one * success_ps + several * collision_ps;
    (low, one * payload_bits / (slot_ps / SECOND as f64))
}

#[test]
fn saturated_stations_reach_bianchis_model() {
    for count in [2, 5, 10, 20, 50] {
        // Each packet is sent until it arrives, as in the model.
        let wlan = wlan(r#""standard": "a", "mcs": 4, "tries": 255"#);
        let mut medium = Medium::without_penalties(&wlan, &stations(&wlan, count + 1), random());
        let seconds = 8;
        let found = saturate(&mut medium, 1..count + 1, 2, 1000, seconds * SECOND);
        let timing = medium.timing();
        let frame = (timing.phy.ppdu_ps(1038) + timing.aifs_ps(3)) as f64;
        let success = frame + (timing.sifs_ps + timing.ack_ps) as f64;
        let (p, expected) = bianchi(count as i32, 8000.0, success, frame);
        let ratio = found / expected;
        assert!((0.97..1.03).contains(&ratio), "{count} stations: {found} for {expected}");
        let all =
            |of: fn(&Counters) -> u64| (1..=count).map(|station| of(medium.counters(station))).sum::<u64>();
        let (collisions, exchanges) = (all(|all| all.collisions), all(|all| all.exchanges));
        let share = collisions as f64 / (collisions + exchanges) as f64;
        // The model assumes independent stations, which two stations are not: the exact process, followed slot by
        // slot, gives 0.1118.
        println!(
            "{count} stations: goodput {ratio:.4} of the model's, collisions {share:.4} where it has {p:.4}"
        );
        let p = if count == 2 { 0.1118 } else { p };
        assert!((share / p - 1.0).abs() < 0.03, "{count} stations: {share} of attempts collide, for {p}");
    }
}

#[test]
fn stations_share_evenly() {
    let count = 10;
    let mut medium = medium(&wlan(r#""standard": "a", "mcs": 4"#), count + 1);
    saturate(&mut medium, 1..count + 1, 2, 1000, 60 * SECOND);
    let delivered = (1..=count).map(|station| medium.counters(station).delivered_pkts as f64);
    let (sum, squares) =
        delivered.fold((0.0, 0.0), |(sum, squares), each| (sum + each, squares + each * each));
    let jain = sum * sum / (count as f64 * squares);
    println!("Jain's index of {count} stations over 60 s: {jain:.5}");
    assert!(jain > 0.99, "{jain}");
}

#[test]
fn packets_between_stations_cross_the_air_twice_and_keep_their_order() {
    let mut medium = medium(&wlan(r#""mpdu_loss": 0.2, "tries": 255"#), 3);
    for tag in 0..500 {
        assert!(medium.offer(0, [1, 2], packet(Category::BestEffort, tag, 1500)));
    }
    let mut seen = Vec::new();
    run(&mut medium, SECOND, |_, _, outcomes| seen.extend_from_slice(outcomes));
    assert_eq!(seen, (0..500).map(Outcome::Delivered).collect::<Vec<_>>());
    assert_eq!([0, 1, 2].map(|station| medium.counters(station).delivered_pkts), [500, 500, 0]);
    assert!(medium.counters(1).retries_pkts > 50);
    let most = medium.counters(1).aggregates.len();
    assert!(most > 20 && most <= 64, "{most}");
}

#[test]
fn rts_makes_collisions_short() {
    let collided = |threshold: &str| {
        let settings = format!(r#""standard": "a", "rts_threshold": "{threshold}""#);
        let mut medium = medium(&wlan(&settings), 21);
        saturate(&mut medium, 1..21, 2, 1500, SECOND);
        medium.unused_ps(SECOND).1
    };
    assert!(collided("0 B") * 3 < collided("2347 B"));
}

#[test]
fn the_more_urgent_category_goes_first() {
    let mut medium = medium(&wlan(r#""standard": "a""#), 2);
    let mut sent = [0; 4];
    let fill = |medium: &mut Medium, now_ps: u64, sent: &mut [u32; 4]| {
        for category in Category::ALL {
            while sent[category as usize] < 2 {
                assert!(medium.offer(now_ps, [1, 0], packet(category, category as u32, 500)));
                sent[category as usize] += 1;
            }
        }
    };
    fill(&mut medium, 0, &mut sent);
    let mut delivered = [0_u32; 4];
    run(&mut medium, SECOND, |medium, now_ps, outcomes| {
        for outcome in outcomes {
            if let Outcome::Delivered(category) = outcome {
                delivered[*category as usize] += 1;
                sent[*category as usize] -= 1;
            }
        }
        fill(medium, now_ps, &mut sent);
    });
    assert!(delivered.is_sorted() && delivered[3] > 4 * delivered[1], "{delivered:?}");
}

#[test]
fn beacons_come_in_their_time() {
    let mut wlan = wlan(r#""standard": "a""#);
    wlan.beacon_interval = nettrial_scenario::Duration(102_400_000);
    let mut medium = medium(&wlan, 2);
    run(&mut medium, 10 * SECOND, |_, _, _| {});
    assert_eq!(medium.counters(0).beacons, 98);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Every packet is delivered, dropped for a reason, or still queued, and all time is accounted for, at any
    /// time.
    #[test]
    fn nothing_is_lost_unseen(
        seed in any::<u64>(),
        stations in 2_usize..8,
        loss in prop_oneof![Just(0.0), 0.0..0.9],
        tries in 1_u32..5,
        ampdu in prop_oneof![Just(1), 1_u32..64],
        amsdu in any::<bool>(),
        limit in 1_u32..50,
        known in 0_u32..3,
        places in prop::collection::vec((-90.0..90.0, -90.0..90.0, 0_u32..8), 7),
        (is_protected, is_cut, is_ad_hoc, has_rts, has_noise, is_fair) in any::<(bool, bool, bool, bool, bool, bool)>(),
        offers in prop::collection::vec((0_u64..3_000_000_000, 0_usize..8, 0_usize..8, 0_usize..4, 40_u32..1500), 1..300),
    ) {
        let mut wlan = wlan(r#""streams": 2"#);
        wlan.beacon_interval = nettrial_scenario::Duration(10_240_000);
        (wlan.mpdu_loss, wlan.tries, wlan.ampdu) = (loss, tries, Some(ampdu));
        wlan.amsdu = amsdu.then_some(nettrial_scenario::Size(3839));
        wlan.queue = QueueLimit::Packets(limit);
        wlan.discipline = if is_fair { WlanDiscipline::FqCodel } else { WlanDiscipline::DropTail };
        wlan.mode = if is_ad_hoc { WlanMode::AdHoc } else { WlanMode::Infrastructure };
        wlan.cts_to_self = is_protected;
        wlan.frame_errors = if has_noise { FrameErrors::Awgn } else { FrameErrors::None };
        wlan.rts_threshold = nettrial_scenario::Size(if has_rts { 0 } else { 2347 });
        wlan.fragmentation_threshold =
            (is_cut && ampdu == 1 && !amsdu).then_some(nettrial_scenario::Size(300));
        let own = places.into_iter().map(|(x_m, y_m, mcs)| {
            let station = WlanStation { mcs: Some(mcs), ..WlanStation::default() };
            match known {
                0 => station,
                1 => WlanStation { snr_db: Some(x_m / 3.0), ..station },
                _ => WlanStation { x_m: Some(x_m), y_m: Some(y_m), ..station },
            }
        });
        let own: Vec<WlanStation> = own.collect();
        let mut medium = Medium::new(&wlan, &own[..stations], Random::new(seed, 1));
        let mut offers: Vec<_> = offers.into_iter().filter(|(_, from, to, ..)| from != to && *from < stations && *to < stations).collect();
        offers.sort_unstable();
        let ends = |outcomes: &[Outcome]| outcomes.iter().filter(|outcome| !matches!(outcome, Outcome::Marked(_))).count();
        let (mut taken, mut ended, mut tag) = (0, 0, 0);
        for (at, from, to, category, bytes) in offers {
            run(&mut medium, at, |_, _, outcomes| ended += ends(outcomes));
            let packet = Packet { flow: tag % 3, can_be_marked: tag % 2 == 0, ..packet(Category::ALL[category], tag, bytes) };
            taken += usize::from(medium.offer(at, [from, to], packet));
            run(&mut medium, at, |_, _, outcomes| ended += ends(outcomes));
            tag += 1;
            let unused = medium.unused_ps(at);
            let used: u64 = (0..stations).map(|station| {
                let airtime = medium.airtime(at, station);
                airtime.data_ps + airtime.errors_ps + airtime.overhead_ps
            }).sum();
            prop_assert_eq!(unused.0 + unused.1 + used, at);
            let waiting: u64 = (0..stations).map(|station| medium.counters(station).queued_pkts).sum();
            prop_assert_eq!(taken, ended + waiting as usize);
        }
        run(&mut medium, 10 * SECOND, |_, _, outcomes| ended += ends(outcomes));
        prop_assert_eq!(taken, ended);
        for station in 0..stations {
            let all = medium.counters(station);
            prop_assert_eq!(all.queued_bytes, 0);
            prop_assert_eq!(all.offered_pkts, all.delivered_pkts + all.queue_drops_pkts + all.codel_drops_pkts + all.retry_drops_pkts);
        }
    }
}
