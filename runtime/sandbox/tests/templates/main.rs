//! Templates in the sandbox: what they give, what hostile ones use up, and that the module is what its source makes.
//!
//! The compiled module stays in the target directory, so that only the first run compiles it.

mod built;
mod cases;
mod hostile;
mod mutations;
mod rig;
