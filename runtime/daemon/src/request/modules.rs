//! What a sandbox says of the modules of a driver.

use pintle_lifecycle::planning::Module;
use pintle_sandbox::{ActionInfo, AdmissionError, Sandbox, SandboxError};

use crate::error::Error;

/// Whether modules shall be there when the change runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    Yes,
    /// They are only looked at.
    No,
}

/// The inner error says what is wrong with the module, the outer one why this machine cannot tell.
pub(super) async fn admit(sandbox: &Sandbox, bytes: &[u8], keep: Keep) -> Result<Result<Module, String>, Error> {
    let names = |actions: &[ActionInfo]| actions.iter().map(|action| action.name.clone()).collect();
    let undoes = |actions: &[ActionInfo]| {
        actions.iter().filter(|action| action.has_undo).map(|action| action.name.clone()).collect()
    };
    let looked = match keep {
        Keep::Yes => sandbox.admit(bytes).await.map(|module| Module {
            digest: module.digest.clone(),
            wit: module.wit.clone(),
            actions: names(&module.actions),
            undoes: undoes(&module.actions),
        }),
        Keep::No => sandbox.inspect(bytes).await.map(|module| Module {
            actions: names(&module.actions),
            undoes: undoes(&module.actions),
            digest: module.digest,
            wit: module.wit,
        }),
    };
    match looked {
        // A full disk is no fault of the module.
        Err(AdmissionError::File(error)) => Err(Error::Sandbox(SandboxError::File(error))),
        looked => Ok(looked.map_err(|error| error.to_string())),
    }
}
