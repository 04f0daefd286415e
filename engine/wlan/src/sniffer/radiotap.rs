//! Radiotap headers (<https://www.radiotap.org>): a receiver's information on a frame in addition to its bytes.

use crate::medium::SentRate;
use nettrial_scenario::{Band, Wlan, WlanStandard};

/// The bits of fields: TSFT, flags, rate, channel, MCS, A-MPDU status, VHT, HE.
const TSFT: u32 = 1 << 0;
const FLAGS: u32 = 1 << 1;
const RATE: u32 = 1 << 2;
const CHANNEL: u32 = 1 << 3;
const MCS: u32 = 1 << 19;
const AMPDU: u32 = 1 << 20;
const VHT: u32 = 1 << 21;
const HE: u32 = 1 << 23;

/// The frequencies in captures, in MHz: those of the channels 1 and 36, because a scenario gives only the band.
const MHZ_OF_2_4_GHZ: u16 = 2412;
const MHZ_OF_5_GHZ: u16 = 5180;
/// Channel flags: OFDM and the band.
const OFDM: u16 = 0x0040;
const IS_2_4_GHZ: u16 = 0x0080;
const IS_5_GHZ: u16 = 0x0100;
/// A-MPDU status: it is known whether the MPDU is the last one, and it is.
const LAST_KNOWN: u16 = 0x0004;
const IS_LAST: u16 = 0x0008;

/// The place of an MPDU in its A-MPDU: the A-MPDU's number, and whether the MPDU is the last one.
pub type PlaceInAmpdu = (u32, bool);

/// Appends the header of a frame that began at `at_ps`.
pub fn write(out: &mut Vec<u8>, wlan: &Wlan, at_ps: u64, rate: SentRate, ampdu: Option<PlaceInAmpdu>) {
    let modulation = match (rate, wlan.standard) {
        (SentRate::Legacy(_), _) => RATE,
        (_, WlanStandard::Ac) => VHT,
        (_, WlanStandard::Ax) => HE,
        _ => MCS,
    };
    let begin = out.len();
    out.extend([0, 0, 0, 0]);
    let present = TSFT | FLAGS | CHANNEL | modulation | if ampdu.is_some() { AMPDU } else { 0 };
    out.extend(present.to_le_bytes());
    out.extend((at_ps / 1_000_000).to_le_bytes());
    out.push(0);
    if let SentRate::Legacy(bps) = rate {
        out.push((bps / 500_000) as u8);
    }
    align(out, begin, 2);
    let (mhz, band) = match wlan.band {
        Band::Ghz2 => (MHZ_OF_2_4_GHZ, IS_2_4_GHZ),
        Band::Ghz5 => (MHZ_OF_5_GHZ, IS_5_GHZ),
    };
    out.extend(mhz.to_le_bytes());
    out.extend((band | OFDM).to_le_bytes());
    if let (SentRate::Mcs(streams, mcs), MCS) = (rate, modulation) {
        high_throughput(out, wlan, streams, mcs);
    }
    if let Some((number, is_last)) = ampdu {
        align(out, begin, 4);
        out.extend(number.to_le_bytes());
        out.extend((LAST_KNOWN | if is_last { IS_LAST } else { 0 }).to_le_bytes());
        out.extend([0, 0]);
    }
    align(out, begin, 2);
    match (rate, modulation) {
        (SentRate::Mcs(streams, mcs), VHT) => very_high_throughput(out, wlan, streams, mcs),
        (SentRate::Mcs(streams, mcs), HE) => high_efficiency(out, wlan, streams, mcs),
        _ => {}
    }
    let length = (out.len() - begin) as u16;
    out[begin + 2..begin + 4].copy_from_slice(&length.to_le_bytes());
}

/// Pads a header that begins at `begin` to a multiple of `to` bytes.
fn align(out: &mut Vec<u8>, begin: usize, to: usize) {
    out.resize(begin + (out.len() - begin).next_multiple_of(to), 0);
}

/// Appends the MCS field. Width, MCS index, guard interval, format and coding are known: 20 or 40 MHz, mixed,
/// convolutional.
fn high_throughput(out: &mut Vec<u8>, wlan: &Wlan, streams: u32, mcs: u32) {
    let flags = u8::from(wlan.width_mhz == 40) | if wlan.guard_interval.0 == 400 { 0x04 } else { 0 };
    out.extend([0x1f, flags, (mcs + 8 * (streams - 1)) as u8]);
}

/// Appends the VHT field. Guard interval and width are known; one user, convolutional coding.
fn very_high_throughput(out: &mut Vec<u8>, wlan: &Wlan, streams: u32, mcs: u32) {
    out.extend(0x0044_u16.to_le_bytes());
    out.push(if wlan.guard_interval.0 == 400 { 0x04 } else { 0 });
    out.push(match wlan.width_mhz {
        160 => 11,
        80 => 4,
        40 => 1,
        _ => 0,
    });
    out.extend([(mcs << 4 | streams) as u8, 0, 0, 0]);
    // The coding, the group ID and the partial AID are zero.
    out.extend([0; 4]);
}

/// Appends the HE field. MCS, coding, width and guard interval are known; a PPDU of one user, with LDPC.
fn high_efficiency(out: &mut Vec<u8>, wlan: &Wlan, streams: u32, mcs: u32) {
    let interval: u16 = match wlan.guard_interval.0 {
        3200 => 2,
        1600 => 1,
        _ => 0,
    };
    // The longest guard interval goes with the longest training field, 4x; the others go with 2x.
    let training: u16 = if interval == 2 { 3 } else { 2 };
    let width: u16 = match wlan.width_mhz {
        160 => 3,
        80 => 2,
        40 => 1,
        _ => 0,
    };
    let data = [
        0x40a3,
        0x0002,
        (mcs << 8) as u16 | 0x2000,
        0,
        width | interval << 4 | training << 6,
        streams as u16,
    ];
    data.into_iter().for_each(|field| out.extend(field.to_le_bytes()));
}
