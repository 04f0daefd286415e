//! The settings of a radio channel after IEEE 802.11, and which of them go together.

use crate::{Duration, QueueLimit, Rate, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An amendment of IEEE 802.11 by whose modulation a channel's stations send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WlanStandard {
    /// 802.11a: OFDM in the 5 GHz band (IEEE 802.11-2020 clause 17).
    A,
    /// 802.11g: OFDM in the 2.4 GHz band (clause 18).
    G,
    /// 802.11n: high throughput (clause 19), with the mixed preamble.
    #[default]
    N,
    /// 802.11ac: very high throughput (clause 21).
    Ac,
    /// 802.11ax: high efficiency (IEEE 802.11ax-2021 clause 27), one user in each PPDU.
    Ax,
}

/// The frequency band of a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub enum Band {
    /// SIFS is 10 us, and each OFDM frame is followed by 6 us of signal extension.
    #[serde(rename = "2.4 GHz")]
    Ghz2,
    /// SIFS is 16 us.
    #[default]
    #[serde(rename = "5 GHz")]
    Ghz5,
}

/// A radio channel after IEEE 802.11: an access point and its stations, which all hear each other. Every frame of a
/// station goes to the access point, and what is for another station crosses the air again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Wlan {
    /// The amendment by which all stations send.
    #[serde(default)]
    pub standard: WlanStandard,
    /// The frequency band.
    #[serde(default)]
    pub band: Band,
    /// The channel's width in MHz: 20, and 40 with n, ac and ax, and 80 and 160 with ac and ax.
    #[serde(default = "width_mhz")]
    #[schemars(range(min = 20, max = 160))]
    pub width_mhz: u32,
    /// Spatial streams, 1 to 4; 1 with a and g.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 4))]
    pub streams: u32,
    /// The modulation and coding of each stream, from 0: to 7 (a, g, n), 9 (ac), 11 (ax). The MCS 8 to 31 of 802.11n are
    /// 0 to 7 with more streams.
    #[serde(default = "mcs")]
    #[schemars(range(min = 0, max = 11))]
    pub mcs: u32,
    /// The guard interval between symbols: 800 ns, and 400 ns with n and ac, and 1.6 us and 3.2 us with ax.
    #[serde(default = "guard_interval")]
    pub guard_interval: Duration,
    /// MPDUs in an A-MPDU at the most; 1 is no aggregation. Where absent, as many as one BlockAck can acknowledge: 64 with
    /// n and ac, 256 with ax, 1 with a and g.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 256))]
    pub ampdu: Option<u32>,
    /// The largest A-MSDU; each MPDU has one packet where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub amsdu: Option<Size>,
    /// A PPDU with an MPDU larger than this begins with RTS and CTS.
    #[serde(default = "rts_threshold")]
    pub rts_threshold: Size,
    /// The number of times that an MPDU is sent before it is dropped.
    #[serde(default = "tries")]
    #[schemars(range(min = 1, max = 255))]
    pub tries: u32,
    /// The probability that an MPDU is lost to noise.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub mpdu_loss: f64,
    /// The highest rate of acknowledgments, RTS and CTS: 6, 12 or 24 Mbit/s.
    #[serde(default = "basic_rate")]
    pub basic_rate: Rate,
    /// The time between beacons, 102.4 ms being 100 time units; 0 for none.
    #[serde(default = "beacon_interval")]
    pub beacon_interval: Duration,
    /// The limit of each interface's queues together, beyond which they drop.
    #[serde(default = "queue")]
    pub queue: QueueLimit,
}

fn width_mhz() -> u32 {
    20
}

fn one() -> u32 {
    1
}

fn mcs() -> u32 {
    7
}

fn guard_interval() -> Duration {
    Duration(800)
}

fn rts_threshold() -> Size {
    Size(Wlan::MOST_RTS_THRESHOLD)
}

/// dot11ShortRetryLimit's default.
fn tries() -> u32 {
    7
}

fn basic_rate() -> Rate {
    Rate(24_000_000)
}

fn beacon_interval() -> Duration {
    Duration(102_400_000)
}

fn queue() -> QueueLimit {
    QueueLimit::Packets(1000)
}

/// The part of a bit that a code carries: 3 of 4 is `(3, 4)`.
type CodeRate = (u32, u32);

