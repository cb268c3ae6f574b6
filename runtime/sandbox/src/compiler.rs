//! When modules are read and compiled: a few at once, so that guests keep the rest of the machine. What is small has a lane of its
//! own, so that it never waits for what is large.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A module of more bytes is read in the lane of large ones. Modules of Rust have some 100 KiB.
const LIGHT_BYTES: usize = 2 << 20;
/// A module that takes longer is compiled in the lane of large ones, in microseconds as they are estimated.
const LIGHT_WEIGHT: usize = 5_000_000;

/// The turns of reading and of compiling.
pub(crate) struct Compiler {
    reading: Lanes,
    compiling: Lanes,
}

/// One at a time in each.
struct Lanes {
    light: Arc<Semaphore>,
    heavy: Arc<Semaphore>,
}

impl Compiler {
    pub(crate) fn new() -> Self {
        Self { reading: Lanes::new(), compiling: Lanes::new() }
    }

    /// Waits for the turn to read so many bytes.
    pub(crate) async fn reading(&self, bytes: usize) -> OwnedSemaphorePermit {
        self.reading.turn(bytes <= LIGHT_BYTES).await
    }

    /// Waits for the turn to compile a module of this weight.
    pub(crate) async fn compiling(&self, weight: usize) -> OwnedSemaphorePermit {
        self.compiling.turn(weight <= LIGHT_WEIGHT).await
    }
}

impl Lanes {
    fn new() -> Self {
        Self { light: Arc::new(Semaphore::new(1)), heavy: Arc::new(Semaphore::new(1)) }
    }

    async fn turn(&self, light: bool) -> OwnedSemaphorePermit {
        let lane = if light { &self.light } else { &self.heavy };
        Arc::clone(lane).acquire_owned().await.expect("the semaphore is never closed")
    }
}
