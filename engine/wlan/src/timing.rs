//! The times and sizes that follow from the settings of a channel.

use crate::Category;
use crate::errors::Errors;
use crate::phy::{LEGACY_PREAMBLE, Phy, US, control_ps};
use nettrial_scenario::{Band, FrameErrors, Size, Wlan, WlanStandard};

/// The duration of a slot in picoseconds (aSlotTime, clauses 17.4.4, and 18.4.5 without stations of 802.11b).
pub(crate) const SLOT: u64 = 9 * US;
/// The duration of the longest PPDU in picoseconds (aPPDUMaxTime).
const LONGEST_PPDU: u64 = 5484 * US;
/// The bytes of a beacon with the usual elements of access points.
pub(crate) const BEACON_BYTES: u64 = 250;
/// The bytes of LLC and SNAP before an IP packet.
const LLC_BYTES: u64 = 8;
/// The bytes of the header of QoS data with three addresses, and of the FCS.
pub(crate) const MAC_BYTES: u64 = 30;
/// The bytes of the header of an A-MSDU's subframe.
const SUBFRAME_BYTES: u64 = 14;
/// The bytes of the delimiter before each MPDU of an A-MPDU.
const DELIMITER_BYTES: u64 = 4;
/// The bytes of an acknowledgment and of a CTS.
const ACK_BYTES: u64 = 14;
/// The bytes of an RTS.
const RTS_BYTES: u64 = 20;

/// The times, in picoseconds, and sizes of a channel.
#[derive(Debug, Clone)]
pub struct Timing {
    /// The modulation of data.
    pub phy: Phy,
    /// The time between a frame and its response (SIFS).
    pub sifs_ps: u64,
    /// The duration of an acknowledgment of one MPDU.
    pub ack_ps: u64,
    /// The duration of a BlockAck.
    pub block_ack_ps: u64,
    /// The duration of RTS, SIFS, CTS and SIFS.
    pub protection_ps: u64,
    /// The duration of an RTS frame.
    pub rts_ps: u64,
    /// The duration of a CTS frame.
    pub cts_ps: u64,
    /// The duration of the preamble of these frames.
    pub preamble_ps: u64,
    /// The duration of a beacon.
    pub beacon_ps: u64,
    /// The time from the end of a PPDU until its sender considers it lost.
    pub ack_timeout_ps: u64,
    /// The additional time before a station that heard an unreadable frame may send: EIFS without DIFS (clause
    /// 10.3.2.3.7), rounded up to slots, so that the slots of all stations begin together.
    pub eifs_ps: u64,
    /// The bytes of the largest PSDU of each category.
    pub most_bytes: [u64; 4],
    /// The errors of data; `None` without noise.
    pub(crate) errors: Option<Errors>,
    /// The errors of acknowledgments, RTS and CTS; `None` without noise.
    pub(crate) control_errors: Option<Errors>,
    /// The largest number of MPDUs in a PPDU, and in the window of a BlockAck agreement.
    pub mpdus: usize,
    /// True if a single MPDU has a delimiter, too, as in 802.11ac and 802.11ax.
    has_delimiter: bool,
    amsdu_bytes: u64,
    rts_threshold: u64,
    /// The bytes of the largest fragment; `None` without fragmentation.
    fragment_bytes: Option<u64>,
    block_ack_bytes: u64,
    /// The rate of acknowledgments, RTS and CTS, in bits per second.
    pub(crate) control_bps: u64,
}

impl Timing {
    /// Returns the timing of settings that have passed their scenario's checks.
    pub fn new(wlan: &Wlan) -> Self {
        let phy = Phy::new(wlan);
        let sifs_ps = if wlan.band == Band::Ghz2 { 10 * US } else { 16 * US };
        let reference = u64::from(wlan.reference_mbps()).min(wlan.basic_rate.0 / 1_000_000);
        let rate = [24, 12, 6].into_iter().find(|rate| *rate <= reference).unwrap_or(6);
        let control = |bytes: u64| control_ps(bytes, rate, wlan.band);
        // The bitmap has 8 bytes for 64 MPDUs, and 32 bytes for 256.
        let block_ack_bytes = if wlan.mpdus() > 64 { 56 } else { 32 };
        let (ack_ps, block_ack_ps) = (control(ACK_BYTES), control(block_ack_bytes));
        let has_errors = wlan.frame_errors == FrameErrors::Awgn;
        let most_bytes = Category::ALL.map(|category| {
            let whole = phy.most_bytes(LONGEST_PPDU);
            let limit = category.txop_limit_ps();
            let in_txop = phy.most_bytes(limit.saturating_sub(sifs_ps + block_ack_ps));
            whole.min(if limit > 0 { in_txop } else { whole }).min(Self::ampdu_bytes(wlan.standard))
        });
        Self {
            phy,
            sifs_ps,
            ack_ps,
            block_ack_ps,
            protection_ps: control(RTS_BYTES) + control(ACK_BYTES) + 2 * sifs_ps,
            rts_ps: control(RTS_BYTES),
            cts_ps: control(ACK_BYTES),
            preamble_ps: LEGACY_PREAMBLE,
            beacon_ps: control_ps(BEACON_BYTES, 6, wlan.band),
            // SIFS, a slot, and the preamble of the expected response.
            ack_timeout_ps: sifs_ps + SLOT + 20 * US,
            eifs_ps: (sifs_ps + control_ps(ACK_BYTES, 6, wlan.band)).next_multiple_of(SLOT),
            most_bytes,
            errors: has_errors.then(|| Errors::new(wlan)),
            control_errors: has_errors.then(|| Errors::of_control(rate)),
            mpdus: wlan.mpdus() as usize,
            has_delimiter: matches!(wlan.standard, WlanStandard::Ac | WlanStandard::Ax),
            amsdu_bytes: wlan.amsdu.map_or(0, |Size(bytes)| bytes),
            rts_threshold: wlan.rts_threshold.0,
            fragment_bytes: wlan.fragmentation_threshold.map(|Size(bytes)| bytes),
            block_ack_bytes,
            control_bps: rate * 1_000_000,
        }
    }

