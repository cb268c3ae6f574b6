//! How large one call is: a guest may not make the host hold, send or record arguments without bound.

use pintle_lifecycle::call::{Call, CallError, Code};

/// The error for a call whose arguments have more than `limit` bytes. The guest sees it and may go on.
pub(crate) fn too_large(call: &Call, limit: u64) -> Option<CallError> {
    let bytes = argument_bytes(call) as u64;
    (bytes > limit).then(|| {
        let name = call.name();
        CallError::new(
            Code::Invalid,
            format!("the arguments of {name} have {bytes} bytes; one call may have {limit} (limits.callBytes)"),
        )
    })
}

/// Bytes of text and data in the arguments of a call.
fn argument_bytes(call: &Call) -> usize {
    fn sum<'a>(texts: impl IntoIterator<Item = &'a String>) -> usize {
        texts.into_iter().map(String::len).sum()
    }
    match call {
        Call::Stop { components } | Call::Start { components } | Call::WaitReady { components, .. } => sum(components),
        Call::Images { component } | Call::Status { component } => component.len(),
        Call::SetVersion { target } => target.len(),
        Call::JobRun { spec } | Call::JobStart { spec } => {
            let env = spec.env.iter().map(|(name, value)| name.len() + value.len()).sum::<usize>();
            let optional = spec.env_from_component.iter().chain(&spec.pod_template_json);
            spec.image.len() + sum(&spec.command) + sum(&spec.args) + env + sum(optional)
        }
        Call::JobWaitAny { ids } => sum(ids),
        Call::JobCancel { id } => id.len(),
        Call::StateGet { key } | Call::StateDelete { key } => key.len(),
        Call::StatePut { key, value } => key.len() + value.0.len(),
        Call::Sync | Call::Now | Call::Random { .. } | Call::Sleep { .. } => 0,
    }
}
