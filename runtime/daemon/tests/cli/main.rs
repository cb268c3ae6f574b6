//! The command line as a person uses it: the real program, real processes, a temporary state.

mod docs;
mod full_disk;
mod normal;
mod place;
mod stores;
mod terminal;
mod transcript;
mod transcripts;
