//! What a sandbox says of the modules of a driver.

use pintle_lifecycle::planning::Module;
use pintle_sandbox::{ActionInfo, Sandbox};

/// Whether modules shall be there when the change runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    Yes,
    /// They are only looked at.
    No,
}

pub(super) async fn admit(sandbox: &Sandbox, bytes: &[u8], keep: Keep) -> Result<Module, String> {
    let names = |actions: &[ActionInfo]| actions.iter().map(|action| action.name.clone()).collect();
    let looked = match keep {
        Keep::Yes => sandbox.admit(bytes).await.map(|module| Module {
            digest: module.digest.clone(),
            wit: module.wit.clone(),
            actions: names(&module.actions),
        }),
        Keep::No => sandbox.inspect(bytes).await.map(|module| Module {
            actions: names(&module.actions),
            digest: module.digest,
            wit: module.wit,
        }),
    };
    looked.map_err(|error| error.to_string())
}
