//! Tests of trials over a radio channel.

use nettrial_scenario::{Record, Scenario};
use nettrial_sim::{check, run};
use serde_json::{Value, json};

/// Returns two stations and a wired host around an access point, with these settings of the channel and this
/// traffic.
fn scenario(wlan: Value, [from, to]: [&str; 2], transport: &str, traffic: Value) -> Scenario {
    let buffer = json!({"minimum": "4 KiB", "initial": "128 KiB", "maximum": "6 MiB"});
    let stack = json!({"name": "s", "congestion_control": "cubic", "receive_buffer": buffer,
        "send_buffer": buffer, "window_scaling": true, "sack": true, "timestamps": true});
    let host = |name: &str| json!({"name": name, "kind": "host", "stack": stack});
    let end = |node: &str, interface: &str, addresses: &[&str]| json!({"node": node, "interface": interface, "mtu": "1500 B", "addresses": addresses});
    Scenario::try_from(json!({
        "format": 1,
        "nodes": [host("one"), host("two"), host("wired"), {"name": "ap", "kind": "switch"}],
        "links": [
            {"medium": "wlan", "wlan": wlan, "ends": [
                end("ap", "wlan0", &[]), end("one", "eth0", &["10.0.0.1/24"]), end("two", "eth0", &["10.0.0.2/24"])]},
            {"ends": [end("ap", "eth0", &[]), end("wired", "eth0", &["10.0.0.3/24"])], "rate": "1 Gbit/s",
                "queue": "1000 packets"},
        ],
        "routing": {"policy": "shortest_path"},
        "workload": [{"name": "f", "from": from, "to": to, "transport": transport, "ip": 4, "traffic": traffic}],
        "measurement": {"interval": "100 ms", "queue_drops": "allowed"},
        "seed": 3,
    }))
    .unwrap()
}

fn record(scenario: &Scenario) -> Record {
    let record = run(scenario, None, 1).unwrap();
    for channel in &record.channels {
        let used = channel.stations.iter().map(|station| station.airtime);
        let used: u64 = used.map(|used| used.data_ps + used.errors_ps + used.overhead_ps).sum();
        assert_eq!(channel.idle_ps + channel.collisions_ps + used, channel.elapsed_ps);
    }
    record
}

fn goodput_mbps(record: &Record) -> f64 {
    record.flows[0].goodput_bps.unwrap() / 1e6
}

/// Returns a workload of datagrams as fast as possible.
fn datagrams() -> Value {
    json!({"kind": "packets", "size": {"distribution": "constant", "value": "1472 B"}, "duration": "1 s"})
}

#[test]
fn a_lone_sender_reaches_the_closed_form() {
    // 802.11a at 54 Mbit/s: AIFS 43 us, 67.5 us of backoff, 57 symbols after 20 us, SIFS, an acknowledgment of 28
    // us.
    let wlan = json!({"standard": "a", "beacon_interval": "0 ns"});
    let record = record(&scenario(wlan, ["one", "wired"], "udp", datagrams()));
    let expected = 1472.0 * 8.0 / (43.0 + 67.5 + 248.0 + 16.0 + 28.0);
    let ratio = goodput_mbps(&record) / expected;
    assert!((ratio - 1.0).abs() < 0.01, "{} for {expected}", goodput_mbps(&record));
    assert!(record.warnings.is_empty(), "{:?}", record.warnings);
}

/// An A-MSDU of five packets is an MPDU of 7648 B, which exceeds the usual threshold of 2347 B. It takes 236 symbols of
/// 4 us at 65 Mbit/s after a preamble of 36 us, with AIFS, backoff, SIFS and acknowledgment as above. RTS and CTS at
/// 24 Mbit/s with a SIFS each take 28 us + 16 us + 28 us + 16 us more.
#[test]
fn an_a_msdu_is_sent_without_rts_unless_the_threshold_asks_for_it() {
    for (threshold, protection_us) in [(None, 0.0), (Some("7648 B"), 0.0), (Some("2347 B"), 88.0)] {
        let mut wlan = json!({"ampdu": 1, "amsdu": "7935 B", "beacon_interval": "0 ns"});
        if let Some(threshold) = threshold {
            wlan["rts_threshold"] = threshold.into();
        }
        let record = record(&scenario(wlan, ["one", "wired"], "udp", datagrams()));
        let took_us = 43.0 + 67.5 + 36.0 + 236.0 * 4.0 + 16.0 + 28.0 + protection_us;
        let expected = 5.0 * 1472.0 * 8.0 / took_us;
        let found = goodput_mbps(&record);
        assert!((found / expected - 1.0).abs() < 0.01, "{found} for {expected} with {threshold:?}");
    }
}

