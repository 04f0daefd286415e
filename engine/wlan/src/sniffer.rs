//! A sniffer beside all stations, which captures each frame with radiotap and 802.11 headers.
//!
//! The sniffer creates the headers from the state of the medium; the packets come from the medium's caller. Its
//! captures differ from real ones: every frame is there, including those that their receivers did not get, and
//! without its FCS; all MPDUs of an A-MPDU have the time at which the PPDU began; stations were always associated;
//! only the sequence numbers of beacons increase from frame to frame, whereas data has sequence numbers for each
//! receiver and category; an MPDU whose packets were delivered before, because only its acknowledgment was lost,
//! ends after its headers.

mod radiotap;
#[cfg(test)]
mod tests;

use crate::Category;
use crate::medium::{Sent, SentBody};
use crate::outbox::SentMpdu;
use crate::timing::{BEACON_BYTES, MAC_BYTES};
use nettrial_scenario::{Wlan, WlanMode};
use radiotap::PlaceInAmpdu;

/// An Ethernet address.
type Address = [u8; 6];

/// The broadcast address.
const TO_ALL: Address = [0xff; 6];
/// The bytes of the addresses in an Ethernet header.
const ADDRESSES_BYTES: usize = 12;
/// The bytes of the frame check sequence.
const FCS_BYTES: usize = 4;
/// The station that is the access point; in an ad hoc network, the station that started it.
const FIRST: usize = 0;
/// The frame control of a beacon.
const BEACON: u8 = 0x80;
const BLOCK_ACK: u8 = 0x94;
const RTS: u8 = 0xb4;
const CTS: u8 = 0xc4;
const ACK: u8 = 0xd4;
const QOS_DATA: u8 = 0x88;
/// The flags of the frame control.
const TO_DS: u8 = 0x01;
const FROM_DS: u8 = 0x02;
const MORE_FRAGMENTS: u8 = 0x04;
const RETRY: u8 = 0x08;

/// The network's name in beacons.
const SSID: &[u8] = b"nettrial";
/// The rates of 6 to 54 Mbit/s in units of 500 kbit/s; 6, 12 and 24 are basic rates.
const RATES: [u8; 8] = [0x8c, 18, 0x98, 36, 0xb0, 72, 96, 108];

/// A sniffer of a channel.
#[derive(Debug)]
pub struct Sniffer {
    wlan: Wlan,
    addresses: Vec<Address>,
    /// The bytes of each packet's Ethernet frame that are kept, including the Ethernet header.
    snap_bytes: usize,
    beacons: u16,
    ampdus: u32,
    bytes: Vec<u8>,
    ethernet: Vec<u8>,
}

impl Sniffer {
    /// The largest number of bytes of a frame in addition to those kept of its packet.
    pub const HEADER_BYTES: usize = 320;

    /// Returns the sniffer of a channel between stations with these Ethernet addresses, the access point's first.
    /// The sniffer keeps as many bytes of each packet as an interface's capture with `snap_bytes` keeps of its
    /// Ethernet frame.
    pub fn new(wlan: &Wlan, addresses: Vec<Address>, snap_bytes: usize) -> Self {
        Self {
            wlan: wlan.clone(),
            addresses,
            snap_bytes,
            beacons: 0,
            ampdus: 0,
            bytes: Vec::new(),
            ethernet: Vec::new(),
        }
    }

    /// Creates the frames of a transmission. `packet` appends the Ethernet frame of the packet with a tag,
    /// completely or its first bytes; `frame` receives the bytes of each frame and its complete length.
    pub fn write(
        &mut self,
        sent: &Sent,
        mut packet: impl FnMut(u32, &mut Vec<u8>),
        mut frame: impl FnMut(usize, &[u8]),
    ) {
        if let SentBody::Data { category, mpdus } = &sent.body {
            self.ampdus = self.ampdus.wrapping_add(u32::from(mpdus.len() > 1));
            for (at, mpdu) in mpdus.iter().enumerate() {
                let place = (mpdus.len() > 1).then_some((self.ampdus, at + 1 == mpdus.len()));
                let length = self.data(sent, *category, mpdu, place, &mut packet);
                frame(length, &self.bytes);
            }
        } else {
            self.begin(sent, None);
            self.control(sent);
            frame(self.bytes.len(), &self.bytes);
        }
    }

