//! The durations of PPDUs.

use nettrial_scenario::{Band, Wlan, WlanStandard};

/// A microsecond in picoseconds.
pub(crate) const US: u64 = 1_000_000;
/// The bits before the PSDU (SERVICE).
const SERVICE_BITS: u64 = 16;
/// The bits after the PSDU for each encoder (tail).
const TAIL_BITS: u64 = 6;
/// An OFDM symbol with the long guard interval; PPDUs with the short one are padded to multiples of it (equations
/// 19-90 and 21-107).
const LONG_SYMBOL: u64 = 4 * US;
/// The duration of L-STF, L-LTF and L-SIG.
pub(crate) const LEGACY_PREAMBLE: u64 = 20 * US;
/// The time after OFDM frames in the 2.4 GHz band (aSignalExtension).
const SIGNAL_EXTENSION: u64 = 6 * US;

/// The modulation with which the stations of a channel send data.
#[derive(Debug, Clone, Copy)]
pub struct Phy {
    preamble_ps: u64,
    symbol_ps: u64,
    /// The data bits of a symbol.
    bits: u64,
    tail_bits: u64,
    /// True if symbols have the short guard interval of 802.11n and 802.11ac.
    is_short: bool,
    /// True for rates of 802.11a and 802.11g.
    is_legacy: bool,
    extension_ps: u64,
}

impl Phy {
    /// Returns the PHY of settings that have passed their scenario's checks.
    pub fn new(wlan: &Wlan) -> Self {
        let interval = wlan.guard_interval.0 * 1000;
        let training = [1, 2, 4, 4][(wlan.streams as usize).clamp(1, 4) - 1];
        let (preamble_ps, symbol_ps) = match wlan.standard {
            WlanStandard::A | WlanStandard::G => (LEGACY_PREAMBLE, LONG_SYMBOL),
            // HT-SIG takes 8 us, HT-STF 4 us, and each HT-LTF 4 us.
            WlanStandard::N => (LEGACY_PREAMBLE + (12 + 4 * training) * US, 3_200_000 + interval),
            // VHT-SIG-A takes 8 us, VHT-STF 4 us, each VHT-LTF 4 us, and VHT-SIG-B 4 us.
            WlanStandard::Ac => (LEGACY_PREAMBLE + (16 + 4 * training) * US, 3_200_000 + interval),
            // RL-SIG takes 4 us, HE-SIG-A 8 us, HE-STF 4 us, and each HE-LTF 6.4 us, or 12.8 us with the longest
            // guard interval.
            WlanStandard::Ax => {
                let field = if interval > 1_600_000 { 12_800_000 } else { 6_400_000 };
                (LEGACY_PREAMBLE + 16 * US + training * (field + interval), 12_800_000 + interval)
            }
        };
        // 802.11ax is assumed to use LDPC, which needs no tail.
        let tail_bits = if wlan.standard == WlanStandard::Ax { 0 } else { TAIL_BITS };
        Self {
            preamble_ps,
            symbol_ps,
            bits: u64::from(wlan.symbol_bits().unwrap_or(1)),
            tail_bits: tail_bits * u64::from(wlan.encoders()),
            is_short: symbol_ps < LONG_SYMBOL,
            is_legacy: matches!(wlan.standard, WlanStandard::A | WlanStandard::G),
            extension_ps: extension_ps(wlan.band),
        }
    }

    /// Returns the duration of a PPDU with a PSDU of that many bytes, in picoseconds.
    pub fn ppdu_ps(&self, psdu_bytes: u64) -> u64 {
        let symbols = (SERVICE_BITS + 8 * psdu_bytes + self.tail_bits).div_ceil(self.bits);
        let mut of_symbols = symbols * self.symbol_ps;
        if self.is_short {
            of_symbols = of_symbols.next_multiple_of(LONG_SYMBOL);
        }
        self.preamble_ps + of_symbols + self.extension_ps
    }

    /// Returns the rate of data in bits per second.
    pub fn rate_bps(&self) -> u64 {
        self.bits * 1_000_000_000_000 / self.symbol_ps
    }

