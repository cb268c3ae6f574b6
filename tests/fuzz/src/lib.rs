//! What reads bytes from outside, given any bytes: for each such reader a function that panics where the reader breaks a promise.
//! libFuzzer calls them with what it makes up (`cargo xtask fuzz`), the suite `corpus` with what is kept (`cargo xtask test`).
//!
//! bytes → [`Target`] → nothing, or a panic

#[cfg(feature = "admission")]
pub mod admission;
pub mod documents;
pub mod record;
#[cfg(feature = "admission")]
pub mod seeds;
pub mod segment;
mod templates;

/// A reader under test.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Of its folders below `corpus` and `faults`, too.
    pub name: &'static str,
    /// Panics where a promise is broken.
    pub run: fn(&[u8]),
}

/// All readers under test.
pub const TARGETS: &[Target] = &[
    Target { name: "segment", run: segment::run },
    Target { name: "record", run: record::run },
    Target { name: "driver", run: documents::driver },
    Target { name: "release", run: documents::release },
    #[cfg(feature = "admission")]
    Target { name: "admission", run: admission::run_each },
];