#[test]
fn a_few_small_packets_hardly_slow_a_sender() {
    let mut scenario = scenario(json!({"ampdu": 1}), ["one", "wired"], "udp", datagrams());
    let alone = goodput_mbps(&record(&scenario));
    let mut probe = scenario.workload[0].clone();
    probe.name = "probe".into();
    probe.traffic =
        serde_json::from_value(json!({"kind": "request_response", "request": "64 B", "response": "64 B",
        "interval": "10 ms", "duration": "1 s"}))
        .unwrap();
    scenario.workload.push(probe);
    let beside = goodput_mbps(&record(&scenario));
    // Each small packet occupies the channel for about as long as a large one, in each direction, and some
    // collide.
    assert!(beside > 0.9 * alone, "{beside} beside the probe, {alone} alone");
}

#[test]
fn a_senders_buffer_is_as_full_as_packets_are_at_its_station() {
    let with_buffer = |buffer: Option<&str>| {
        let mut scenario = scenario(json!({"mpdu_loss": 0.1}), ["one", "wired"], "udp", datagrams());
        scenario.workload[0].socket.udp_buffer =
            buffer.map(|size| serde_json::from_value(json!(size)).unwrap());
        goodput_mbps(&record(&scenario))
    };
    let (of_linux, never_full) = (with_buffer(None), with_buffer(Some("4 MB")));
    assert!(
        of_linux > 0.95 * never_full,
        "{of_linux} with Linux's own buffer, {never_full} with a large one"
    );
}

#[test]
fn a_packet_that_its_station_drops_later_is_no_longer_in_its_senders_buffer() {
    let mut scenario =
        scenario(json!({"ampdu": 1, "queue": "10 packets"}), ["one", "wired"], "udp", datagrams());
    let at_once = goodput_mbps(&record(&scenario));
    scenario.nodes[0].cost = Some(serde_json::from_value(json!({"per_packet": "100 us"})).unwrap());
    let later = record(&scenario);
    assert!(later.channels[0].stations[1].queue_drops_pkts > 100);
    assert!(goodput_mbps(&later) > 0.9 * at_once, "{} {at_once}", goodput_mbps(&later));
}

#[test]
fn what_goes_from_station_to_station_crosses_the_air_twice() {
    let to = |to: &str| {
        let record = record(&scenario(json!({"standard": "a"}), ["one", to], "udp", datagrams()));
        (goodput_mbps(&record), record.channels[0].stations[0].delivered_pkts)
    };
    let ((wired, passed_on), (station, twice)) = (to("wired"), to("two"));
    assert_eq!(passed_on, 0);
    assert!(twice > 500 && station < 0.62 * wired, "{station} {wired}");
}

#[test]
fn tcp_contends_with_its_own_acknowledgments() {
    let transfer = json!({"kind": "transfer", "duration": "1 s"});
    let wlan = json!({"standard": "n", "width_mhz": 40, "mcs": 7, "streams": 2, "guard_interval": "400 ns"});
    let tcp = record(&scenario(wlan.clone(), ["wired", "one"], "tcp", transfer));
    let udp = record(&scenario(wlan, ["wired", "one"], "udp", datagrams()));
    assert!(goodput_mbps(&tcp) < goodput_mbps(&udp), "{} {}", goodput_mbps(&tcp), goodput_mbps(&udp));
    assert!(goodput_mbps(&tcp) > 100.0 && goodput_mbps(&udp) < 270.0);
    let [ap, one, _] = tcp.channels[0].stations.as_slice() else { panic!("{:?}", tcp.channels) };
    assert!(ap.collisions > 0 && one.collisions > 0);
    assert!(ap.aggregates.len() > 16, "{:?}", ap.aggregates);
}

#[test]
fn a_flow_with_an_urgent_codepoint_is_served_first() {
    let mut scenario = scenario(json!({"standard": "a"}), ["one", "wired"], "udp", datagrams());
    let mut other = scenario.workload[0].clone();
    (other.name, other.from) = ("g".into(), "two".into());
    scenario.workload.push(other);
    let even = record(&scenario);
    scenario.workload[1].socket.dscp = 46;
    let urgent = record(&scenario);
    let goodput = |record: &Record, flow: usize| record.flows[flow].goodput_bps.unwrap();
    assert!((goodput(&even, 0) / goodput(&even, 1) - 1.0).abs() < 0.1);
    assert!(goodput(&urgent, 1) > 4.0 * goodput(&urgent, 0));
    scenario.workload[1].socket.dscp = 64;
    let problems = check(&scenario).unwrap_err();
    assert_eq!((problems[0].setting.as_str(), problems[0].expected.as_str()), ("dscp", "0 to 63"));
}

