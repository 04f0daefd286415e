//! The probability that an MPDU is lost, from its modulation, its length and the signal-to-noise ratio.
//!
//! The channel has additive white Gaussian noise. Bits before decoding have the error probability of Gray-coded
//! BPSK and square QAM (Proakis, Digital Communications, section 5.2). The error probability after a hard-decision
//! Viterbi decoder is the union bound over the code's error events, each with the Chernoff bound `D^d`, `D =
//! sqrt(4p(1-p))` (section 8.2). This is the model of Pei and Henderson, "Validation of OFDM error rate model in
//! ns-3" (2010), which ns-3 implements as `NistErrorRateModel`. The weights of the events belong to the code with
//! the generators 133 and 171 and its punctured variants: Frenger, Orten and Ottosson, "Multi-rate convolutional
//! codes" (Chalmers, 1998), tables 3.1.1 and 3.1.2, and Haccoun and Bégin, IEEE Transactions on Communications
//! 37(11), 1989, for 5/6.
//!
//! One difference from that model: the power of the signal is shared evenly among spatial streams, of which there
//! are as many as the receiver has antennas, and which do not interfere with each other. The model is not valid
//! for channels with fading or several paths, nor for 802.11ax's LDPC codes, which need about 1 to 2 dB less. Near
//! the limit of a rate, the bound is off by a few tenths of a dB.

use nettrial_scenario::Wlan;
use statrs::function::erf::erfc;

/// The free distance of a code, and the numbers of bit errors in all events of this distance and of those that
/// follow.
type Weights = (i32, &'static [f64]);

/// The weights of the code with rate 1/2.
const HALF: Weights = (
    10,
    &[
        36.0,
        0.0,
        211.0,
        0.0,
        1404.0,
        0.0,
        11_633.0,
        0.0,
        77_433.0,
        0.0,
        502_690.0,
        0.0,
        3_322_763.0,
        0.0,
        21_292_910.0,
        0.0,
        134_365_911.0,
    ],
);
/// The weights of the code with rate 2/3.
const TWO_THIRDS: Weights =
    (6, &[3.0, 70.0, 285.0, 1276.0, 6160.0, 27_128.0, 117_019.0, 498_860.0, 2_103_891.0, 8_784_123.0]);
/// The weights of the code with rate 3/4.
const THREE_QUARTERS: Weights = (
    5,
    &[
        42.0,
        201.0,
        1492.0,
        10_469.0,
        62_935.0,
        379_644.0,
        2_253_373.0,
        13_073_811.0,
        75_152_755.0,
        428_005_675.0,
    ],
);
/// The weights of the code with rate 5/6.
const FIVE_SIXTHS: Weights = (
    4,
    &[
        92.0,
        528.0,
        8694.0,
        79_453.0,
        792_114.0,
        7_375_573.0,
        67_884_974.0,
        610_875_423.0,
        5_427_275_376.0,
        47_664_215_639.0,
    ],
);

/// The bits of a subcarrier, the code, and the number of streams among which power is shared.
#[derive(Debug, Clone, Copy)]
pub struct Errors {
    subcarrier_bits: u32,
    code: (u32, u32),
    streams: f64,
}

impl Errors {
    /// Returns the errors of a channel's modulation.
    pub fn new(wlan: &Wlan) -> Self {
        let (subcarrier_bits, code) = wlan.modulation();
        Self { subcarrier_bits, code, streams: f64::from(wlan.streams) }
    }

    /// Returns the errors of a control frame at a rate of 6, 12 or 24 Mbit/s.
    pub fn of_control(mbps: u64) -> Self {
        let subcarrier_bits = if mbps < 12 {
            1
        } else if mbps < 24 {
            2
        } else {
            4
        };
        Self { subcarrier_bits, code: (1, 2), streams: 1.0 }
    }

    /// Returns the natural logarithm of the probability that a byte is received, where `snr` is the
    /// signal-to-noise ratio of all streams together. An MPDU of n bytes is received with the probability `exp(n
    /// x)`.
    pub fn log_success(&self, snr: f64) -> f64 {
        if snr.is_infinite() {
            return 0.0;
        }
        let bits = uncoded(self.subcarrier_bits, snr / self.streams);
        8.0 * (-coded(bits, self.code)).ln_1p()
    }
}

/// Returns the probability of a bit error before decoding.
fn uncoded(subcarrier_bits: u32, snr: f64) -> f64 {
    if subcarrier_bits == 1 {
        return 0.5 * erfc(snr.sqrt());
    }
    let points = f64::from(1_u32 << subcarrier_bits);
    let edge = 2.0 * (1.0 - points.sqrt().recip()) / f64::from(subcarrier_bits);
    (edge * erfc((1.5 * snr / (points - 1.0)).sqrt())).min(0.5)
}

/// Returns the probability of a bit error after decoding, from the probability before it.
fn coded(bits: f64, (data, of): (u32, u32)) -> f64 {
    let (first, weights) = match (data, of) {
        (1, _) => HALF,
        (2, _) => TWO_THIRDS,
        (3, _) => THREE_QUARTERS,
        _ => FIVE_SIXTHS,
    };
    let distance = (4.0 * bits * (1.0 - bits)).sqrt();
    let events = weights.iter().rev().fold(0.0, |sum, weight| sum * distance + weight);
    (events * distance.powi(first) / (2.0 * f64::from(data))).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the SNR in dB at which an MPDU of 1458 B is lost with that probability.
    fn snr_db(errors: Errors, lost: f64) -> f64 {
        let (mut low, mut high) = (-10.0, 60.0);
        for _ in 0..60 {
            let middle = f64::midpoint(low, high);
            let found = -(1458.0 * errors.log_success(10_f64.powf(middle / 10.0))).exp_m1();
            *(if found > lost { &mut low } else { &mut high }) = middle;
        }
        low
    }

    fn errors(settings: &str) -> Errors {
        Errors::new(&serde_json::from_str(&format!("{{{settings}}}")).unwrap())
    }

    #[test]
    fn each_mcs_needs_more_than_the_one_before() {
        for (standard, count) in [("a", 8), ("n", 8), ("ac", 9), ("ax", 12)] {
            let needs: Vec<f64> = (0..count)
                .map(|mcs| snr_db(errors(&format!(r#""standard": "{standard}", "mcs": {mcs}"#)), 0.1))
                .collect();
            // BPSK 3/4 of 802.11a needs more than QPSK 1/2.
            let steps = needs.windows(2).enumerate().filter(|(at, _)| standard != "a" || *at != 1);
            assert!(steps.into_iter().all(|(_, pair)| pair[0] < pair[1]), "{standard}: {needs:?}");
        }
    }

    /// Four streams share the power of one.
    #[test]
    fn streams_share_the_power() {
        let one = snr_db(errors(r#""mcs": 7"#), 0.1);
        let four = snr_db(errors(r#""mcs": 7, "streams": 4"#), 0.1);
        assert!((four - one - 6.02).abs() < 0.01, "{one} {four}");
    }

    #[test]
    fn without_noise_nothing_is_lost() {
        assert!(errors("").log_success(f64::INFINITY).abs() < f64::EPSILON);
        assert!(errors("").log_success(0.0) < -1.0);
    }
}
