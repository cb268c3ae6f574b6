//! The shop as its users and an upgrade meet it: real processes that play the three versions on one data directory.

mod database;
mod documents;
mod harness;
mod server;
mod worker;
