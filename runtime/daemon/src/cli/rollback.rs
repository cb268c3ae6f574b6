//! `pintle rollback`: brings back what an earlier revision of a release was.

use super::carry_out::{Wanted, carry_out};
use super::exit::Exit;
use super::global::Global;
use super::session::{Following, Session};
use super::skips::Skips;
use crate::again::What;
use crate::error::Error;
use crate::lookup;

/// Bring a release back to an earlier revision
///
/// Applies the content that the revision had, as a new render, and runs the rollback hooks that were frozen with it. Without
/// `--to`: the last revision before what the newest change brought. `pintle get changes` shows the revisions.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  pintle rollback shop           back to the revision before
  pintle rollback shop --to 3    back to revision 3")]
pub struct Rollback {
    /// The release
    name: String,
    /// The revision
    #[arg(long, value_name = "REVISION")]
    to: Option<u64>,
    #[command(flatten)]
    skips: Skips,
    #[command(flatten)]
    following: Following,
}

impl Rollback {
    pub async fn run(self, global: &Global) -> Result<Exit, Error> {
        let release = global.release(&self.name)?;
        let mut session = Session::open(global, self.following)?;
        lookup::live_release(session.pintle.journal(), &release).await?;
        let wanted = Wanted::Again { release, what: What::BackTo(self.to), skip: self.skips.skip_hooks };
        carry_out(&mut session, wanted).await
    }
}
