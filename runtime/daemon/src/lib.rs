//! Pintle embedded in a program, and the command line over it.
//!
//! request → change → drive → end
//!
//! [`Pintle`] holds the store of a folder, the local platform and the sandbox. [`request::Request`] turns documents into the plan of a
//! change; [`drive::Driver`] drives a change, fresh or recovered, to its end. The command line only asks and shows.

pub mod again;
pub mod cli;
pub mod config;
pub mod drive;
pub mod embedded;
pub mod error;
mod health;
mod hook;
mod input_file;
mod looking;
pub mod lookup;
mod nearest;
pub mod queue;
pub mod reading;
pub mod request;
pub mod restore;
pub mod state_dir;
pub mod story;
mod sync;
mod templates;
mod tend;
pub mod weakening;
mod who;
mod witness;

pub use embedded::{OpenOptions, Pintle};
pub use error::Error;
