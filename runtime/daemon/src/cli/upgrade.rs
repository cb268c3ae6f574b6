//! `pintle upgrade`: the document that a release has, at another version of the application.

use super::carry_out::{Wanted, carry_out};
use super::exit::Exit;
use super::global::Global;
use super::session::{Following, Session};
use super::skips::Skips;
use crate::error::Error;
use crate::lookup;
use crate::request::{Keep, Request, last_plan};

/// Change a release to another version of its application
///
/// Takes the document that the release has and changes nothing of it but `spec.version`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  pintle upgrade shop --to 1.1.0")]
pub struct Upgrade {
    /// The release
    name: String,
    /// The version of the application
    #[arg(long, value_name = "VERSION")]
    to: String,
    #[command(flatten)]
    skips: Skips,
    #[command(flatten)]
    following: Following,
}

impl Upgrade {
    pub async fn run(self, global: &Global) -> Result<Exit, Error> {
        let release = global.release(&self.name)?;
        let mut session = Session::open(global, self.following)?;
        let view = lookup::live_release(session.pintle.journal(), &release).await?;
        let last = last_plan(session.pintle.journal(), &view).await?;
        let request = Request::at_version(&last, &self.to).without(self.skips.skip_hooks);
        let mut request = request.with_images_of(session.pintle.config());
        request.admit(|| session.pintle.sandbox().cloned(), Keep::Yes, session.pintle.journal()).await?;
        carry_out(&mut session, Wanted::Document(Box::new(request))).await
    }
}
