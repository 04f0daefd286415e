//! The settings of a radio channel after IEEE 802.11, and the rules for their combination.

mod standard;

use crate::{Duration, QueueLimit, Rate, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The amendment of IEEE 802.11 whose modulation a channel's stations use.
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

/// The way in which the stations of a channel reach each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WlanMode {
    /// Stations reach each other through an access point: every frame of a station goes to it, and packets for
    /// another station cross the air again.
    #[default]
    Infrastructure,
    /// Stations reach each other directly, without an access point (an IBSS, IEEE 802.11-2020 clause 4.3.3).
    AdHoc,
}

/// The way in which stations choose the MCS and the streams of their frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RateControl {
    /// The settings state the MCS and the streams.
    #[default]
    Fixed,
    /// Minstrel-HT, after Linux's, chooses among all MCS of up to `streams` streams by the frames that arrive;
    /// `mcs` has no effect.
    MinstrelHt,
}

/// The discipline that serves the packets queued at an interface of a radio channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WlanDiscipline {
    /// Receivers are served in turn, each receiver's packets in the order of their arrival. Packets are dropped
    /// only at the limit.
    #[default]
    DropTail,
    /// Each flow has a queue of its own with CoDel (RFC 8290, with a target of 20 ms), and receivers have equal
    /// shares of airtime, as in Linux's mac80211. At the limit, the flow with the most bytes loses its first
    /// packet.
    FqCodel,
}

/// The frames that are lost to noise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FrameErrors {
    /// No frames are lost to noise. Among overlapping frames, one above the capture threshold is received.
    None,
    /// Frames are lost as on a channel with white Gaussian noise, by MCS, length, and the ratio of signal to noise
    /// and interference. None are lost if neither positions nor SNR are given.
    #[default]
    Awgn,
}

/// The settings of one station of a radio channel, or of the access point, that differ from the channel's.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WlanStation {
    /// The position, metres. Either all nodes of the channel have a position or none has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = -100_000.0, max = 100_000.0))]
    pub x_m: Option<f64>,
    /// The second coordinate of the position, metres.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = -100_000.0, max = 100_000.0))]
    pub y_m: Option<f64>,
    /// The ratio of signal to noise between the station and the access point, in both directions, in place of positions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = -20.0, max = 80.0))]
    pub snr_db: Option<f64>,
    /// The transmit power; the channel's if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = -10.0, max = 36.0))]
    pub tx_power_dbm: Option<f64>,
    /// The MCS of frames from and to the station; the channel's if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 11))]
    pub mcs: Option<u32>,
    /// The spatial streams of that MCS; the channel's if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 4))]
    pub streams: Option<u32>,
}

