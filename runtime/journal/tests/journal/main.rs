//! The journal as the rest of Pintle uses it.

mod crash;
mod damage;
mod dice;
mod fossil;
mod index;
mod memory;
mod near;
mod reader;
mod sample;
mod store;
mod turns;
