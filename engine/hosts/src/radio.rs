//! The state of a Wi-Fi interface's radio, as commands of Windows, macOS and FreeBSD report it. Values that a
//! command does not report are absent: Windows does not report the channel width, and FreeBSD reports the distance
//! of the signal from the noise but not its strength.

use nettrial_scenario::Wireless;
use serde_json::Value;

/// Reads the state of the radio of the interface called `name`, if it has one.
#[cfg(not(target_os = "linux"))]
pub fn of(name: &str) -> Option<Wireless> {
    use std::collections::HashMap;
    use std::sync::{LazyLock, Mutex, PoisonError};
    /// The interfaces that were asked for, each with true if it has a radio. They are kept because the commands of
    /// some systems take a second.
    static KNOWN: LazyLock<Mutex<HashMap<String, bool>>> = LazyLock::new(Mutex::default);
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if known().get(name) == Some(&false) {
        return None;
    }
    let radio = if cfg!(windows) {
        netsh(&output("netsh", &["wlan", "show", "interfaces"]), name)
    } else if cfg!(target_os = "macos") {
        system_profiler(&output("system_profiler", &["SPAirPortDataType", "-json"]), name)
    } else {
        ifconfig(&output("ifconfig", &[name]), &output("ifconfig", &[name, "list", "sta"]))
    };
    known().insert(name.to_owned(), radio.is_some());
    radio
}

/// Returns the output of a command; empty if it fails.
#[cfg(not(target_os = "linux"))]
fn output(program: &str, words: &[&str]) -> String {
    /// The most bytes that a command may print. That of macOS lists all networks around.
    const MOST_BYTES: u64 = 4 << 20;
    /// The time that a command may take.
    const PATIENCE: std::time::Duration = std::time::Duration::from_secs(20);
    let mut command = std::process::Command::new(program);
    let made = nettrial_admission::output(command.args(words), MOST_BYTES, PATIENCE);
    String::from_utf8_lossy(&made.unwrap_or_default()).into_owned()
}

/// Returns the centre frequency of a channel's primary 20 MHz, from its number and band (IEEE 802.11-2020 annex
/// E).
fn frequency_mhz(channel: u32, band: Band) -> Option<u32> {
    match band {
        Band::Two if channel == 14 => Some(2484),
        Band::Two => (1..14).contains(&channel).then(|| 2407 + 5 * channel),
        Band::Five => (32..=196).contains(&channel).then(|| 5000 + 5 * channel),
        Band::Six => (1..=233).contains(&channel).then(|| 5950 + 5 * channel),
    }
}

/// A frequency band: 2.4 GHz, 5 GHz or 6 GHz.
#[derive(Clone, Copy)]
enum Band {
    Two,
    Five,
    Six,
}

/// Returns the band that a text names, such as "5 GHz"; or else the band that traditionally has a channel of this
/// number.
fn band(text: &str, channel: u32) -> Band {
    match text.trim_start().chars().next() {
        Some('2') => Band::Two,
        Some('5') => Band::Five,
        Some('6') => Band::Six,
        _ if channel <= 14 => Band::Two,
        _ => Band::Five,
    }
}

/// Returns a rate in bit/s from one in Mbit/s, up to a terabit per second.
fn megabits(text: &str) -> Option<u64> {
    let rate: f64 = text.trim().parse().ok()?;
    (0.0..=1e6).contains(&rate).then_some((rate * 1e6) as u64)
}

/// Returns the signal strength in dBm that a quality of 0 to 100% stands for.
fn strength_dbm(quality: &str) -> Option<i8> {
    let percent: i8 = quality.trim_end_matches('%').parse().ok()?;
    (0..=100).contains(&percent).then(|| percent / 2 - 100)
}

/// Reads the output of `netsh wlan show interfaces` in English: blocks of lines `name : value`, one for each
/// interface. A signal quality of 0 to 100% stands for -100 to -50 dBm (the documentation of
/// WLAN_ASSOCIATION_ATTRIBUTES); Windows 11 reports the strength itself.
pub fn netsh(text: &str, name: &str) -> Option<Wireless> {
    let pairs = text.lines().filter_map(|line| line.split_once(" : "));
    let pairs: Vec<(&str, &str)> = pairs.map(|(key, value)| (key.trim(), value.trim())).collect();
    let begin = pairs.iter().position(|&pair| pair == ("Name", name))?;
    let length = pairs[begin + 1..].iter().position(|(key, _)| *key == "Name");
    let block = &pairs[begin..length.map_or(pairs.len(), |length| begin + 1 + length)];
    let value = |wanted: &str| block.iter().find(|(key, _)| *key == wanted).map(|(_, value)| *value);
    let channel = value("Channel").and_then(|text| text.parse().ok());
    Some(Wireless {
        frequency_mhz: channel
            .and_then(|channel| frequency_mhz(channel, band(value("Band").unwrap_or(""), channel))),
        width_mhz: None,
        access_point: value("AP BSSID").or_else(|| value("BSSID")).map(str::to_lowercase),
        signal_dbm: value("Rssi")
            .and_then(|text| text.parse().ok())
            .or_else(|| strength_dbm(value("Signal")?)),
        sent_bps: value("Transmit rate (Mbps)").and_then(megabits),
        received_bps: value("Receive rate (Mbps)").and_then(megabits),
        ..Wireless::default()
    })
}

