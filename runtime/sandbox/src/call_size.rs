//! How large calls are, one and all together: a guest may not make the host hold, send or record arguments without bound.

use pintle_lifecycle::call::{Call, CallError, Code};

/// What the calls of an attempt may carry together: each is kept in the journal, and in memory while the change runs.
const ALL_BYTES: u64 = 64 << 20;
/// What a text of a list takes beside its bytes.
const TEXT_BYTES: usize = 8;

/// Counts what a guest's calls carry, from its first one: a replay is counted like the run that it repeats, so that it is refused
/// the same.
#[derive(Debug, Default)]
pub(crate) struct Carried(u64);

impl Carried {
    /// The error for a call whose arguments have more than `limit` bytes, or that are too many with all before. The guest sees it
    /// and may go on.
    pub(crate) fn refuse(&mut self, call: &Call, limit: u64) -> Option<CallError> {
        let (name, bytes) = (call.name(), argument_bytes(call) as u64);
        if bytes > limit {
            let message =
                format!("the arguments of {name} have {bytes} bytes; one call may have {limit} (limits.callBytes)");
            return Some(CallError::new(Code::Invalid, message));
        }
        let carried = self.0.saturating_add(bytes);
        if carried > ALL_BYTES {
            let message = format!(
                "with the arguments of {name} the calls of this attempt have {carried} bytes; they may have {ALL_BYTES} together: \
                 split the action, or hand over less"
            );
            return Some(CallError::new(Code::Invalid, message));
        }
        self.0 = carried;
        None
    }
}

/// Bytes of text and data in the arguments of a call.
fn argument_bytes(call: &Call) -> usize {
    fn sum<'a>(texts: impl IntoIterator<Item = &'a String>) -> usize {
        texts.into_iter().map(|text| text.len() + TEXT_BYTES).sum()
    }
    match call {
        Call::Stop { components } | Call::Start { components } | Call::WaitReady { components, .. } => sum(components),
        Call::Images { component } | Call::Status { component } => component.len(),
        Call::SetVersion { target } => target.len(),
        Call::JobRun { spec } | Call::JobStart { spec } => {
            let env = spec.env.iter().map(|(name, value)| name.len() + value.len() + 2 * TEXT_BYTES).sum::<usize>();
            let optional = spec.env_from_component.iter().chain(&spec.pod_template_json);
            spec.image.len() + sum(&spec.command) + sum(&spec.args) + env + sum(optional)
        }
        Call::JobWaitAny { ids } => sum(ids),
        Call::JobCancel { id } => id.len(),
        Call::StateGet { key } | Call::StateDelete { key } => key.len(),
        Call::StatePut { key, value } => key.len() + value.0.len(),
        Call::Sync | Call::Restore | Call::Now | Call::Random { .. } | Call::Sleep { .. } => 0,
    }
}
