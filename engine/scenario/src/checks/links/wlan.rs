//! Finds what makes a radio channel impossible.

mod stations;

use super::check_all_interfaces;
use crate::{
    Band, Directory, Link, NodeKind, Place, Problem, QueueLimit, Rate, Size, Wlan, WlanMode, WlanStandard,
};

/// The shortest time between beacons, nanoseconds: 10 time units of 1024 us.
const SHORTEST_BEACON_NS: u64 = 10_240_000;
/// The rates of acknowledgments, RTS and CTS that the standard requires every station to support.
const BASIC_RATES: [u64; 3] = [6_000_000, 12_000_000, 24_000_000];

/// Adds everything that is wrong with the radio channel `link`, which is at `place`.
pub fn check(directory: &Directory, link: &Link, place: &Place, problems: &mut Vec<Problem>) {
    check_all_interfaces(directory, link, place, problems);
    check_cable_settings(link, place, problems);
    let Some(wlan) = &link.wlan else {
        problems.push(place.problem(
            "wlan",
            "none",
            "the channel's settings",
            "a radio channel has settings",
        ));
        return;
    };
    let settings = place.within("wlan");
    check_stations(directory, link, wlan, place, problems);
    check_modulation(wlan, &settings, problems);
    check_frames(wlan, &settings, problems);
    check_fragments(wlan, &settings, problems);
    stations::check(link, wlan, &settings, problems);
}

/// Adds the settings of a cable that a radio channel does not have.
fn check_cable_settings(link: &Link, place: &Place, problems: &mut Vec<Problem>) {
    let mut refuse = |name: &str, hint: &str| problems.push(place.problem(name, "given", "none", hint));
    if link.rate.is_some() {
        refuse("rate", "a radio channel's rate follows from `wlan`: standard, width, streams, MCS");
    }
    if link.reverse.is_some() {
        refuse("reverse", "all stations of a radio channel share it");
    }
    if link.rate_trace.is_some() {
        refuse("rate_trace", "a radio channel's rate follows from `wlan`: standard, width, streams, MCS");
    }
    if link.delay.0 > 0 {
        refuse("delay", "the stations of a radio channel are near each other");
    }
    if link.delay_trace.is_some() {
        refuse("delay_trace", "the stations of a radio channel are near each other");
    }
    if link.tunnel.is_some() {
        refuse("tunnel", "a tunnel leads through a cable");
    }
    if link.queue.is_some() {
        refuse("queue", "the queues of a radio channel are set by `wlan.queue`");
    }
    if !link.discipline.is_drop_tail() {
        refuse("discipline", "the queues of a radio channel drop what is beyond their limit");
    }
    if !link.impairment.is_none() {
        refuse("impairment", "a radio channel loses frames by `wlan.mpdu_loss`");
    }
}

fn check_stations(
    directory: &Directory,
    link: &Link,
    wlan: &Wlan,
    place: &Place,
    problems: &mut Vec<Problem>,
) {
    let is_ad_hoc = wlan.mode == WlanMode::AdHoc;
    if link.interfaces.len() < 2 {
        let (expected, hint) =
            ("2 interfaces or more", "a radio channel joins an access point and its stations");
        problems.push(place.problem("ends", link.interfaces.len(), expected, hint));
    }
    for (number, end) in link.interfaces.iter().enumerate() {
        let place = place.within("ends").within(number);
        match (number, directory.node(&end.node).map(|node| node.kind)) {
            (0, Some(NodeKind::Switch)) if is_ad_hoc => {
                let hint = "an ad hoc network has no access point: its stations reach each other directly";
                problems.push(place.problem("node", &end.node, "a host or a router", hint));
            }
            (0, Some(NodeKind::Host)) if !is_ad_hoc => {
                let hint = "the first interface is the access point's, which forwards what is for others";
                problems.push(place.problem("node", &end.node, "a switch or a router", hint));
            }
            (1.., Some(NodeKind::Switch)) => {
                let hint = "a station does not pass on the frames of others";
                problems.push(place.problem("node", &end.node, "a host or a router", hint));
            }
            _ => {}
        }
        if end.mtu.0 > Wlan::MOST_MTU {
            let expected = format!("up to {} B", Wlan::MOST_MTU);
            problems.push(place.problem("mtu", end.mtu, expected, "an MSDU of 802.11 has 2304 B at most"));
        }
    }
}

