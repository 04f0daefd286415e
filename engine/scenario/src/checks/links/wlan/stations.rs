//! Finds impossible settings of single stations and of their reception.

use crate::{Link, Place, Problem, RateControl, Wlan, WlanMode, WlanStation};
use std::ops::RangeInclusive;

/// The range of a setting that affects how far frames reach.
type Range = (&'static str, RangeInclusive<f64>, &'static str);

const TX_POWER: Range = ("tx_power_dbm", -10.0..=36.0, "regulation allows 36 dBm at most, 16 dBm is usual");
const SNR: Range = ("snr_db", -20.0..=80.0, "it is the ratio of signal to noise in dB");
const POSITIONS: [Range; 2] = [
    ("x_m", -100_000.0..=100_000.0, "positions are in metres"),
    ("y_m", -100_000.0..=100_000.0, "positions are in metres"),
];

/// Adds everything that is wrong with the stations of `wlan`, whose settings are at `place`, and with their
/// reception.
pub fn check(link: &Link, wlan: &Wlan, place: &Place, problems: &mut Vec<Problem>) {
    check_reach(wlan, place, problems);
    let nodes: Vec<&str> = link.interfaces.iter().map(|end| end.node.as_str()).collect();
    let of_stations = place.within("stations");
    for (node, station) in &wlan.stations {
        if !nodes.contains(&node.as_str()) {
            let expected = nodes.join(", ");
            problems.push(of_stations.problem(node, "given", expected, "the channel has these nodes"));
            continue;
        }
        check_station(wlan, station, &of_stations.within(node), problems);
        if station.snr_db.is_some()
            && nodes.first() == Some(&node.as_str())
            && wlan.mode == WlanMode::Infrastructure
        {
            let hint = "give each station its SNR, which holds in both directions";
            problems.push(of_stations.within(node).problem(
                "snr_db",
                "given",
                "none at the access point",
                hint,
            ));
        }
    }
    check_positions(&nodes, wlan, &of_stations, problems);
}

/// Adds a problem for a number outside its range.
fn check_range(
    value: Option<f64>,
    (setting, range, hint): Range,
    place: &Place,
    problems: &mut Vec<Problem>,
) {
    if let Some(value) = value
        && !range.contains(&value)
    {
        let expected = format!("{} to {}", range.start(), range.end());
        problems.push(place.problem(setting, value, expected, hint));
    }
}

/// Adds problems with powers, path loss and thresholds.
fn check_reach(wlan: &Wlan, place: &Place, problems: &mut Vec<Problem>) {
    for (value, range) in [
        (Some(wlan.tx_power_dbm), TX_POWER),
        (Some(wlan.noise_figure_db), ("noise_figure_db", 0.0..=30.0, "a receiver adds noise, 7 dB is usual")),
        (wlan.path_loss_at_1_m_db, ("path_loss_at_1_m_db", 0.0..=150.0, "free space has 46.7 dB at 5 GHz")),
        (
            Some(wlan.path_loss_exponent),
            ("path_loss_exponent", 1.0..=8.0, "free space has 2, rooms have 3 to 4"),
        ),
        (
            Some(wlan.carrier_sense_dbm),
            ("carrier_sense_dbm", -110.0..=-20.0, "the standard asks for -82 dBm at 20 MHz"),
        ),
        (Some(wlan.capture_db), ("capture_db", 0.0..=60.0, "receivers need about 10 dB")),
    ] {
        check_range(value, range, place, problems);
    }
}

/// Adds problems with one station.
fn check_station(wlan: &Wlan, station: &WlanStation, place: &Place, problems: &mut Vec<Problem>) {
    check_range(station.tx_power_dbm, TX_POWER, place, problems);
    check_range(station.snr_db, SNR, place, problems);
    let [x_m, y_m] = POSITIONS;
    check_range(station.x_m, x_m, place, problems);
    check_range(station.y_m, y_m, place, problems);
    let has_position = station.x_m.is_some() || station.y_m.is_some();
    if has_position && station.snr_db.is_some() {
        let hint = "the SNR follows from positions";
        problems.push(place.problem("snr_db", "given", "none with positions", hint));
    }
    let own = [("mcs", station.mcs), ("streams", station.streams)];
    for (setting, value) in own.iter().filter_map(|(setting, value)| Some((setting, (*value)?))) {
        if wlan.rate_control != RateControl::Fixed {
            let hint = "rate control chooses it";
            problems.push(place.problem(setting, value, "none with rate_control minstrel_ht", hint));
        }
    }
    if station.mcs.is_some() || station.streams.is_some() {
        // Problems with the channel itself are reported once.
        let mut of_channel = Vec::new();
        super::check_modulation(wlan, place, &mut of_channel);
        if of_channel.is_empty() {
            super::check_modulation(&wlan.of_station(station), place, problems);
        }
    }
}

/// Adds problems for nodes without a position if others have one, and for nodes with only one coordinate.
fn check_positions(nodes: &[&str], wlan: &Wlan, place: &Place, problems: &mut Vec<Problem>) {
    let none = WlanStation::default();
    let station = |node: &str| wlan.stations.get(node).unwrap_or(&none);
    let has_any = |node: &&str| station(node).x_m.is_some() || station(node).y_m.is_some();
    if !nodes.iter().any(has_any) {
        return;
    }
    for node in nodes {
        for (setting, value) in [("x_m", station(node).x_m), ("y_m", station(node).y_m)] {
            if value.is_none() {
                let hint = "all nodes of a channel have a position, the access point too, or none has";
                problems.push(place.within(node).problem(setting, "none", "metres", hint));
            }
        }
    }
}
