//! Reads the radio settings of Wi-Fi interfaces through generic netlink's family nl80211
//! (include/uapi/linux/nl80211.h).

use crate::attribute;
use crate::error::{Context, Error, Result};
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_GENERIC};
use std::collections::HashMap;

/// The number of the control family, which knows the numbers of all families (include/uapi/linux/genetlink.h).
const CONTROL: u16 = 0x10;
const CTRL_CMD_GETFAMILY: u8 = 3;
const CTRL_ATTR_FAMILY_ID: u16 = 1;
const CTRL_ATTR_FAMILY_NAME: u16 = 2;
const GET_INTERFACE: u8 = 5;
const GET_STATION: u8 = 17;
const ATTR_IFINDEX: u16 = 3;
const ATTR_MAC: u16 = 6;
const ATTR_STA_INFO: u16 = 21;
const ATTR_WIPHY_FREQ: u16 = 38;
const ATTR_CHANNEL_WIDTH: u16 = 159;
const STA_INFO_SIGNAL: u16 = 7;
const STA_INFO_TX_BITRATE: u16 = 8;
const STA_INFO_TX_PACKETS: u16 = 10;
const STA_INFO_TX_RETRIES: u16 = 11;
const STA_INFO_TX_FAILED: u16 = 12;
const STA_INFO_RX_BITRATE: u16 = 14;
const RATE_INFO_BITRATE: u16 = 1;
const RATE_INFO_BITRATE32: u16 = 5;
/// The values of `enum nl80211_chan_width`, in MHz. 80+80 MHz counts as 160.
const WIDTHS_MHZ: [u32; 14] = [20, 20, 40, 80, 160, 160, 5, 10, 1, 2, 4, 8, 16, 320];
/// The unit of bitrates, in bits per second.
const BITRATE_UNIT_BPS: u64 = 100_000;

const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const NLM_F_REQUEST: u16 = 1;
const NLM_F_DUMP: u16 = 0x300;
/// The size of `struct nlmsghdr` and `struct genlmsghdr` together, in bytes.
const HEADERS: usize = 20;
/// The largest size of an answer of the kernel, in bytes.
const ANSWER_BYTES: usize = 64 << 10;

/// The state of a Wi-Fi interface at one moment. Fields that its driver does not report are absent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Wireless {
    /// The centre frequency of the primary channel, in MHz.
    pub frequency_mhz: Option<u32>,
    /// The width of the channel, in MHz.
    pub width_mhz: Option<u32>,
    /// The hardware address of the station at the other end, such as the access point; absent if there is none, or
    /// several.
    pub station: Option<[u8; 6]>,
    /// The strength of the signal received from the station, in dBm.
    pub signal_dbm: Option<i8>,
    /// The bitrate of packets to the station, in bits per second.
    pub sent_bps: Option<u64>,
    /// The bitrate of packets from the station, in bits per second.
    pub received_bps: Option<u64>,
    /// The number of packets sent to the station since it was associated.
    pub sent_pkts: Option<u32>,
    /// The number of times that the driver retransmitted a packet to the station.
    pub retries: Option<u32>,
    /// The number of packets to the station that were given up.
    pub failed_pkts: Option<u32>,
}

/// Returns the radio state of the interface numbered `index`; `None` if it is not a Wi-Fi interface.
///
/// # Errors
/// Fails if the kernel does not answer.
pub fn wireless(index: u32) -> Result<Option<Wireless>> {
    let mut generic = Generic::open()?;
    let Some(family) = generic.family("nl80211")? else { return Ok(None) };
    let of = attribute(ATTR_IFINDEX, &index.to_ne_bytes());
    // An interface of another kind gives ENODEV or ENOENT.
    let Ok(interface) = generic.ask(family, GET_INTERFACE, 0, &of) else { return Ok(None) };
    let stations = generic.ask(family, GET_STATION, NLM_F_DUMP, &of).unwrap_or_default();
    Ok(interface.first().map(|interface| Wireless::of(interface, &stations)))
}

impl Wireless {
    /// Reads the attributes of an interface and of the stations with which it is associated.
    pub(crate) fn of(interface: &[u8], stations: &[Vec<u8>]) -> Self {
        let told = attributes(interface);
        let width = told.get(&ATTR_CHANNEL_WIDTH).and_then(|value| number(value));
        let mut state = Self {
            frequency_mhz: told.get(&ATTR_WIPHY_FREQ).and_then(|value| number(value)),
            width_mhz: width.and_then(|width| WIDTHS_MHZ.get(width as usize).copied()),
            ..Self::default()
        };
        // An access point has several stations, and the rate to one of them says nothing about the others.
        let [station] = stations else { return state };
        let told = attributes(station);
        state.station = told.get(&ATTR_MAC).and_then(|value| (*value).try_into().ok());
        let about = told.get(&ATTR_STA_INFO).map(|value| attributes(value)).unwrap_or_default();
        state.signal_dbm = about.get(&STA_INFO_SIGNAL).and_then(|value| Some(value.first()?.cast_signed()));
        state.sent_bps = about.get(&STA_INFO_TX_BITRATE).and_then(|value| bitrate(value));
        state.received_bps = about.get(&STA_INFO_RX_BITRATE).and_then(|value| bitrate(value));
        let count = |kind| about.get(&kind).and_then(|value| number(value));
        state.sent_pkts = count(STA_INFO_TX_PACKETS);
        state.retries = count(STA_INFO_TX_RETRIES);
        state.failed_pkts = count(STA_INFO_TX_FAILED);
        state
    }
}

