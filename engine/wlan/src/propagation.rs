//! The power at which stations hear each other.
//!
//! There are three kinds of channels. Without positions or SNR, all stations hear each other equally and there is
//! no noise. With an SNR of stations, the same holds, but there is noise between each station and the access
//! point. With positions, the received power is the transmit power minus a log-distance path loss, and the noise
//! is that of the channel's width. There is no fading and no shadowing, and antennas have no gain. A station's
//! reception of another one is therefore constant and, with equal transmit powers, the same in both directions.

use nettrial_scenario::{Wlan, WlanStation};

/// The power density of thermal noise in dBm per hertz.
const THERMAL_DBM: f64 = -174.0;

/// The power of each station at each other one, and the noise there.
#[derive(Debug)]
pub struct Propagation {
    stations: usize,
    /// The received power in milliwatts, by sender and then by receiver.
    powers_mw: Vec<f64>,
    /// The noise at the receiver in milliwatts, in the same order.
    noises_mw: Vec<f64>,
    /// True if the receiver senses the sender, in the same order. Each station senses itself.
    senses: Vec<bool>,
    /// The ratio to all other power at which a frame is received despite others.
    capture: f64,
}

/// Returns the ratio of that many decibels.
fn ratio(db: f64) -> f64 {
    10_f64.powf(db / 10.0)
}

impl Propagation {
    /// Returns the powers among these stations, the access point first, for settings that have passed their
    /// scenario's checks.
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

    /// Returns the index of a pair of stations.
    fn place(&self, from: usize, to: usize) -> usize {
        from * self.stations + to
    }

    /// Returns whether a station senses the transmissions of another one. Each station senses itself.
    pub fn senses(&self, from: usize, station: usize) -> bool {
        self.senses[self.place(from, station)]
    }

    /// Returns the power in milliwatts at which `to` receives `from`.
    pub fn power_mw(&self, from: usize, to: usize) -> f64 {
        self.powers_mw[self.place(from, to)]
    }

    /// Returns the ratio of the power of `from` to noise and interference at `to`; infinite if there is neither.
    pub fn sinr(&self, from: usize, to: usize, interference_mw: f64) -> f64 {
        let place = self.place(from, to);
        self.powers_mw[place] / (self.noises_mw[place] + interference_mw)
    }

    /// Returns whether `to` can receive the beginning of a frame of `from` despite this interference: there is
    /// none, or the frame captures the receiver.
    pub fn captures(&self, from: usize, to: usize, interference_mw: f64) -> bool {
        interference_mw == 0.0 || self.sinr(from, to, interference_mw) >= self.capture
    }
}

/// Returns the noise for a received power of one milliwatt between two stations with a given SNR. If both have
/// one, the lower one counts.
fn noise_of_snr(from: &WlanStation, to: &WlanStation) -> f64 {
    let noise = |station: &WlanStation| station.snr_db.map_or(0.0, |snr_db| ratio(-snr_db));
    noise(from).max(noise(to))
}

/// Returns the distance between two stations in metres, if both have positions.
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

    /// The path loss is 46.7 dB at 1 m and 30 dB more for each tenfold distance. A power of 16 dBm is received at
    /// 10 m with -60.7 dBm, with a noise of -94 dBm in 20 MHz at a noise figure of 7 dB.
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
        // The power of -90.7 dBm at 100 m is below -82 dBm.
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