/// Adds what is wrong with the modulation of a channel, or of a station.
fn check_modulation(wlan: &Wlan, place: &Place, problems: &mut Vec<Problem>) {
    let name = name(wlan.standard);
    let before = problems.len();
    let mut refuse = |setting: &str, value: String, expected: String, hint: String| {
        problems.push(place.problem(setting, value, expected, hint));
    };
    if !wlan.bands().contains(&wlan.band) {
        let said = |band: &Band| if *band == Band::Ghz2 { "2.4 GHz" } else { "5 GHz" };
        let expected: Vec<&str> = wlan.bands().iter().map(said).collect();
        refuse("band", said(&wlan.band).into(), expected.join(" or "), format!("{name} is of that band"));
    }
    if !wlan.widths().contains(&wlan.width_mhz) {
        let hint = format!("{name} has channels of these widths in MHz");
        refuse("width_mhz", wlan.width_mhz.to_string(), list(wlan.widths()), hint);
    }
    if !(1..=wlan.most_streams()).contains(&wlan.streams) {
        let expected =
            if wlan.most_streams() == 1 { "1".into() } else { format!("1 to {}", wlan.most_streams()) };
        refuse("streams", wlan.streams.to_string(), expected, format!("{name} has so many spatial streams"));
    }
    if wlan.mcs > wlan.highest_mcs() {
        let hint = if wlan.standard == WlanStandard::N && wlan.mcs < 32 {
            format!("802.11n's MCS {} is mcs {} with {} streams", wlan.mcs, wlan.mcs % 8, wlan.mcs / 8 + 1)
        } else {
            format!("{name} has these MCS for each stream")
        };
        refuse("mcs", wlan.mcs.to_string(), format!("0 to {}", wlan.highest_mcs()), hint);
    }
    if !wlan.guard_intervals_ns().contains(&wlan.guard_interval.0) {
        let expected: Vec<String> = wlan.guard_intervals_ns().iter().map(|ns| format!("{ns} ns")).collect();
        let hint = format!("{name} has these guard intervals");
        refuse("guard_interval", wlan.guard_interval.to_string(), expected.join(", "), hint);
    }
    if problems.len() == before && wlan.symbol_bits().is_none() {
        let there = |mcs: &u32| Wlan { mcs: *mcs, ..wlan.clone() }.symbol_bits().is_some();
        let expected: Vec<u32> = (0..=wlan.highest_mcs()).filter(there).collect();
        let hint = format!(
            "{name} has no MCS {} at {} MHz with {} streams: its bits can't be split evenly",
            wlan.mcs, wlan.width_mhz, wlan.streams
        );
        problems.push(place.problem("mcs", wlan.mcs, list(&expected), hint));
    }
}

fn check_frames(wlan: &Wlan, place: &Place, problems: &mut Vec<Problem>) {
    let name = name(wlan.standard);
    let mut refuse = |setting: &str, value: String, expected: String, hint: &str| {
        problems.push(place.problem(setting, value, expected, hint));
    };
    if !(1..=wlan.most_mpdus()).contains(&wlan.mpdus()) {
        let expected =
            if wlan.most_mpdus() == 1 { "1".into() } else { format!("1 to {}", wlan.most_mpdus()) };
        let hint = format!("an acknowledgment of {name} acknowledges so many MPDUs");
        refuse("ampdu", wlan.mpdus().to_string(), expected, &hint);
    }
    if let Some(Size(limit)) = wlan.amsdu
        && !wlan.amsdu_limits().contains(&limit)
    {
        let sizes: Vec<String> = wlan.amsdu_limits().iter().map(|bytes| format!("{bytes} B")).collect();
        let expected = if sizes.is_empty() { "none".to_owned() } else { sizes.join(", ") };
        refuse("amsdu", format!("{limit} B"), expected, &format!("{name} has these sizes"));
    }
    if wlan.rts_threshold.0 > Wlan::MOST_RTS_THRESHOLD {
        let hint = "no MPDU is larger than 65536 B, which turns RTS off";
        let expected = format!("0 B to {} B", Wlan::MOST_RTS_THRESHOLD);
        refuse("rts_threshold", wlan.rts_threshold.to_string(), expected, hint);
    }
    if !(1..=255).contains(&wlan.tries) {
        refuse("tries", wlan.tries.to_string(), "1 to 255".into(), "an MPDU is sent once at least");
    }
    if !(0.0..=1.0).contains(&wlan.mpdu_loss) {
        let hint = "it is a probability: 0.01 is one MPDU in a hundred";
        refuse("mpdu_loss", wlan.mpdu_loss.to_string(), "0 to 1".into(), hint);
    }
    let Rate(basic) = wlan.basic_rate;
    if !BASIC_RATES.contains(&basic) {
        let hint = "every station knows these rates";
        refuse("basic_rate", wlan.basic_rate.to_string(), "6, 12 or 24 Mbit/s".into(), hint);
    }
    if wlan.beacon_interval.0 != 0 && wlan.beacon_interval.0 < SHORTEST_BEACON_NS {
        let hint = "10 time units of 1024 us; 0 for no beacons";
        refuse("beacon_interval", wlan.beacon_interval.to_string(), "10.24 ms or more, or 0".into(), hint);
    }
    if matches!(wlan.queue, QueueLimit::Packets(0) | QueueLimit::Bytes(Size(0))) {
        let hint = "a queue that holds nothing passes nothing";
        refuse("queue", "0".into(), "1 packet or more".into(), hint);
    }
}

/// Adds what is wrong with fragmentation.
fn check_fragments(wlan: &Wlan, place: &Place, problems: &mut Vec<Problem>) {
    let Some(threshold) = wlan.fragmentation_threshold else { return };
    let mut refuse = |expected: &str, hint: &str| {
        problems.push(place.problem("fragmentation_threshold", threshold, expected, hint));
    };
    if !(Wlan::LEAST_FRAGMENTATION_THRESHOLD..=Wlan::MOST_FRAGMENTATION_THRESHOLD).contains(&threshold.0) {
        refuse("256 B to 2346 B", "dot11FragmentationThreshold has this range");
    } else if wlan.mpdus() > 1 || wlan.amsdu.is_some() {
        refuse("none with aggregation", "aggregated MSDUs are not cut: say `ampdu: 1` and no `amsdu`");
    }
}

/// Returns the name of a standard as users know it.
fn name(standard: WlanStandard) -> &'static str {
    match standard {
        WlanStandard::A => "802.11a",
        WlanStandard::G => "802.11g",
        WlanStandard::N => "802.11n",
        WlanStandard::Ac => "802.11ac",
        WlanStandard::Ax => "802.11ax",
    }
}

fn list(values: &[u32]) -> String {
    values.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}