fn bitrate(value: &[u8]) -> Option<u64> {
    let told = attributes(value);
    let wide = told.get(&RATE_INFO_BITRATE32).and_then(|value| number(value)).map(u64::from);
    let short = || Some(u64::from(u16::from_ne_bytes((*told.get(&RATE_INFO_BITRATE)?).try_into().ok()?)));
    wide.or_else(short).map(|units| units * BITRATE_UNIT_BPS)
}

fn number(value: &[u8]) -> Option<u32> {
    Some(u32::from_ne_bytes(value.try_into().ok()?))
}

/// Returns the attributes in `bytes`, by their kind without the flags. A truncated attribute is left out.
fn attributes(mut bytes: &[u8]) -> HashMap<u16, &[u8]> {
    const KIND: u16 = 0x3fff; // NLA_TYPE_MASK
    let mut values = HashMap::new();
    while let [a, b, c, d, ..] = *bytes {
        let (length, kind) = (usize::from(u16::from_ne_bytes([a, b])), u16::from_ne_bytes([c, d]));
        let Some(value) = bytes.get(4..length) else { break };
        values.insert(kind & KIND, value);
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    values
}

/// A generic netlink socket.
struct Generic {
    socket: Socket,
    sequence: u32,
}

impl Generic {
    fn open() -> Result<Self> {
        let mut socket = Socket::new(NETLINK_GENERIC).context("opening a generic netlink socket")?;
        socket.bind_auto().context("binding a generic netlink socket")?;
        socket.connect(&SocketAddr::new(0, 0)).context("connecting a generic netlink socket")?;
        Ok(Self { socket, sequence: 0 })
    }

    /// Returns the number of the family called `name`; `None` if the kernel does not have it.
    fn family(&mut self, name: &str) -> Result<Option<u16>> {
        let name = attribute(CTRL_ATTR_FAMILY_NAME, format!("{name}\0").as_bytes());
        // The answer is ENOENT if there is none.
        let Ok(answers) = self.ask(CONTROL, CTRL_CMD_GETFAMILY, 0, &name) else { return Ok(None) };
        let answer = answers.first().ok_or_else(|| Error::Answer("the kernel gave no answer".into()))?;
        let number = attributes(answer).get(&CTRL_ATTR_FAMILY_ID).and_then(|value| (*value).try_into().ok());
        Ok(number.map(u16::from_ne_bytes))
    }

    /// Sends `family` a request, and returns the attributes of each answer.
    fn ask(&mut self, family: u16, command: u8, flags: u16, about: &[u8]) -> Result<Vec<Vec<u8>>> {
        self.sequence += 1;
        let mut message = Vec::new();
        message.extend(u32::try_from(HEADERS + about.len())?.to_ne_bytes());
        message.extend(family.to_ne_bytes());
        message.extend((NLM_F_REQUEST | flags).to_ne_bytes());
        message.extend(self.sequence.to_ne_bytes());
        message.extend([0; 4]); // the kernel's port number
        message.extend([command, 1, 0, 0]);
        message.extend(about);
        self.socket.send(&message, 0).context("sending to the kernel")?;
        let mut answers = Vec::new();
        loop {
            let mut buffer = Vec::with_capacity(ANSWER_BYTES);
            self.socket.recv(&mut buffer, 0).context("receiving from the kernel")?;
            if read(&buffer, self.sequence, &mut answers)? || flags & NLM_F_DUMP == 0 {
                return Ok(answers);
            }
        }
    }
}

/// Adds the attributes of each message in `buffer` to `answers`; returns true if the last message was among them.
pub(crate) fn read(buffer: &[u8], sequence: u32, answers: &mut Vec<Vec<u8>>) -> Result<bool> {
    let mut rest = buffer;
    while let Some(header) = rest.get(..16) {
        let length = u32::from_ne_bytes([header[0], header[1], header[2], header[3]]) as usize;
        let kind = u16::from_ne_bytes([header[4], header[5]]);
        let of = u32::from_ne_bytes([header[8], header[9], header[10], header[11]]);
        let message =
            rest.get(..length).ok_or_else(|| Error::Answer("the kernel's answer is cut short".into()))?;
        if length < 16 {
            return Err(Error::Answer("the kernel's answer is cut short".into()));
        }
        if of == sequence {
            match kind {
                NLMSG_DONE => return Ok(true),
                NLMSG_ERROR => {
                    let code = message.get(16..20).and_then(number).unwrap_or_default().cast_signed();
                    if code == 0 {
                        return Ok(true);
                    }
                    return Err(std::io::Error::from_raw_os_error(code.saturating_neg()).into());
                }
                _ => answers.extend(message.get(HEADERS..).map(<[u8]>::to_vec)),
            }
        }
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An interface's attributes in the order of the kernel (net/wireless/nl80211.c, nl80211_send_iface), on a
    /// little-endian machine: number 3, its name and kind, and channel 36 with a width of 80 MHz.
    const INTERFACE: &[u8] = &[
        8, 0, 3, 0, 3, 0, 0, 0, // NL80211_ATTR_IFINDEX
        10, 0, 4, 0, b'w', b'l', b'a', b'n', b'0', 0, 0, 0, // NL80211_ATTR_IFNAME
        8, 0, 1, 0, 0, 0, 0, 0, // NL80211_ATTR_WIPHY
        8, 0, 5, 0, 2, 0, 0, 0, // NL80211_ATTR_IFTYPE: station
        8, 0, 38, 0, 0x3c, 0x14, 0, 0, // NL80211_ATTR_WIPHY_FREQ: 5180
        8, 0, 159, 0, 3, 0, 0, 0, // NL80211_ATTR_CHANNEL_WIDTH: 80 MHz
        8, 0, 160, 0, 0x5a, 0x14, 0, 0, // NL80211_ATTR_CENTER_FREQ1: 5210
    ];
    /// A station's attributes (nl80211_send_station): its signal is -52 dBm, the rate to it 866.7 Mbit/s, and the
    /// rate from it 9.6 Gbit/s, which the short field can't hold. Of 5000 packets, 300 were retransmitted and 2 given up.
    const STATION: &[u8] = &[
        8, 0, 3, 0, 3, 0, 0, 0, // NL80211_ATTR_IFINDEX
        10, 0, 6, 0, 2, 0, 0, 0, 0xab, 0xcd, 0, 0, // NL80211_ATTR_MAC
        76, 0, 21, 0x80, // NL80211_ATTR_STA_INFO, nested
        8, 0, 1, 0, 12, 0, 0, 0, // NL80211_STA_INFO_INACTIVE_TIME
        5, 0, 7, 0, 0xcc, 0, 0, 0, // NL80211_STA_INFO_SIGNAL
        20, 0, 8, 0x80, // NL80211_STA_INFO_TX_BITRATE, nested
        8, 0, 5, 0, 0xdb, 0x21, 0, 0, // NL80211_RATE_INFO_BITRATE32: 8667
        6, 0, 1, 0, 0xdb, 0x21, 0, 0, // NL80211_RATE_INFO_BITRATE: 8667
        12, 0, 14, 0x80, // NL80211_STA_INFO_RX_BITRATE, nested
        8, 0, 5, 0, 0x06, 0x77, 0x01, 0, // NL80211_RATE_INFO_BITRATE32: 96006
        8, 0, 10, 0, 0x88, 0x13, 0, 0, // NL80211_STA_INFO_TX_PACKETS: 5000
        8, 0, 11, 0, 0x2c, 1, 0, 0, // NL80211_STA_INFO_TX_RETRIES: 300
        8, 0, 12, 0, 2, 0, 0, 0, // NL80211_STA_INFO_TX_FAILED: 2
    ];

    #[test]
    #[cfg(target_endian = "little")]
    fn an_interfaces_channel_and_its_stations_rates_are_read() {
        let found = Wireless::of(INTERFACE, &[STATION.to_vec()]);
        let expected = Wireless {
            frequency_mhz: Some(5180),
            width_mhz: Some(80),
            station: Some([2, 0, 0, 0, 0xab, 0xcd]),
            signal_dbm: Some(-52),
            sent_bps: Some(866_700_000),
            received_bps: Some(9_600_600_000),
            sent_pkts: Some(5000),
            retries: Some(300),
            failed_pkts: Some(2),
        };
        assert_eq!(found, expected);
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn without_a_station_or_with_several_there_is_no_rate() {
        for stations in [Vec::new(), vec![STATION.to_vec(); 2]] {
            let found = Wireless::of(INTERFACE, &stations);
            assert_eq!((found.width_mhz, found.station, found.sent_bps), (Some(80), None, None));
        }
    }

    #[test]
    fn what_is_cut_short_is_left_out() {
        for length in 0..STATION.len() {
            let _ = Wireless::of(&INTERFACE[..length.min(INTERFACE.len())], &[STATION[..length].to_vec()]);
        }
        assert!(attributes(&[0, 0, 3, 0]).is_empty());
        assert!(read(&[9; 17], 1, &mut Vec::new()).is_err());
    }

    #[test]
    fn a_wired_interface_is_none() {
        assert_eq!(wireless(1).unwrap(), None);
    }

    #[test]
    fn families_are_found_by_their_names() {
        let mut generic = Generic::open().unwrap();
        assert_eq!(generic.family("nlctrl").unwrap(), Some(CONTROL));
        assert_eq!(generic.family("nettrial-none").unwrap(), None);
    }
}
