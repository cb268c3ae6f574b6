//! The journal as the rest of Pintle uses it.

mod memory;
mod sample;
mod store;