    /// Returns whether the rate is one of 802.11a and 802.11g.
    pub(crate) fn is_legacy(&self) -> bool {
        self.is_legacy
    }

    /// Returns the duration of the preamble in picoseconds, including the headers of the PHY.
    pub fn preamble_ps(&self) -> u64 {
        self.preamble_ps
    }

    /// Returns the duration of that many bytes alone in picoseconds, rounded down.
    pub fn payload_ps(&self, bytes: u64) -> u64 {
        8 * bytes * self.symbol_ps / self.bits
    }

    /// Returns the bytes of the largest PSDU whose PPDU takes at most `within_ps`; 0 if there is none.
    pub fn most_bytes(&self, within_ps: u64) -> u64 {
        let (mut fits, mut exceeds) = (0_u64, 8_u64 << 20);
        while exceeds - fits > 1 {
            let middle = fits.midpoint(exceeds);
            *(if self.ppdu_ps(middle) <= within_ps { &mut fits } else { &mut exceeds }) = middle;
        }
        fits
    }
}

/// Returns the duration in picoseconds of a control frame of that many bytes at a rate of 802.11a in Mbit/s.
pub(crate) fn control_ps(bytes: u64, mbps: u64, band: Band) -> u64 {
    let symbols = (SERVICE_BITS + 8 * bytes + TAIL_BITS).div_ceil(4 * mbps);
    LEGACY_PREAMBLE + symbols * LONG_SYMBOL + extension_ps(band)
}

/// Returns the signal extension of a band in picoseconds.
fn extension_ps(band: Band) -> u64 {
    if band == Band::Ghz2 { SIGNAL_EXTENSION } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phy(settings: &str) -> Phy {
        Phy::new(&serde_json::from_str(&format!(r#"{{{settings}}}"#)).unwrap())
    }

    #[test]
    fn control_frames_take_what_the_standard_says() {
        assert_eq!(control_ps(14, 24, Band::Ghz5), 28 * US);
        assert_eq!(control_ps(32, 24, Band::Ghz5), 32 * US);
        assert_eq!(control_ps(14, 6, Band::Ghz5), 44 * US);
        assert_eq!(control_ps(14, 24, Band::Ghz2), 34 * US);
    }

    #[test]
    fn ppdus_take_what_the_standard_says() {
        // 1534 B at 54 Mbit/s: 16 + 12272 + 6 bits in symbols of 216.
        assert_eq!(phy(r#""standard": "a""#).ppdu_ps(1534), (20 + 57 * 4) * US);
        // 65 Mbit/s: 48 symbols of 260 bits after 36 us; with the short guard interval, 172.8 us are padded to
        // 176.
        assert_eq!(phy(r#""standard": "n""#).ppdu_ps(1534), (36 + 48 * 4) * US);
        assert_eq!(phy(r#""standard": "n", "guard_interval": "400 ns""#).ppdu_ps(1534), (36 + 176) * US);
        let two = r#""standard": "n", "streams": 2, "band": "2.4 GHz""#;
        assert_eq!(phy(two).ppdu_ps(1534), (40 + 24 * 4 + 6) * US);
        assert_eq!(phy(r#""standard": "ac", "width_mhz": 80, "mcs": 9"#).ppdu_ps(1534), (40 + 8 * 4) * US);
        // HE: 36 us, one HE-LTF of 7.2 us, symbols of 13.6 us with 1950 bits at 20 MHz.
        let he = phy(r#""standard": "ax", "mcs": 11"#);
        assert_eq!(he.ppdu_ps(1534), 36 * US + 7_200_000 + 7 * 13_600_000);
    }

    #[test]
    fn the_largest_psdu_is_the_largest() {
        let phy = phy(r#""standard": "n", "guard_interval": "400 ns""#);
        let most = phy.most_bytes(5484 * US);
        assert!(phy.ppdu_ps(most) <= 5484 * US && phy.ppdu_ps(most + 1) > 5484 * US);
    }
}
