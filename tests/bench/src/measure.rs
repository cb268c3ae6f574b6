//! Rounds, medians and spread: what is measured and what it is measured against take turns, so that a disk or a machine that is
//! slower for a while is so for both.

use std::time::{Duration, Instant};

/// Values of one side, one a round.
#[derive(Debug, Clone, Default)]
pub struct Rounds(Vec<f64>);

/// A thing and the raw limit that it is measured against.
#[derive(Debug, Clone, Default)]
pub struct Pair {
    pub value: Rounds,
    pub baseline: Rounds,
}

impl Rounds {
    pub fn push(&mut self, value: f64) {
        self.0.push(value);
    }

    pub fn median(&self) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        match sorted.len() {
            0 => f64::NAN,
            count if count % 2 == 1 => sorted[count / 2],
            count => f64::midpoint(sorted[count / 2 - 1], sorted[count / 2]),
        }
    }

    /// The distance of the extremes, as a part of the median.
    pub fn spread(&self) -> f64 {
        let least = self.0.iter().copied().fold(f64::INFINITY, f64::min);
        let most = self.0.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        (most - least) / self.median()
    }
}

impl Pair {
    pub fn push(&mut self, value: f64, baseline: f64) {
        self.value.push(value);
        self.baseline.push(baseline);
    }

    /// The median of what each round's ratio was: a round has both sides on the same machine.
    pub fn ratio(&self) -> f64 {
        let mut ratios = Rounds::default();
        for (value, baseline) in self.value.0.iter().zip(&self.baseline.0) {
            ratios.push(value / baseline);
        }
        ratios.median()
    }
}

/// How long something took so far.
#[derive(Debug, Clone, Copy)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    #[expect(clippy::disallowed_methods, reason = "the benches read the clock here")]
    pub fn start() -> Self {
        Self(Instant::now())
    }

    pub fn elapsed(self) -> Duration {
        self.0.elapsed()
    }

    /// Seconds.
    pub fn seconds(self) -> f64 {
        self.elapsed().as_secs_f64()
    }
}

/// A count of things in so many seconds, a second.
#[expect(clippy::cast_precision_loss, reason = "counts here are far below 2^52")]
pub fn rate(count: usize, seconds: f64) -> f64 {
    count as f64 / seconds
}

#[expect(clippy::cast_precision_loss, reason = "counts here are far below 2^52")]
pub fn count(count: u64) -> f64 {
    count as f64
}