    /// Begins a frame with its radiotap header.
    fn begin(&mut self, sent: &Sent, place: Option<PlaceInAmpdu>) {
        self.bytes.clear();
        radiotap::write(&mut self.bytes, &self.wlan, sent.at_ps, sent.rate, place);
    }

    /// Returns the Ethernet address of a station.
    fn address(&self, station: usize) -> Address {
        self.addresses.get(station).copied().unwrap_or(TO_ALL)
    }

    /// Returns whether the network is an ad hoc network.
    fn is_ad_hoc(&self) -> bool {
        self.wlan.mode == WlanMode::AdHoc
    }

    /// Appends the frame control, the duration, and addresses.
    fn header(&mut self, kind: u8, flags: u8, reserves_us: u16, addresses: &[Address]) {
        self.bytes.extend([kind, flags]);
        self.bytes.extend(reserves_us.to_le_bytes());
        self.bytes.extend(addresses.as_flattened());
    }

    /// Appends a frame without a packet.
    fn control(&mut self, sent: &Sent) {
        let (from, to) = (self.address(sent.from), self.address(sent.to));
        match &sent.body {
            SentBody::Beacon => self.beacon(sent),
            SentBody::Rts => self.header(RTS, 0, sent.reserves_us, &[to, from]),
            SentBody::Cts(station) => {
                let receiver = self.address(*station);
                self.header(CTS, 0, sent.reserves_us, &[receiver]);
            }
            SentBody::Ack => self.header(ACK, 0, sent.reserves_us, &[to]),
            SentBody::BlockAck { category, bitmap_bytes, starts, arrived } => {
                self.header(BLOCK_ACK, 0, sent.reserves_us, &[to, from]);
                // The BlockAck is compressed; the size of its bitmap is given if it is not 8 bytes (clause
                // 9.3.1.8.2).
                let size = if *bitmap_bytes > 8 { 4 } else { 0 };
                self.bytes.extend((0x0004 | u16::from(tid(*category)) << 12).to_le_bytes());
                self.bytes.extend((starts << 4 | size).to_le_bytes());
                let begin = self.bytes.len();
                self.bytes.resize(begin + bitmap_bytes, 0);
                for number in arrived {
                    let at = usize::from(number.wrapping_sub(*starts) & 0x0fff);
                    if let Some(byte) = self.bytes.get_mut(begin + at / 8) {
                        *byte |= 1 << (at % 8);
                    }
                }
            }
            SentBody::Data { .. } => {}
        }
    }

    /// Appends a beacon, padded to the bytes for which its duration was computed.
    fn beacon(&mut self, sent: &Sent) {
        let (from, network) = (self.address(sent.from), self.address(FIRST));
        let begin = self.bytes.len();
        self.header(BEACON, 0, 0, &[TO_ALL, from, network]);
        self.bytes.extend((self.beacons << 4).to_le_bytes());
        self.beacons = (self.beacons + 1) & 0x0fff;
        self.bytes.extend((sent.at_ps / 1_000_000).to_le_bytes());
        self.bytes.extend(((self.wlan.beacon_interval.0 / 1_024_000) as u16).to_le_bytes());
        // ESS or IBSS.
        self.bytes.extend([if self.is_ad_hoc() { 2 } else { 1 }, 0]);
        for (element, value) in [(0, SSID), (1, &RATES)] {
            self.bytes.extend([element, value.len() as u8]);
            self.bytes.extend(value);
        }
        let left = BEACON_BYTES as usize - FCS_BYTES - (self.bytes.len() - begin);
        // A vendor-specific element with a locally administered identifier.
        self.bytes.extend([221, (left - 2) as u8, 2, 0, 0]);
        self.bytes.resize(self.bytes.len() + left - 5, 0);
    }

