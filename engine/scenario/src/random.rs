//! Random numbers that follow from a scenario's seeds, and are looked up by their place instead of drawn in turn.

/// Independent random numbers by their place: the sequence of SplitMix64, whose start follows from a seed and a
/// purpose (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014).
#[derive(Debug, Clone, Copy)]
pub struct Random {
    start: u64,
}

impl Random {
    /// Creates the numbers of `seed` for one `purpose`. Other purposes have other numbers.
    pub fn new(seed: u64, purpose: u64) -> Self {
        Self { start: mix(seed ^ mix(purpose)) }
    }

    /// Returns the number at `place`, which is uniformly distributed in [0, 1).
    pub fn at(&self, place: u64) -> f64 {
        let bits = spread(self.start.wrapping_add(place.wrapping_mul(GAMMA)));
        (bits >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// The difference between two successive states of SplitMix64: 2⁶⁴ divided by the golden ratio, rounded to an odd
/// number.
const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// Returns the output after the state `value` in SplitMix64's sequence. This is a bijection in which every bit
/// affects all bits.
pub fn spread(value: u64) -> u64 {
    mix(value.wrapping_add(GAMMA))
}

/// SplitMix64's output function.
fn mix(mut value: u64) -> u64 {
    value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first outputs of the reference implementation (Vigna, splitmix64.c) from the state 1234567.
    #[test]
    fn the_sequence_is_that_of_splitmix64() {
        let numbers = [0u64, 1, 2].map(|place| spread(place.wrapping_mul(GAMMA).wrapping_add(1_234_567)));
        let reference = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        assert_eq!(numbers, reference);
    }
}
