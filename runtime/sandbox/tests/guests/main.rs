//! The sandbox with real guests: how they end, what they can use up, what they can see, and which modules do not come in.
//!
//! | what a hostile module tries | where it is shown to end well |
//! |---|---|
//! | endless loop: alone, in a call's allocator, after the return, while others wait, in a replay | `bounds` |
//! | a loop while a call of its own waits: asynchronous functions are not taken | `admission` |
//! | memory over two memories, tables, deep recursion, 100 MiB in an argument | `bounds`, `admission`, `endings` |
//! | panic, error, exit, what has no answer | `endings` |
//! | floods of the log, of lines of nothing, of output, of calls | `bounds`, `replay` |
//! | a call without a grant, other calls in a replay, one more, one fewer | `replay`, and the crash matrix |
//! | another build on the journal of an old run | `verdicts` |
//! | time and chance | `isolation`, `replay` |
//! | too large, cut off, no component, another world or version, 10,000 exports | `admission` |
//! | bytes changed at random | `mutations` |
//! | compilations that explode, in time, memory or stack | `bombs` |
//!
//! After each, the next guest runs well (`endings`), memory and threads are there again, and others went on meanwhile (`bounds`,
//! `bombs`).

mod admission;
mod alone;
mod bombs;
mod bounds;
mod calls;
mod components;
mod endings;
mod isolation;
mod keeping;
mod life;
mod mutations;
mod replay;
mod rig;
mod script;
mod verdicts;
