//! The power at which stations hear each other.
//!
//! Three things may be known of a channel. Of one without positions or SNR all stations hear each other alike and there is
//! no noise. With an SNR of stations the same holds, but for noise between each station and the access point. With
//! positions the power received is the transmit power less a log-distance path loss, and the noise is that of the
//! channel's width. There is no fading, no shadowing, and no antenna has a gain: what a station receives of another is
//! the same at all times and, with equal transmit powers, in both directions.

use nettrial_scenario::{Wlan, WlanStation};

/// Thermal noise, dBm in a hertz.
const THERMAL_DBM: f64 = -174.0;

/// The power of each station at each other one, and the noise there.
#[derive(Debug)]
pub struct Propagation {
    stations: usize,
    /// The power at a station of what another sends, milliwatts, by sender and then by receiver.
    powers_mw: Vec<f64>,
    /// The noise beside it, milliwatts, in the same order.
    noises_mw: Vec<f64>,
    /// True where a station senses that another sends, in the same order. Each senses itself.
    senses: Vec<bool>,
    /// The ratio to all else at which a frame is received beside others.
    capture: f64,
}

/// A ratio of so many decibels.
fn ratio(db: f64) -> f64 {
    10_f64.powf(db / 10.0)
}

impl Propagation {
    /// The powers among these stations, the access point first, of settings that have passed the check of their scenario.
    pub fn new(wlan: &Wlan, stations: &[WlanStation]) -> Self {
        let pairs = || stations.iter().flat_map(|from| stations.iter().map(move |to| (from, to)));
        let count = stations.len();
        let thermal = THERMAL_DBM + 10.0 * (f64::from(wlan.width_mhz) * 1e6).log10() + wlan.noise_figure_db;
        let mut new = Self {
            stations: count,
            powers_mw: vec![1.0; count * count],
            noises_mw: pairs().map(|(from, to)| noise_of_snr(from, to)).collect(),
            senses: vec![true; count * count],
            capture: ratio(wlan.capture_db),
        };
        let distances: Option<Vec<f64>> = pairs().map(|(from, to)| distance_m(from, to)).collect();
        if let Some(distances) = distances {
            for (place, ((from, _), metres)) in pairs().zip(distances).enumerate() {
                let sent_dbm = from.tx_power_dbm.unwrap_or(wlan.tx_power_dbm);
                let received_dbm = sent_dbm - wlan.path_loss_db(metres);
                new.powers_mw[place] = ratio(received_dbm);
                new.noises_mw[place] = ratio(thermal);
                new.senses[place] = received_dbm >= wlan.carrier_sense_dbm;
            }
        }
        for station in 0..count {
            new.senses[station * count + station] = true;
        }
        new
    }

    fn place(&self, from: usize, to: usize) -> usize {
        from * self.stations + to
    }

    /// Returns whether a station senses that another sends. Each senses itself.
    pub fn senses(&self, from: usize, station: usize) -> bool {
        self.senses[self.place(from, station)]
    }

    /// The power at a station of what another sends, milliwatts.
    pub fn power_mw(&self, from: usize, to: usize) -> f64 {
        self.powers_mw[self.place(from, to)]
    }

    /// The ratio of what `from` sends to noise and interference at `to`; infinite where there is neither.
    pub fn sinr(&self, from: usize, to: usize, interference_mw: f64) -> f64 {
        let place = self.place(from, to);
        self.powers_mw[place] / (self.noises_mw[place] + interference_mw)
    }

    /// Returns whether `to` can receive the beginning of a frame of `from` beside such interference: there is none, or
    /// the frame captures the receiver.
    pub fn captures(&self, from: usize, to: usize, interference_mw: f64) -> bool {
        interference_mw == 0.0 || self.sinr(from, to, interference_mw) >= self.capture
    }
}

/// The noise beside a power of one milliwatt between two stations whose SNR is given: of two, the lower.
fn noise_of_snr(from: &WlanStation, to: &WlanStation) -> f64 {
    let noise = |station: &WlanStation| station.snr_db.map_or(0.0, |snr_db| ratio(-snr_db));
    noise(from).max(noise(to))
}

/// The distance between two stations, metres, if both have positions.
fn distance_m(from: &WlanStation, to: &WlanStation) -> Option<f64> {
    Some((from.x_m? - to.x_m?).hypot(from.y_m? - to.y_m?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn propagation(settings: &str, nodes: &[&str]) -> Propagation {
        let wlan: Wlan = serde_json::from_str(settings).unwrap();
        let own = |node: &&str| wlan.stations.get(*node).copied().unwrap_or_default();
        Propagation::new(&wlan, &nodes.iter().map(own).collect::<Vec<_>>())
    }

    /// 46.7 dB at 1 m, 30 dB more for each tenfold distance: -60.7 dBm at 10 m of 16 dBm, beside -94 dBm of noise in
    /// 20 MHz with a noise figure of 7 dB.
    #[test]
    fn power_falls_with_the_logarithm_of_distance() {
        let found = propagation(
            r#"{"tx_power_dbm": 16, "stations": {"ap": {"x_m": 0, "y_m": 0}, "a": {"x_m": 6, "y_m": 8}, "b": {"x_m": -60, "y_m": -80}}}"#,
            &["ap", "a", "b"],
        );
        let snr_db = |from, to| 10.0 * found.sinr(from, to, 0.0).log10();
        assert!((snr_db(0, 1) - (16.0 - 76.7 + 94.0)).abs() < 0.02, "{}", snr_db(0, 1));
        assert!((snr_db(1, 0) - snr_db(0, 1)).abs() < 1e-9);
        assert!((snr_db(0, 2) - (snr_db(0, 1) - 30.0)).abs() < 1e-9);
        // -90.7 dBm at 100 m are below -82 dBm.
        assert!(found.senses(0, 1) && !found.senses(0, 2) && found.senses(2, 2));
        assert!(found.captures(1, 0, found.power_mw(2, 0)) && !found.captures(2, 0, found.power_mw(1, 0)));
    }

    #[test]
    fn without_positions_all_hear_each_other_and_noise_is_as_given() {
        let found = propagation(r#"{"stations": {"a": {"snr_db": 20}}}"#, &["ap", "a", "b"]);
        assert!((found.sinr(0, 1, 0.0) - 100.0).abs() < 1e-9 && (found.sinr(1, 0, 0.0) - 100.0).abs() < 1e-9);
        assert!(found.sinr(0, 2, 0.0).is_infinite());
        assert!(found.senses(1, 2) && !found.captures(1, 0, found.power_mw(2, 0)));
    }
}
