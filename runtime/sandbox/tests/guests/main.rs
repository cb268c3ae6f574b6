//! The sandbox with real guests: how they end, what they can use up, what they can see, and which modules do not come in.

mod admission;
mod bounds;
mod calls;
mod components;
mod endings;
mod isolation;
mod keeping;
mod rig;
mod script;
