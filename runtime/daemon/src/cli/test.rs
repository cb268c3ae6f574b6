//! `pintle test`: runs the test hooks of a release.

use super::carry_out::{Wanted, carry_out};
use super::exit::Exit;
use super::global::Global;
use super::session::{Following, Session};
use super::skips::Skips;
use crate::again::What;
use crate::error::Error;
use crate::lookup;

/// Run the test hooks of a release
///
/// Runs the driver's test actions and the hooks of the phase `test`, as they were when the release changed last, and nothing else.
/// Refused while a change of the release is open.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  pintle test shop")]
pub struct Test {
    /// The release
    name: String,
    #[command(flatten)]
    skips: Skips,
    #[command(flatten)]
    following: Following,
}

impl Test {
    pub async fn run(self, global: &Global) -> Result<Exit, Error> {
        let release = global.release(&self.name)?;
        let mut session = Session::open(global, self.following)?;
        lookup::live_release(session.pintle.journal(), &release).await?;
        let wanted = Wanted::Again { release, what: What::Tested, skip: self.skips.skip_hooks };
        carry_out(&mut session, wanted).await
    }
}