/// Reads the output of `system_profiler SPAirPortDataType -json`: a channel such as "36 (5GHz, 80MHz)", a signal and the
/// noise such as "-52 dBm / -92 dBm", and the sending rate. macOS does not show programs the access point.
pub fn system_profiler(text: &str, name: &str) -> Option<Wireless> {
    let document: Value = serde_json::from_str(text).ok()?;
    let interfaces = document.get("SPAirPortDataType")?.as_array()?.iter();
    let mut interfaces =
        interfaces.filter_map(|part| part.get("spairport_airport_interfaces")?.as_array()).flatten();
    let interface =
        interfaces.find(|interface| interface.get("_name").and_then(Value::as_str) == Some(name))?;
    let Some(network) = interface.get("spairport_current_network_information") else {
        return Some(Wireless::default());
    };
    let word = |key: &str| match network.get(key) {
        Some(Value::String(text)) => Some(text.clone()),
        Some(Value::Number(number)) => Some(number.to_string()),
        _ => None,
    };
    let channel = word("spairport_network_channel").unwrap_or_default();
    let (number, rest) = channel.split_once(' ').unwrap_or((&channel, ""));
    let rest = rest.trim_matches(['(', ')']);
    let (within, width) = rest.split_once(',').unwrap_or(("", ""));
    Some(Wireless {
        frequency_mhz: number.parse().ok().and_then(|channel| frequency_mhz(channel, band(within, channel))),
        width_mhz: width.trim().strip_suffix("MHz").and_then(|text| text.parse().ok()),
        access_point: None,
        signal_dbm: word("spairport_signal_noise")
            .and_then(|text| text.split_whitespace().next()?.parse().ok()),
        sent_bps: word("spairport_network_rate").as_deref().and_then(megabits),
        ..Wireless::default()
    })
}