/// Bits of a subcarrier and the code's rate, by MCS: clause 27.5 for all twelve, which begin as those of the clauses 19.5
/// and 21.5 do.
const MODULATIONS: [(u32, CodeRate); 12] = [
    (1, (1, 2)),
    (2, (1, 2)),
    (2, (3, 4)),
    (4, (1, 2)),
    (4, (3, 4)),
    (6, (2, 3)),
    (6, (3, 4)),
    (6, (5, 6)),
    (8, (3, 4)),
    (8, (5, 6)),
    (10, (3, 4)),
    (10, (5, 6)),
];
/// Data bits of a symbol of 802.11a and g, 6 to 54 Mbit/s (table 17-4).
const LEGACY_BITS: [u32; 8] = [24, 36, 48, 72, 96, 144, 192, 216];

impl Wlan {
    /// The largest RTS threshold: no frame that is not aggregated is larger.
    pub const MOST_RTS_THRESHOLD: u64 = 2347;
    /// The largest IP packet that fits an MSDU of 2304 B with 8 B of LLC and SNAP.
    pub const MOST_MTU: u64 = 2296;

    /// The widths in MHz that the standard has.
    pub fn widths(&self) -> &'static [u32] {
        match self.standard {
            WlanStandard::A | WlanStandard::G => &[20],
            WlanStandard::N => &[20, 40],
            WlanStandard::Ac | WlanStandard::Ax => &[20, 40, 80, 160],
        }
    }

    /// The most spatial streams of the standard that are modelled.
    pub fn most_streams(&self) -> u32 {
        if matches!(self.standard, WlanStandard::A | WlanStandard::G) { 1 } else { 4 }
    }

    /// The highest MCS of the standard.
    pub fn highest_mcs(&self) -> u32 {
        match self.standard {
            WlanStandard::A | WlanStandard::G | WlanStandard::N => 7,
            WlanStandard::Ac => 9,
            WlanStandard::Ax => 11,
        }
    }

    /// The guard intervals in nanoseconds that the standard has.
    pub fn guard_intervals_ns(&self) -> &'static [u64] {
        match self.standard {
            WlanStandard::A | WlanStandard::G => &[800],
            WlanStandard::N | WlanStandard::Ac => &[400, 800],
            WlanStandard::Ax => &[800, 1600, 3200],
        }
    }

    /// The bands that the standard is for.
    pub fn bands(&self) -> &'static [Band] {
        match self.standard {
            WlanStandard::A | WlanStandard::Ac => &[Band::Ghz5],
            WlanStandard::G => &[Band::Ghz2],
            WlanStandard::N | WlanStandard::Ax => &[Band::Ghz2, Band::Ghz5],
        }
    }

    /// The most MPDUs that one acknowledgment of the standard acknowledges.
    pub fn most_mpdus(&self) -> u32 {
        match self.standard {
            WlanStandard::A | WlanStandard::G => 1,
            WlanStandard::N | WlanStandard::Ac => 64,
            WlanStandard::Ax => 256,
        }
    }

    /// MPDUs in an A-MPDU at the most.
    pub fn mpdus(&self) -> u32 {
        self.ampdu.unwrap_or(self.most_mpdus())
    }

    /// The sizes in bytes that an A-MSDU of the standard may be limited to.
    pub fn amsdu_limits(&self) -> &'static [u64] {
        match self.standard {
            WlanStandard::A | WlanStandard::G => &[],
            WlanStandard::N => &[3839, 7935],
            WlanStandard::Ac | WlanStandard::Ax => &[3895, 7991, 11_398],
        }
    }

    /// Encoders of a PPDU (N_ES, clauses 19.3.5 and 21.5): one up to 300 Mbit/s of 802.11n, one for each 2160 bits of a
    /// symbol of 802.11ac; 802.11ax has LDPC, for which there is one.
    pub fn encoders(&self) -> u32 {
        let bits = self.coded_bits().0;
        match self.standard {
            WlanStandard::A | WlanStandard::G | WlanStandard::Ax => 1,
            WlanStandard::N => 1 + u32::from(bits > 1080),
            // Five would not divide its bits: table 21-58 has six.
            WlanStandard::Ac if (self.width_mhz, self.streams, self.mcs) == (160, 4, 7) => 6,
            WlanStandard::Ac => bits.div_ceil(2160).max(1),
        }
    }

    /// Data bits of a symbol (N_DBPS); `None` where the standard has no such MCS at this width with so many streams.
    pub fn symbol_bits(&self) -> Option<u32> {
        if !self.widths().contains(&self.width_mhz)
            || !(1..=self.most_streams()).contains(&self.streams)
            || self.mcs > self.highest_mcs()
        {
            return None;
        }
        if matches!(self.standard, WlanStandard::A | WlanStandard::G) {
            return LEGACY_BITS.get(self.mcs as usize).copied();
        }
        let (bits, is_whole) = self.coded_bits();
        if self.standard == WlanStandard::Ac {
            // Clause 21.5: each encoder has as many bits as the others, before and after coding.
            let (subcarrier, _) = MODULATIONS[self.mcs as usize];
            let coded = self.subcarriers() * subcarrier * self.streams;
            let encoders = self.encoders();
            let is_even = coded.is_multiple_of(encoders) && bits.is_multiple_of(encoders);
            return (is_whole && is_even).then_some(bits);
        }
        Some(bits)
    }

    /// Data bits of a symbol, and whether that is exact.
    fn coded_bits(&self) -> (u32, bool) {
        let (subcarrier, (data, of)) = MODULATIONS[(self.mcs as usize).min(MODULATIONS.len() - 1)];
        let bits = self.subcarriers() * subcarrier * self.streams * data;
        (bits / of, bits.is_multiple_of(of))
    }

    /// Data subcarriers (N_SD).
    fn subcarriers(&self) -> u32 {
        match (self.standard, self.width_mhz) {
            (WlanStandard::Ax, 20) => 234,
            (WlanStandard::Ax, 40) => 468,
            (WlanStandard::Ax, 80) => 980,
            (WlanStandard::Ax, _) => 1960,
            (_, 20) => 52,
            (_, 40) => 108,
            (_, 80) => 234,
            (_, _) => 468,
        }
    }

    /// The rate in Mbit/s of the highest rate of 802.11a with this modulation and code: the one that acknowledgments do
    /// not go above (clause 10.6.11).
    pub fn reference_mbps(&self) -> u32 {
        const RATES: [u32; 8] = [6, 9, 12, 18, 24, 36, 48, 54];
        let mcs = self.mcs as usize;
        if matches!(self.standard, WlanStandard::A | WlanStandard::G) {
            return RATES[mcs.min(7)];
        }
        // BPSK 1/2, QPSK 1/2 and 3/4, 16-QAM 1/2 and 3/4, 64-QAM 2/3, 3/4 and above.
        [6, 12, 18, 24, 36, 48, 54][mcs.min(6)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wlan(text: &str) -> Wlan {
        serde_json::from_str(text).unwrap()
    }

    fn bits(standard: &str, width_mhz: u32, streams: u32, mcs: u32) -> Option<u32> {
        wlan(&format!(
            r#"{{"standard": "{standard}", "width_mhz": {width_mhz}, "streams": {streams},
                "mcs": {mcs}}}"#
        ))
        .symbol_bits()
    }

    #[test]
    fn symbols_carry_what_the_standard_says() {
        let of_n20 = [26, 52, 78, 104, 156, 208, 234, 260];
        let of_n40 = [54, 108, 162, 216, 324, 432, 486, 540];
        for mcs in 0..8 {
            for streams in 1..=4 {
                assert_eq!(bits("n", 20, streams, mcs), Some(of_n20[mcs as usize] * streams));
                assert_eq!(bits("n", 40, streams, mcs), Some(of_n40[mcs as usize] * streams));
            }
        }
        // Tables 21-30, 21-38 and 21-46; clause 27.5.
        assert_eq!(bits("ac", 80, 1, 9), Some(1560));
        assert_eq!(bits("ac", 20, 3, 9), Some(1040));
        assert_eq!(bits("ac", 160, 4, 7), Some(9360));
        assert_eq!(bits("ax", 80, 2, 11), Some(16_333));
        assert_eq!(bits("ax", 20, 1, 0), Some(117));
        assert_eq!(bits("a", 20, 1, 7), Some(216));
    }

    #[test]
    fn what_the_standard_does_not_have_has_no_bits() {
        for (standard, width, streams, mcs) in [
            ("a", 40, 1, 0),
            ("g", 20, 2, 0),
            ("n", 80, 1, 0),
            ("n", 20, 1, 8),
            ("n", 20, 5, 0),
            ("ac", 20, 1, 9),
            ("ac", 20, 2, 9),
            ("ac", 20, 4, 9),
            ("ac", 80, 3, 6),
            ("ac", 160, 3, 9),
            ("ac", 80, 1, 10),
            ("ax", 80, 1, 12),
        ] {
            assert_eq!(bits(standard, width, streams, mcs), None, "{standard} {width} {streams} {mcs}");
        }
    }
}