    /// Returns the bytes of the largest A-MPDU (clauses 9.4.2.55, 9.4.2.157; 802.11ax-2021 clause 9.4.2.248).
    fn ampdu_bytes(standard: WlanStandard) -> u64 {
        match standard {
            WlanStandard::A | WlanStandard::G | WlanStandard::N => 65_535,
            WlanStandard::Ac => 1_048_575,
            WlanStandard::Ax => 4_194_303,
        }
    }

    /// Returns the time in picoseconds for which the medium must be idle before a contender with this AIFSN counts
    /// its backoff.
    pub fn aifs_ps(&self, aifsn: u64) -> u64 {
        self.sifs_ps + aifsn * SLOT
    }

    /// Returns the bytes of the MPDU with these IP packets: one packet, or those of an A-MSDU.
    pub fn mpdu_bytes(&self, packets: impl ExactSizeIterator<Item = u64>) -> u64 {
        if packets.len() == 1 {
            return MAC_BYTES + packets.map(|bytes| bytes + LLC_BYTES).sum::<u64>();
        }
        MAC_BYTES + self.amsdu(packets)
    }

    /// Returns the bytes of the A-MSDU with these IP packets: all its subframes but the last are padded to
    /// multiples of 4.
    fn amsdu(&self, packets: impl Iterator<Item = u64>) -> u64 {
        packets.fold(0, |all: u64, bytes| all.next_multiple_of(4) + SUBFRAME_BYTES + LLC_BYTES + bytes)
    }

    /// Returns whether another packet may join an MPDU with these IP packets.
    pub(crate) fn may_take_more(&self, mut packets: impl Iterator<Item = u64> + Clone) -> bool {
        packets.clone().next().is_none() || self.amsdu(packets.by_ref()) < self.amsdu_bytes
    }

    /// Returns whether these IP packets may form an A-MSDU of the category.
    pub fn fits_amsdu(&self, packets: impl Iterator<Item = u64>, category: Category) -> bool {
        let bytes = self.amsdu(packets);
        let whole = bytes + MAC_BYTES + DELIMITER_BYTES;
        bytes <= self.amsdu_bytes && whole <= self.most_bytes[category as usize]
    }

    /// Returns the bytes of an A-MPDU of `psdu_bytes` with one further MPDU.
    pub fn ampdu_with(&self, psdu_bytes: u64, mpdu_bytes: u64) -> u64 {
        psdu_bytes.next_multiple_of(4) + DELIMITER_BYTES + mpdu_bytes
    }

    /// Returns the bytes of the PSDU with `mpdus` MPDUs, which would have `ampdu_bytes` as an A-MPDU.
    pub fn psdu_bytes(&self, mpdus: usize, ampdu_bytes: u64) -> u64 {
        match (mpdus, self.has_delimiter) {
            (1, false) => ampdu_bytes - DELIMITER_BYTES,
            (_, true) => ampdu_bytes.next_multiple_of(4),
            _ => ampdu_bytes,
        }
    }

    /// Returns the duration of the response to a PPDU with that many MPDUs, in picoseconds.
    pub fn response_ps(&self, mpdus: usize) -> u64 {
        if mpdus == 1 { self.ack_ps } else { self.block_ack_ps }
    }

    /// Returns the bytes of the response to a PPDU with that many MPDUs.
    pub(crate) fn response_bytes(&self, mpdus: usize) -> u64 {
        if mpdus == 1 { ACK_BYTES } else { self.block_ack_bytes }
    }

    /// Returns the bytes of a BlockAck's bitmap.
    pub(crate) fn bitmap_bytes(&self) -> usize {
        (self.block_ack_bytes - 24) as usize
    }

    /// Returns the bytes of an RTS frame.
    pub(crate) fn rts_bytes(&self) -> u64 {
        RTS_BYTES
    }

    /// Returns the bytes of a CTS frame.
    pub(crate) fn cts_bytes(&self) -> u64 {
        ACK_BYTES
    }

    /// Returns the number of fragments of an MPDU with that many bytes, the bytes of each but the last, and those
    /// of the last; `None` if it is not fragmented (clause 10.4).
    pub(crate) fn fragments(&self, mpdu_bytes: u64) -> Option<(u32, u64, u64)> {
        let most = self.fragment_bytes.filter(|most| mpdu_bytes > *most)?;
        let (payload, of_each) = (mpdu_bytes - MAC_BYTES, most - MAC_BYTES);
        let count = payload.div_ceil(of_each);
        Some((count as u32, most, MAC_BYTES + payload - (count - 1) * of_each))
    }

    /// Returns whether a PPDU whose MPDU has that many bytes begins with RTS.
    pub fn needs_rts(&self, mpdu_bytes: u64) -> bool {
        mpdu_bytes > self.rts_threshold
    }
}
