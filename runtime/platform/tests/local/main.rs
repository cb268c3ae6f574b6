//! The local platform with real processes: shells and sleeps, a Pintle and shims that are killed.

mod components;
mod crash;
mod full_disk;
mod harness;
mod hook_crash;
mod hook_env;
mod hooks;
mod jobs;
mod readiness;
