//! Randomness with a printed seed: `PINTLE_SEED=7 cargo test …` runs the same again.

use std::hash::{BuildHasher, RandomState};

/// How often a test tries what it cannot try everywhere: `PINTLE_ROUNDS`, or else so often.
pub fn rounds(default: u64) -> u64 {
    std::env::var("PINTLE_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(default)
}

/// Random numbers that follow from a seed.
pub struct Dice(u64);

impl Dice {
    /// The seed of the environment, or a new one; prints it.
    pub fn new(test: &str) -> Self {
        let given = std::env::var("PINTLE_SEED").ok().and_then(|seed| seed.parse().ok());
        let seed = given.unwrap_or_else(|| RandomState::new().hash_one(test) >> 16);
        println!("{test}: PINTLE_SEED={seed}");
        Self::of(seed)
    }

    /// What follows from this seed.
    pub fn of(seed: u64) -> Self {
        Self(seed.wrapping_mul(2).wrapping_add(1))
    }

    /// A number below `end`, which is not 0.
    pub fn below(&mut self, end: u64) -> u64 {
        // Vigna's splitmix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }
}