#[test]
fn a_distant_station_gets_less_and_rate_control_finds_what_it_can() {
    let wlan = |metres: f64, rate_control: &str| {
        json!({"streams": 2, "rate_control": rate_control, "stations": {"ap": {"x_m": 0, "y_m": 0},
            "one": {"x_m": metres, "y_m": 0}, "two": {"x_m": 1, "y_m": 0}}})
    };
    let found = |metres, rate_control| {
        let record = record(&scenario(wlan(metres, rate_control), ["one", "wired"], "udp", datagrams()));
        (record.flows[0].goodput_bps.unwrap_or(0.0), record.channels[0].stations[1].clone())
    };
    let ((near, of_near), (far, of_far)) = (found(2.0, "minstrel_ht"), found(40.0, "minstrel_ht"));
    assert!(near > 2.5 * far && far > 5e6, "{near} {far}");
    let most = |station: &nettrial_scenario::StationRecord| {
        station.rates.iter().max_by_key(|rate| rate.ppdus).map(|rate| (rate.streams, rate.mcs))
    };
    assert_eq!(most(&of_near), Some((2, 7)));
    let last = |station: &nettrial_scenario::StationRecord| station.rate_series[9].rate_bps;
    assert!(
        last(&of_near) > 100_000_000 && last(&of_far) < 50_000_000,
        "{} {}",
        last(&of_near),
        last(&of_far)
    );
    // MCS 7 with two streams is lost at such a distance.
    let (fixed, of_fixed) = found(40.0, "fixed");
    assert!(fixed < 1e5 && of_fixed.rates.is_empty() && of_fixed.lost_mpdus_pkts > 0);
}

/// The fixed rates are the best ones with two streams: MCS 6 at 18 m would lose a tenth of its MPDUs.
#[test]
fn rate_control_comes_near_the_best_fixed_rate() {
    let at = |(metres, mcs): (u32, u32)| {
        let found = |rate_control: &str| {
            let wlan = json!({"streams": 2, "mcs": mcs, "rate_control": rate_control, "stations":
                {"ap": {"x_m": 0, "y_m": 0}, "one": {"x_m": metres, "y_m": 0}, "two": {"x_m": 1, "y_m": 0}}});
            let mut sending = datagrams();
            sending["duration"] = json!("5 s");
            goodput_mbps(&record(&scenario(wlan, ["one", "wired"], "udp", sending)))
        };
        let (chosen, fixed) = (found("minstrel_ht"), found("fixed"));
        (metres, chosen / fixed)
    };
    let found = [(10, 7), (18, 5), (25, 4)].map(at);
    assert!(found.iter().all(|(_, ratio)| *ratio > 0.87), "{found:?}");
}

/// A request is sent every 10 ms beside a transfer to a station, behind it or in a queue of its own.
#[test]
fn requests_do_not_wait_behind_a_transfer_with_fq_codel() {
    let found = |discipline: &str| {
        let wlan = json!({"standard": "n", "mcs": 3, "queue": "1000 packets", "discipline": discipline});
        let transfer = json!({"kind": "transfer", "duration": "2 s"});
        let mut scenario = scenario(wlan, ["wired", "one"], "tcp", transfer);
        scenario.measurement.queue_interval = Some(nettrial_scenario::Duration(10_000_000));
        let mut probe = scenario.workload[0].clone();
        (probe.name, probe.transport) = ("probe".into(), nettrial_scenario::Transport::Udp);
        let request = json!({"kind": "request_response", "request": "64 B", "response": "64 B", "interval": "10 ms",
            "duration": "2 s"});
        probe.traffic = serde_json::from_value(request).unwrap();
        scenario.workload.push(probe);
        let record = record(&scenario);
        let ap = record.channels[0].stations[0].clone();
        (record.flows[1].rtt_us.map(|rtt| rtt.p50), goodput_mbps(&record), ap)
    };
    let ((behind_us, whole, of_line), (own_us, fair, of_flows)) = (found("drop_tail"), found("fq_codel"));
    let waits = (behind_us, own_us);
    assert!(behind_us > own_us.map(|own| 3.0 * own), "{waits:?}");
    assert!(fair > 0.85 * whole, "{whole} {fair}");
    assert!(of_line.codel_drops_pkts == 0 && of_flows.codel_drops_pkts > 0, "{of_flows:?}");
    let series = &of_flows.delay_series;
    assert!(series.len() >= 20 && series.iter().all(|sample| sample.queue_delay_ns.is_some()), "{series:?}");
}

