//! Real modules with some bytes changed, moved, doubled or left out. `PINTLE_SEED=N` tries the same again.

use std::hash::{BuildHasher as _, RandomState};

use pintle_sandbox::AdmissionError;

use crate::components::by_hand;
use crate::rig::Rig;

/// Random numbers that follow from a seed: Vigna's splitmix64.
struct Dice(u64);

impl Dice {
    /// The seed of the environment, or a new one; prints it.
    fn new(test: &str) -> Self {
        let given = std::env::var("PINTLE_SEED").ok().and_then(|seed| seed.parse().ok());
        let seed = given.unwrap_or_else(|| RandomState::new().hash_one(test) >> 16);
        println!("{test}: PINTLE_SEED={seed}");
        Self(seed)
    }

    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) >> 1).unwrap() % end
    }

    /// A few changes, of the kinds that make counts, sizes and indices wrong.
    fn mutate(&mut self, whole: &[u8], other: &[u8]) -> Vec<u8> {
        const TELLING: [u8; 8] = [0, 1, 0x0b, 0x41, 0x42, 0x7f, 0x80, 0xff];
        let mut bytes = whole.to_vec();
        for _ in 0..=self.below(3) {
            let at = self.below(bytes.len());
            let length = self.below(64).min(bytes.len() - at);
            match self.below(6) {
                0 => bytes[at] ^= 1 << self.below(8),
                1 => bytes[at] = TELLING[self.below(TELLING.len())],
                2 => drop(bytes.drain(at..at + length.min(bytes.len() - 1))),
                3 => {
                    let doubled = bytes[at..at + length].to_vec();
                    bytes.splice(at..at, doubled);
                }
                4 => {
                    let from = self.below(other.len());
                    let taken = &other[from..other.len().min(from + length)];
                    bytes.splice(at..at, taken.iter().copied());
                }
                // The most that a LEB128 can say.
                _ => drop(bytes.splice(at..=at, [0xff, 0xff, 0xff, 0xff, 0x0f])),
            }
        }
        bytes
    }
}

#[tokio::test]
async fn no_change_of_a_module_makes_a_reader_panic() {
    let sandbox = &Rig::shared().await.sandbox;
    let mut dice = Dice::new("no_change_of_a_module_makes_a_reader_panic");
    let (small, large) = (by_hand("(table 4 funcref)", "", ""), guest_artifacts::bytes("guest-hostile"));
    let mut counts = [0, 0];
    for round in 0..3000 {
        let (whole, other) = if round % 10 == 0 { (&large, &small) } else { (&small, &large) };
        let changed = dice.mutate(whole, other);
        match sandbox.check(&changed).await {
            Ok(()) => counts[0] += 1,
            Err(error @ AdmissionError::Unreadable(_)) => panic!("round {round}: {error}"),
            Err(_) => counts[1] += 1,
        }
    }
    assert!(counts.iter().all(|count| *count > 10), "the changes are all of one kind: {counts:?}");
}

#[tokio::test]
async fn no_change_of_a_module_makes_the_compiler_or_the_guest_harm() {
    let rig = Rig::shared().await;
    let mut dice = Dice::new("no_change_of_a_module_makes_the_compiler_or_the_guest_harm");
    let whole = by_hand("(table 4 funcref)", "", "");
    let mut compiled = 0;
    for round in 0..1000 {
        if compiled == 60 {
            break;
        }
        let changed = dice.mutate(&whole, &whole);
        if rig.sandbox.check(&changed).await.is_err() {
            continue;
        }
        compiled += 1;
        if let Err(error) = rig.sandbox.admit(&changed).await {
            assert!(!matches!(error, AdmissionError::Unreadable(_)), "round {round}: {error}");
        }
    }
    assert!(compiled > 0, "no change got past the check");
}
