//! The tables of each standard: widths, streams, MCS, guard intervals, sizes, and the bits of a symbol.

use super::{Band, Wlan, WlanStandard};

/// The part of a bit that a code carries: 3 of 4 is `(3, 4)`.
pub type CodeRate = (u32, u32);

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
    /// The largest RTS threshold (that of Linux, NL80211_ATTR_WIPHY_RTS_THRESHOLD): no MPDU is larger, not even with an
    /// A-MSDU of 11,454 B.
    pub const MOST_RTS_THRESHOLD: u64 = 65_536;
    /// The range of dot11FragmentationThreshold.
    pub const LEAST_FRAGMENTATION_THRESHOLD: u64 = 256;
    /// No MPDU is larger.
    pub const MOST_FRAGMENTATION_THRESHOLD: u64 = 2346;
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

    /// Returns the largest number of MPDUs in an A-MPDU.
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

    /// Bits of a subcarrier and the code's rate.
    pub fn modulation(&self) -> (u32, CodeRate) {
        // BPSK and QPSK 1/2 and 3/4, 16-QAM 1/2 and 3/4, 64-QAM 2/3 and 3/4 (table 17-4).
        const LEGACY: [(u32, CodeRate); 8] = [
            (1, (1, 2)),
            (1, (3, 4)),
            (2, (1, 2)),
            (2, (3, 4)),
            (4, (1, 2)),
            (4, (3, 4)),
            (6, (2, 3)),
            (6, (3, 4)),
        ];
        let mcs = self.mcs as usize;
        if matches!(self.standard, WlanStandard::A | WlanStandard::G) {
            return LEGACY[mcs.min(LEGACY.len() - 1)];
        }
        MODULATIONS[mcs.min(MODULATIONS.len() - 1)]
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
