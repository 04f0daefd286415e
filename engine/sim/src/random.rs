//! Random numbers that are looked up, not drawn in turn.

/// Independent numbers, each by its place: SplitMix64's sequence from a start that its seed and its purpose give
/// (Steele, Lea and Flood 2014, "Fast splittable pseudorandom number generators").
#[derive(Debug, Clone, Copy)]
pub struct Random {
    start: u64,
}

impl Random {
    /// The numbers of `seed` for one `purpose`, which no other has.
    pub fn new(seed: u64, purpose: u64) -> Self {
        Self { start: mix(seed ^ mix(purpose)) }
    }

    /// The number at `place`: evenly distributed in [0, 1).
    pub fn at(&self, place: u64) -> f64 {
        const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;
        let bits = mix(self.start.wrapping_add(place.wrapping_add(1).wrapping_mul(GAMMA)));
        (bits >> 11) as f64 / (1u64 << 53) as f64
    }
}

fn mix(mut value: u64) -> u64 {
    value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}