/// A connection with ECN learns of the queue by marks: none of its packets is dropped, so none is retransmitted.
#[test]
fn fq_codel_marks_the_packets_of_connections_that_ask_for_it() {
    let found = |ecn: bool| {
        let wlan = json!({"standard": "n", "mcs": 3, "queue": "1000 packets", "discipline": "fq_codel"});
        let transfer = json!({"kind": "transfer", "duration": "2 s"});
        let mut scenario = scenario(wlan, ["wired", "one"], "tcp", transfer);
        for node in &mut scenario.nodes {
            node.stack.iter_mut().for_each(|stack| stack.ecn = ecn);
        }
        let record = record(&scenario);
        let ap = &record.channels[0].stations[0];
        (ap.codel_drops_pkts, ap.codel_marks_pkts, goodput_mbps(&record))
    };
    let ((dropped, unmarked, plain), (undropped, marked, told)) = (found(false), found(true));
    assert!(
        dropped > 0 && unmarked == 0 && undropped == 0 && marked > 0,
        "{dropped} {unmarked} {undropped} {marked}"
    );
    assert!((0.9..1.1).contains(&(told / plain)), "{plain} {told}");
}

/// The segments of an A-MPDU arrive at one instant: the second is acknowledged, and the others together after the
/// application has read them. Without aggregation, each second segment is acknowledged.
#[test]
fn an_a_mpdu_needs_two_acknowledgments() {
    let acks_of_a_packet = |ampdu: u32| {
        let wlan = json!({"standard": "n", "streams": 2, "ampdu": ampdu});
        let transfer = json!({"kind": "transfer", "duration": "2 s"});
        let record = record(&scenario(wlan, ["wired", "one"], "tcp", transfer));
        let [ap, one] = [0, 1].map(|number| record.channels[0].stations[number].delivered_pkts);
        one as f64 / ap as f64
    };
    let (alone, together) = (acks_of_a_packet(1), acks_of_a_packet(64));
    assert!((0.45..0.65).contains(&alone) && together < 0.15, "{alone} {together}");
}

#[test]
fn an_ad_hoc_network_has_no_access_point() {
    let mut scenario = scenario(json!({"mode": "ad_hoc"}), ["one", "two"], "udp", datagrams());
    let problems = check(&scenario).unwrap_err();
    assert_eq!((problems[0].setting.as_str(), problems[0].expected.as_str()), ("node", "a host or a router"));
    scenario.nodes.retain(|node| !["ap", "wired"].contains(&node.name.as_str()));
    scenario.links.truncate(1);
    scenario.links[0].interfaces.remove(0);
    let [one, two] = record(&scenario).channels[0].stations.clone().try_into().unwrap();
    assert!(one.delivered_pkts > 500 && two.delivered_pkts == 0);
}

#[test]
fn the_record_is_the_same_again_and_another_with_another_seed() {
    let transfer = json!({"kind": "transfer", "duration": "300 ms"});
    let mut scenario = scenario(json!({"mpdu_loss": 0.1}), ["one", "two"], "tcp", transfer);
    let first = record(&scenario);
    assert_eq!(first, record(&scenario));
    scenario.seed = 4;
    assert_ne!(first.channels, record(&scenario).channels);
    let retries: u64 = first.channels[0].stations.iter().map(|station| station.retries_pkts).sum();
    assert!(retries > 0);
}

