//! `pintle delete`: removes a release with everything that it runs.

use super::carry_out::{Wanted, carry_out};
use super::exit::Exit;
use super::global::Global;
use super::session::{Following, Session};
use super::skips::Skips;
use crate::again::What;
use crate::error::Error;
use crate::lookup;

/// Remove a release with everything that it runs
///
/// Runs the delete hooks as they were when the release changed last: neither the driver's files nor the document are needed. The record of its
/// changes stays.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  pintle delete shop")]
pub struct Delete {
    /// The release
    name: String,
    #[command(flatten)]
    skips: Skips,
    #[command(flatten)]
    following: Following,
}

impl Delete {
    pub async fn run(self, global: &Global) -> Result<Exit, Error> {
        let release = global.release(&self.name)?;
        let mut session = Session::open(global, self.following)?;
        lookup::live_release(session.pintle.journal(), &release).await?;
        let wanted = Wanted::Again { release, what: What::Gone, skip: self.skips.skip_hooks };
        carry_out(&mut session, wanted).await
    }
}