/// A radio channel after IEEE 802.11: an access point and its stations. Every frame of a station goes to the
/// access point, and packets for another station cross the air again. All stations hear each other, unless they
/// have positions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Wlan {
    /// The way in which stations reach each other.
    #[serde(default)]
    pub mode: WlanMode,
    /// The amendment that all stations use.
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
    /// The most MPDUs in an A-MPDU; 1 means no aggregation. If absent, as many as one BlockAck can acknowledge: 64
    /// with n and ac, 256 with ax, 1 with a and g.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 256))]
    pub ampdu: Option<u32>,
    /// The largest A-MSDU; if absent, each MPDU has one packet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub amsdu: Option<Size>,
    /// The RTS threshold: a PPDU with a larger MPDU begins with RTS and CTS. No MPDU is larger than the default, which
    /// turns RTS off; one with an A-MSDU can be larger than 2347 B.
    #[serde(default = "rts_threshold")]
    pub rts_threshold: Size,
    /// Each PPDU that does not begin with RTS begins with a CTS of its own sender (CTS-to-self).
    #[serde(default)]
    pub cts_to_self: bool,
    /// The fragmentation threshold, 256 to 2346 B: a larger MPDU is sent in fragments of at most this size. Only
    /// without aggregation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fragmentation_threshold: Option<Size>,
    /// The number of times that an MPDU is sent before it is dropped.
    #[serde(default = "tries")]
    #[schemars(range(min = 1, max = 255))]
    pub tries: u32,
    /// The probability that an MPDU is lost to noise.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1.0), extend("x-quantity" = "probability"))]
    pub mpdu_loss: f64,
    /// The highest rate of acknowledgments, RTS and CTS: 6, 12 or 24 Mbit/s.
    #[serde(default = "basic_rate")]
    pub basic_rate: Rate,
    /// The time between beacons, 102.4 ms being 100 time units; 0 for none.
    #[serde(default = "beacon_interval")]
    pub beacon_interval: Duration,
    /// The common limit of each interface's queues, beyond which they drop packets.
    #[serde(default = "queue")]
    pub queue: QueueLimit,
    /// The discipline of each interface's queues.
    #[serde(default)]
    pub discipline: WlanDiscipline,
    /// The way in which stations choose the MCS and the streams.
    #[serde(default)]
    pub rate_control: RateControl,
    /// The frames that are lost to noise.
    #[serde(default)]
    pub frame_errors: FrameErrors,
    /// The transmit power.
    #[serde(default = "tx_power_dbm")]
    #[schemars(range(min = -10.0, max = 36.0))]
    pub tx_power_dbm: f64,
    /// The noise of a receiver above thermal noise.
    #[serde(default = "noise_figure_db")]
    #[schemars(range(min = 0.0, max = 30.0))]
    pub noise_figure_db: f64,
    /// The path loss at a distance of 1 m; if absent, that of free space: 46.7 dB at 5 GHz, 40.2 dB at 2.4 GHz.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 150.0))]
    pub path_loss_at_1_m_db: Option<f64>,
    /// The exponent of path loss: at ten times the distance, the path loss is larger by ten times this value, in
    /// dB.
    #[serde(default = "path_loss_exponent")]
    #[schemars(range(min = 1.0, max = 8.0))]
    pub path_loss_exponent: f64,
    /// The power above which a station senses that another sends.
    #[serde(default = "carrier_sense_dbm")]
    #[schemars(range(min = -110.0, max = -20.0))]
    pub carrier_sense_dbm: f64,
    /// The capture threshold: the ratio to all other signals at which a receiver can read a frame whose start
    /// overlaps with other frames.
    #[serde(default = "capture_db")]
    #[schemars(range(min = 0.0, max = 60.0))]
    pub capture_db: f64,
    /// The settings of single stations, and of the access point, by node.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub stations: BTreeMap<String, WlanStation>,
}

impl Wlan {
    /// The path loss over a distance, dB (log-distance; nearer than 1 m that of 1 m).
    pub fn path_loss_db(&self, metres: f64) -> f64 {
        let free = if self.band == Band::Ghz2 { 40.2 } else { 46.7 };
        let at_1_m = self.path_loss_at_1_m_db.unwrap_or(free);
        at_1_m + 10.0 * self.path_loss_exponent * metres.max(1.0).log10()
    }

    /// Returns the channel's settings with the MCS and the streams of a station.
    #[must_use]
    pub fn of_station(&self, own: &WlanStation) -> Self {
        Self {
            mcs: own.mcs.unwrap_or(self.mcs),
            streams: own.streams.unwrap_or(self.streams),
            stations: BTreeMap::new(),
            ..self.clone()
        }
    }
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

fn tx_power_dbm() -> f64 {
    16.0
}

fn noise_figure_db() -> f64 {
    7.0
}

fn path_loss_exponent() -> f64 {
    3.0
}

/// The sensitivity that the standard asks for at the lowest rate of 20 MHz (clause 17.3.10.6).
fn carrier_sense_dbm() -> f64 {
    -82.0
}

fn capture_db() -> f64 {
    10.0
}
