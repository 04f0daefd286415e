//! Random numbers that are looked up by their place instead of drawn in turn, as a scenario's seeds give them.

/// Independent numbers, each by its place: the sequence of SplitMix64 from a start that a seed and a purpose give
/// (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014).
#[derive(Debug, Clone, Copy)]
pub struct Random {
    start: u64,
}

impl Random {
    /// The numbers of `seed` for one `purpose`; another purpose has others.
    pub fn new(seed: u64, purpose: u64) -> Self {
        Self { start: mix(seed ^ mix(purpose)) }
    }

    /// The number at `place`: evenly distributed in [0, 1).
    pub fn at(&self, place: u64) -> f64 {
        let bits = spread(self.start.wrapping_add(place.wrapping_mul(GAMMA)));
        (bits >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// The distance of two states of SplitMix64: 2⁶⁴ divided by the golden ratio, and odd.
const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// The number after the state `value` in SplitMix64's sequence: a bijection that spreads every bit over all.
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