/// Reads the output of `ifconfig NAME`, such as "ssid home channel 36 (5180 MHz 11a vht/80) bssid aa:bb:cc:dd:ee:ff", and that
/// of `ifconfig NAME list sta`, whose column RATE has the sending rate, such as "54M".
pub fn ifconfig(about: &str, stations: &str) -> Option<Wireless> {
    let line = about.lines().find(|line| line.trim_start().starts_with("ssid "))?;
    let (_, after) = line.split_once(" channel ")?;
    let inside = after.split_once('(').and_then(|(_, rest)| rest.split_once(')'));
    let mode = inside.map_or("", |(inside, _)| inside);
    let width = mode.split_once('/').map(|(_, width)| width.trim_end_matches(['+', '-']));
    let access_point = after.split_once(" bssid ").map(|(_, rest)| rest);
    let access_point = access_point.and_then(|rest| rest.split_whitespace().next()).map(str::to_owned);
    let mut lines = stations.lines();
    let column = lines.next().and_then(|head| head.split_whitespace().position(|word| word == "RATE"));
    let is_its =
        |line: &&str| access_point.as_deref().is_none_or(|address| line.trim_start().starts_with(address));
    let rate = lines.find(is_its).zip(column).and_then(|(line, column)| line.split_whitespace().nth(column));
    Some(Wireless {
        frequency_mhz: mode.split_once(" MHz").and_then(|(number, _)| number.trim().parse().ok()),
        // A mode without a width, such as "11g", has channels of 20 MHz.
        width_mhz: width.map_or(Some(20), |width| width.parse().ok()),
        sent_bps: rate.and_then(|rate| megabits(rate.strip_suffix('M')?)),
        access_point,
        signal_dbm: None,
        ..Wireless::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The output of Windows 10 and 11, shortened: the names of fields are those of Microsoft's documentation of `netsh wlan`.
    const NETSH: &str = "
There are 2 interfaces on the system:

    Name                   : Wi-Fi
    Description            : Intel(R) Wi-Fi 6 AX201 160MHz
    GUID                   : 1a2b3c4d-0000-0000-0000-000000000000
    Physical address       : 02:00:00:00:00:01
    State                  : connected
    SSID                   : home : upstairs
    BSSID                  : 02:00:00:AA:BB:CC
    Network type           : Infrastructure
    Radio type             : 802.11ax
    Channel                : 36
    Receive rate (Mbps)    : 1201
    Transmit rate (Mbps)   : 864.7
    Signal                 : 85%
    Profile                : home

    Name                   : Wi-Fi 2
    State                  : connected
    AP BSSID               : 02:00:00:00:00:02
    Band                   : 6 GHz
    Channel                : 5
    Transmit rate (Mbps)   : 2402
    Signal                 : 99%
    Rssi                   : -41
";

    #[test]
    fn windows_tells_channel_rates_and_signal() {
        let expected = Wireless {
            frequency_mhz: Some(5180),
            width_mhz: None,
            access_point: Some("02:00:00:aa:bb:cc".into()),
            signal_dbm: Some(-58),
            sent_bps: Some(864_700_000),
            received_bps: Some(1_201_000_000),
            ..Wireless::default()
        };
        assert_eq!(netsh(NETSH, "Wi-Fi"), Some(expected));
        let other = netsh(NETSH, "Wi-Fi 2").unwrap();
        assert_eq!((other.frequency_mhz, other.signal_dbm), (Some(5975), Some(-41)));
        assert_eq!(netsh(NETSH, "Ethernet"), None);
        for band in ["2.4 GHz", "5 GHz", "6 GHz"] {
            let impossible = NETSH.replace("6 GHz", band).replace(": 5\n", ": 3333333318\n");
            assert_eq!(netsh(&impossible, "Wi-Fi 2").unwrap().frequency_mhz, None);
        }
        assert_eq!(netsh("Es sind keine Drahtlosschnittstellen vorhanden.", "WLAN"), None);
    }

    #[test]
    fn figures_that_cannot_be_are_absent() {
        for quality in ["-85%", "101%", "127", "128%"] {
            let impossible = NETSH.replace("85%", quality);
            assert_eq!(netsh(&impossible, "Wi-Fi").unwrap().signal_dbm, None, "{quality}");
        }
        for rate in ["-1", "nan", "inf", "1e300"] {
            let impossible = netsh(&NETSH.replace("864.7", rate), "Wi-Fi").unwrap();
            assert_eq!((impossible.sent_bps, impossible.received_bps), (None, Some(1_201_000_000)), "{rate}");
        }
    }

    #[test]
    fn macos_tells_channel_width_rate_and_signal() {
        let of = |channel: &str| {
            format!(
                r#"{{"SPAirPortDataType": [{{"spairport_airport_interfaces": [
                    {{"_name": "awdl0"}},
                    {{"_name": "en0", "spairport_current_network_information": {{"_name": "home",
                        "spairport_network_channel": {channel}, "spairport_network_phymode": "802.11ax",
                        "spairport_network_rate": 864, "spairport_signal_noise": "-52 dBm / -92 dBm"}}}}
                ], "spairport_software_information": {{}}}}]}}"#
            )
        };
        let found = system_profiler(&of(r#""36 (5GHz, 80MHz)""#), "en0").unwrap();
        let expected = Wireless {
            frequency_mhz: Some(5180),
            width_mhz: Some(80),
            access_point: None,
            signal_dbm: Some(-52),
            sent_bps: Some(864_000_000),
            ..Wireless::default()
        };
        assert_eq!(found, expected);
        assert_eq!(system_profiler(&of("6"), "en0").unwrap().frequency_mhz, Some(2437));
        assert_eq!(system_profiler(&of("6"), "awdl0"), Some(Wireless::default()));
        assert_eq!(system_profiler(&of("6"), "en5"), None);
        assert_eq!(system_profiler("", "en0"), None);
    }

    #[test]
    fn freebsd_tells_channel_width_and_rate() {
        let about = "wlan0: flags=8843<UP,BROADCAST,RUNNING,SIMPLEX,MULTICAST> metric 0 mtu 1500
\tether 02:00:00:00:00:01
\tssid home channel 36 (5180 MHz 11a ht/40+) bssid 02:00:00:aa:bb:cc
\tregdomain FCC country US authmode WPA2/802.11i privacy ON
\tstatus: associated
";
        let stations = "ADDR               AID RATE RSSI IDLE  TXSEQ  RXSEQ CAPS FLAG
02:00:00:aa:bb:cc    1 270M 30.5    0   1234   5678 EP   AQEHTRS WME
";
        let expected = Wireless {
            frequency_mhz: Some(5180),
            width_mhz: Some(40),
            access_point: Some("02:00:00:aa:bb:cc".into()),
            signal_dbm: None,
            sent_bps: Some(270_000_000),
            ..Wireless::default()
        };
        assert_eq!(ifconfig(about, stations), Some(expected));
        let narrow = about.replace("36 (5180 MHz 11a ht/40+)", "6 (2437 MHz 11g)");
        let found = ifconfig(&narrow, "").unwrap();
        assert_eq!((found.frequency_mhz, found.width_mhz, found.sent_bps), (Some(2437), Some(20), None));
        assert_eq!(ifconfig("em0: flags=8863<UP> metric 0 mtu 1500\n", ""), None);
    }
}
