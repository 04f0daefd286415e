//! Tests of distance, noise, and rates of single stations.

use super::*;
use crate::errors::Errors;

/// Runs two stations on opposite sides of an access point, or beside each other, with these additional settings.
/// Returns the share of attempts that collide, and the bits delivered per second.
fn two_stations(is_hidden: bool, settings: &str) -> (f64, f64) {
    let x_m = if is_hidden { 40 } else { -40 };
    let text = format!(
        r#""standard": "a", "mcs": 2, "frame_errors": "none", "stations": {{"ap": {{"x_m": 0, "y_m": 0}},
           "a": {{"x_m": -40, "y_m": 0}}, "b": {{"x_m": {x_m}, "y_m": 1}}}}{settings}"#
    );
    let mut medium = medium(&wlan(&text), 3);
    let found = saturate(&mut medium, 1..3, 4, 1500, 4 * SECOND);
    let all = |of: fn(&Counters) -> u64| of(medium.counters(1)) + of(medium.counters(2));
    let (collisions, exchanges) = (all(|all| all.collisions), all(|all| all.exchanges));
    (collisions as f64 / (collisions + exchanges) as f64, found)
}

#[test]
fn hidden_stations_lose_more_than_those_that_hear_each_other_and_rts_cures_it() {
    let (heard, hidden) = (two_stations(false, ""), two_stations(true, ""));
    assert!(heard.0 < 0.13 && hidden.0 > 0.4, "{heard:?} {hidden:?}");
    assert!(hidden.1 < 0.8 * heard.1, "{heard:?} {hidden:?}");
    let protected = two_stations(true, r#", "rts_threshold": "0 B""#);
    assert!(protected.1 > 1.2 * hidden.1, "{hidden:?} {protected:?}");
    // Only RTS frames collide, and a CTS silences every station that hears the access point.
    assert!(protected.1 > 0.8 * two_stations(false, r#", "rts_threshold": "0 B""#).1);
}

#[test]
fn stations_with_positions_that_all_hear_each_other_do_as_those_without() {
    let same = |settings: &str| {
        let mut medium = medium(&wlan(settings), 3);
        (saturate(&mut medium, 1..3, 4, 1500, SECOND), medium.counters(1).clone())
    };
    let near = r#""standard": "a", "stations": {"ap": {"x_m": 0, "y_m": 0}, "a": {"x_m": 0, "y_m": 2},
        "b": {"x_m": 0, "y_m": -2}}"#;
    assert_eq!(same(near), same(r#""standard": "a""#));
}

#[test]
fn the_nearer_of_two_stations_captures_the_access_point() {
    let text = r#""standard": "a", "mcs": 2, "stations": {"ap": {"x_m": 0, "y_m": 0}, "a": {"x_m": 5, "y_m": 0},
        "b": {"x_m": 20, "y_m": 0}}"#;
    let mut medium = medium(&wlan(text), 3);
    saturate(&mut medium, 1..3, 4, 1500, 2 * SECOND);
    let [near, far] = [1, 2].map(|station| medium.counters(station).clone());
    assert!(near.collisions == 0 && far.collisions > 50, "{near:?} {far:?}");
    // The frame is 18 dB stronger and the threshold is 10 dB; with a higher threshold, both frames are lost.
    let mut without = super::medium(&wlan(&format!(r#"{text}, "capture_db": 20"#)), 3);
    saturate(&mut without, 1..3, 4, 1500, 2 * SECOND);
    assert!(without.counters(1).collisions > 50);
}

#[test]
fn noise_takes_the_mpdus_that_the_curve_says() {
    for snr_db in [20.5, 21.0, 21.5] {
        let settings =
            wlan(&format!(r#""mcs": 5, "tries": 255, "stations": {{"a": {{"snr_db": {snr_db}}}}}"#));
        let mut medium = medium(&settings, 2);
        saturate(&mut medium, 1..2, 200, 1500, 3 * SECOND);
        let all = medium.counters(1);
        let found = all.lost_mpdus_pkts as f64 / all.mpdus_pkts as f64;
        let log_success = Errors::new(&settings).log_success(10_f64.powf(snr_db / 10.0));
        let expected = -(1538.0 * log_success).exp_m1();
        assert!((found - expected).abs() < 0.02 && expected < 0.99, "{snr_db} dB: {found} for {expected}");
    }
}

/// The rate anomaly (Heusse et al., INFOCOM 2003): all stations have the same number of turns, so a slow one slows
/// all.
#[test]
fn one_slow_station_slows_all() {
    let delivered = |stations: &str| {
        let mut medium = medium(&wlan(&format!(r#""standard": "a"{stations}"#)), 3);
        saturate(&mut medium, 1..3, 4, 1500, 2 * SECOND);
        [1, 2].map(|station| medium.counters(station).delivered_pkts as f64)
    };
    let ([fast, _], [slowed, slow]) = (delivered(""), delivered(r#", "stations": {"b": {"mcs": 0}}"#));
    assert!((slowed / slow - 1.0).abs() < 0.15, "{slowed} {slow}");
    assert!(slowed < 0.3 * fast, "{slowed} {fast}");
}

#[test]
fn a_txop_holds_as_many_exchanges_as_fit() {
    let settings = wlan(r#""standard": "a""#);
    let mut medium = medium(&settings, 2);
    let limit_ps = Category::Video.txop_limit_ps();
    for tag in 0..400 {
        assert!(medium.offer(0, [1, 0], packet(Category::Video, tag, 1500)));
    }
    let mut seen = Vec::new();
    run(&mut medium, SECOND / 20, |_, now_ps, outcomes| seen.extend(outcomes.iter().map(|_| now_ps)));
    let timing = medium.timing();
    let each_ps = timing.phy.ppdu_ps(1538) + 2 * timing.sifs_ps + timing.ack_ps;
    // The last exchange needs no SIFS before a next one.
    let fits = (limit_ps + timing.sifs_ps) / each_ps;
    let turns: Vec<u64> =
        seen.chunk_by(|one, next| next - one == each_ps).map(|turn| turn.len() as u64).collect();
    assert!(
        turns.len() > 5 && turns[..turns.len() - 1].iter().all(|turn| *turn == fits),
        "{turns:?} for {fits}"
    );
    // Best effort has no TXOP limit, so each exchange contends.
    assert_eq!(Category::BestEffort.txop_limit_ps(), 0);
}

#[test]
fn fragments_follow_each_other_after_sifs() {
    let settings = wlan(r#""standard": "a", "fragmentation_threshold": "530 B""#);
    let mut medium = medium(&settings, 2);
    assert!(medium.offer(0, [1, 0], packet(Category::BestEffort, 5, 1492)));
    let mut seen = Vec::new();
    run(&mut medium, SECOND / 20, |_, now_ps, outcomes| seen.extend(outcomes.iter().map(|_| now_ps)));
    // The fragments are 1500 B with LLC and SNAP, in three parts of 500 B.
    let timing = medium.timing();
    let each_ps = timing.phy.ppdu_ps(530) + timing.sifs_ps + timing.ack_ps;
    assert_eq!((medium.counters(1).mpdus_pkts, medium.counters(1).retries_pkts), (3, 0));
    let busy_ps = timing.aifs_ps(3) + 3 * each_ps + timing.sifs_ps - timing.ack_ps;
    assert_eq!(seen, [busy_ps]);
}

#[test]
fn a_cts_of_its_own_comes_before_each_ppdu() {
    let took = |settings: &str| {
        let mut medium = medium(&wlan(settings), 2);
        assert!(medium.offer(0, [1, 0], packet(Category::BestEffort, 5, 1500)));
        let mut seen = Vec::new();
        run(&mut medium, SECOND / 20, |_, now_ps, outcomes| seen.extend(outcomes.iter().map(|_| now_ps)));
        (seen[0], medium.timing().cts_ps + medium.timing().sifs_ps)
    };
    let ((without, _), (with, before)) = (
        took(r#""standard": "g", "band": "2.4 GHz""#),
        took(r#""standard": "g", "band": "2.4 GHz", "cts_to_self": true"#),
    );
    assert_eq!(with, without + before);
}

#[test]
fn stations_of_an_ad_hoc_network_reach_each_other_directly() {
    let mut medium = medium(&wlan(r#""mode": "ad_hoc""#), 3);
    for tag in 0..10 {
        assert!(medium.offer(0, [1, 2], packet(Category::BestEffort, tag, 1500)));
    }
    let mut seen = Vec::new();
    run(&mut medium, SECOND, |_, _, outcomes| seen.extend_from_slice(outcomes));
    assert_eq!(seen, (0..10).map(Outcome::Delivered).collect::<Vec<_>>());
    assert_eq!([0, 1, 2].map(|station| medium.counters(station).delivered_pkts), [0, 10, 0]);
}
