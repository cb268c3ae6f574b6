//! Where the library runs: a thread with a stack that holds whatever the bounds let through, with panics caught. A stack that runs
//! over cannot be caught; 2 MiB, what threads have else, run over at a sum of 1,400 terms.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use super::budget::Spent;

/// Bytes of stack. They become real memory only where they are used.
pub const STACK: usize = 64 << 20;

/// Why there is no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lost {
    Spent,
    Panicked,
    NoThread,
}

/// What `work` gives.
pub(super) fn run<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T, Lost> {
    thread::scope(|scope| {
        let caught = move || catch_unwind(AssertUnwindSafe(work)).map_err(|payload| lost(&*payload));
        let builder = thread::Builder::new().name("condition".into()).stack_size(STACK);
        let thread = builder.spawn_scoped(scope, caught).map_err(|_| Lost::NoThread)?;
        thread.join().unwrap_or(Err(Lost::Panicked))
    })
}

fn lost(payload: &(dyn Any + Send)) -> Lost {
    if payload.is::<Spent>() { Lost::Spent } else { Lost::Panicked }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::condition::budget;

    #[test]
    fn whatever_ends_the_work_comes_back() {
        assert_eq!(run(|| 7), Ok(7));
        assert_eq!(run(|| -> u8 { std::panic::resume_unwind(Box::new("a bug")) }), Err(Lost::Panicked));
        let spend = || {
            budget::fill();
            budget::pay(budget::STEPS);
            budget::pay(1);
        };
        assert_eq!(run(spend), Err(Lost::Spent));
    }

    #[test]
    fn the_stack_is_as_large_as_it_says() {
        // Frames of at least 1 KiB: 32 MiB in all.
        fn deep(levels: u32) -> u32 {
            let frame = std::hint::black_box([1_u8; 1024]);
            if levels == 0 { 0 } else { u32::from(frame[levels as usize % 1024]) + deep(levels - 1) }
        }
        assert_eq!(run(|| deep(32 << 10)), Ok(32 << 10));
    }
}