#[test]
fn impossible_settings_are_refused_with_the_expected_values() {
    for (wlan, setting, expected) in [
        (json!({"standard": "n", "width_mhz": 80}), "width_mhz", "20, 40"),
        (json!({"standard": "n", "mcs": 15}), "mcs", "0 to 7"),
        (json!({"standard": "ac", "mcs": 9}), "mcs", "0, 1, 2, 3, 4, 5, 6, 7, 8"),
        (json!({"standard": "a", "streams": 2}), "streams", "1"),
        (json!({"standard": "g"}), "band", "2.4 GHz"),
        (json!({"standard": "ax", "guard_interval": "400 ns"}), "guard_interval", "800 ns, 1600 ns, 3200 ns"),
        (json!({"standard": "n", "ampdu": 65}), "ampdu", "1 to 64"),
        (json!({"standard": "n", "amsdu": "5000 B"}), "amsdu", "3839 B, 7935 B"),
        (json!({"rts_threshold": "65537 B"}), "rts_threshold", "0 B to 65536 B"),
        (json!({"basic_rate": "11 Mbit/s"}), "basic_rate", "6, 12 or 24 Mbit/s"),
        (json!({"tries": 0}), "tries", "1 to 255"),
        (json!({"mpdu_loss": 2.0}), "mpdu_loss", "0 to 1"),
        (json!({"beacon_interval": "1 ms"}), "beacon_interval", "10.24 ms or more, or 0"),
        (json!({"queue": "0 packets"}), "queue", "1 packet or more"),
        (
            json!({"fragmentation_threshold": "100 B", "ampdu": 1}),
            "fragmentation_threshold",
            "256 B to 2346 B",
        ),
        (json!({"fragmentation_threshold": "500 B"}), "fragmentation_threshold", "none with aggregation"),
        (json!({"tx_power_dbm": 50}), "tx_power_dbm", "-10 to 36"),
        (json!({"noise_figure_db": -1}), "noise_figure_db", "0 to 30"),
        (json!({"path_loss_exponent": 0.5}), "path_loss_exponent", "1 to 8"),
        (json!({"path_loss_at_1_m_db": 200}), "path_loss_at_1_m_db", "0 to 150"),
        (json!({"carrier_sense_dbm": 0}), "carrier_sense_dbm", "-110 to -20"),
        (json!({"capture_db": 61}), "capture_db", "0 to 60"),
        (json!({"stations": {"three": {}}}), "stations/three", "ap, one, two"),
        (json!({"stations": {"one": {"mcs": 8}}}), "stations/one/mcs", "0 to 7"),
        (json!({"standard": "a", "stations": {"one": {"streams": 2}}}), "stations/one/streams", "1"),
        (json!({"stations": {"one": {"snr_db": 99}}}), "stations/one/snr_db", "-20 to 80"),
        (json!({"stations": {"ap": {"snr_db": 20}}}), "stations/ap/snr_db", "none at the access point"),
        (
            json!({"rate_control": "minstrel_ht", "stations": {"one": {"mcs": 1}}}),
            "stations/one/mcs",
            "none with rate_control minstrel_ht",
        ),
        (
            json!({"stations": {"ap": {"x_m": 0, "y_m": 0}, "one": {"x_m": 0, "y_m": 0}, "two": {"x_m": 1}}}),
            "stations/two/y_m",
            "metres",
        ),
        (
            json!({"stations": {"ap": {"x_m": 0, "y_m": 0}, "one": {"x_m": 0, "y_m": 2e5}, "two": {"x_m": 1, "y_m": 1}}}),
            "stations/one/y_m",
            "-100000 to 100000",
        ),
        (
            json!({"stations": {"ap": {"x_m": 0, "y_m": 0}, "one": {"x_m": 0, "y_m": 2}, "two": {"x_m": 1, "y_m": 1, "snr_db": 20}}}),
            "stations/two/snr_db",
            "none with positions",
        ),
    ] {
        let problems = check(&scenario(wlan, ["one", "two"], "udp", datagrams())).unwrap_err();
        let found: Vec<(&str, &str)> =
            problems.iter().map(|problem| (problem.setting.as_str(), problem.expected.as_str())).collect();
        let last = setting.rsplit('/').next().unwrap();
        assert_eq!(found, [(last, expected)]);
        assert_eq!(problems[0].pointer, format!("/links/0/wlan/{setting}"));
    }
    let mut other = scenario(json!({}), ["one", "two"], "udp", datagrams());
    other.links[0].interfaces.rotate_left(1);
    other.links[0].rate = Some(nettrial_scenario::Rate(1_000_000_000));
    other.links[0].interfaces[2].mtu = nettrial_scenario::Size(2297);
    other.measurement.packet_sizes = true;
    let problems = check(&other).unwrap_err();
    let found: Vec<&str> = problems.iter().map(|problem| problem.setting.as_str()).collect();
    assert_eq!(found, ["rate", "node", "node", "mtu", "packet_sizes"], "{problems:?}");
}