    /// Creates an MPDU, with its place if it is in an A-MPDU. Returns its length, of which not all bytes may be
    /// kept.
    fn data(
        &mut self,
        sent: &Sent,
        category: Category,
        mpdu: &SentMpdu,
        place: Option<PlaceInAmpdu>,
        packet: &mut impl FnMut(u32, &mut Vec<u8>),
    ) -> usize {
        self.begin(sent, place);
        let (from, to) = (self.address(sent.from), self.address(sent.to));
        let network = self.address(FIRST);
        let is_amsdu = mpdu.packets.len() > 1;
        let (body, ends) = self.body(sent, mpdu, packet);
        let (destination, source) = ends;
        let third = if is_amsdu { network } else { destination };
        let (direction, addresses) = if self.is_ad_hoc() {
            (0, [to, from, network])
        } else if sent.from == FIRST {
            (FROM_DS, [to, from, if is_amsdu { network } else { source }])
        } else {
            (TO_DS, [to, from, third])
        };
        let retry = if mpdu.is_retry { RETRY } else { 0 };
        let more = if mpdu.has_more_fragments { MORE_FRAGMENTS } else { 0 };
        self.header(QOS_DATA, direction | retry | more, sent.reserves_us, &addresses);
        let fragment = mpdu.fragment.map_or(0, |(_, number)| u16::from(number) & 0xf);
        self.bytes.extend((mpdu.sequence << 4 | fragment).to_le_bytes());
        self.bytes.extend([tid(category) | if is_amsdu { 0x80 } else { 0 }, 0]);
        let header = self.bytes.len();
        self.bytes.extend(body);
        header + (mpdu.bytes - MAC_BYTES) as usize
    }

    /// Returns the kept bytes of an MPDU's body, and the destination and the source of its first packet.
    fn body(
        &mut self,
        sent: &Sent,
        mpdu: &SentMpdu,
        packet: &mut impl FnMut(u32, &mut Vec<u8>),
    ) -> (Vec<u8>, (Address, Address)) {
        let last = mpdu.packets.len() - 1;
        let mut ends = (self.address(mpdu.packets[0].2), self.address(sent.from));
        let (skipped, length) = mpdu.fragment.map_or((0, usize::MAX), |(of_each, number)| {
            ((of_each - MAC_BYTES) as usize * usize::from(number), (mpdu.bytes - MAC_BYTES) as usize)
        });
        let most = skipped + length.min(self.snap_bytes.saturating_sub(ADDRESSES_BYTES) + 6);
        let mut body = Vec::new();
        for (at, (tag, bytes, _)) in mpdu.packets.iter().enumerate().filter(|_| mpdu.has_packets) {
            self.ethernet.clear();
            packet(*tag, &mut self.ethernet);
            let Some((addresses, packet)) = self.ethernet.split_at_checked(ADDRESSES_BYTES) else { break };
            if at == 0 {
                let of = |part: &[u8]| part.try_into().unwrap_or(TO_ALL);
                ends = (of(&addresses[..6]), of(&addresses[6..]));
            }
            let whole = *bytes as usize + 8;
            if last > 0 {
                body.extend(addresses);
                body.extend((whole as u16).to_be_bytes());
            }
            let begin = body.len();
            // LLC and SNAP, then the type and the packet.
            body.extend([0xaa, 0xaa, 3, 0, 0, 0]);
            body.extend(packet);
            let has_all = body.len() >= begin + whole;
            body.truncate(begin + whole);
            if !has_all || body.len() > most {
                break;
            }
            if at < last {
                body.resize(body.len().next_multiple_of(4), 0);
            }
        }
        body.truncate(most);
        body.drain(..skipped.min(body.len()));
        (body, ends)
    }
}

/// Returns the traffic identifier of a category: the user priority that Linux gives its packets.
fn tid(category: Category) -> u8 {
    match category {
        Category::Background => 1,
        Category::BestEffort => 0,
        Category::Video => 5,
        Category::Voice => 6,
    }
}
