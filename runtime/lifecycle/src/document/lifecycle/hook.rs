//! One hook: when it runs, what its failure means, what is left of it.

use super::{HookSpec, WorkSpec, work};
use crate::condition::VARIABLES;
use crate::document::driver::read_on_failure;
use crate::document::reader::{Cursor, Fields};
use crate::hook::{Cleanup, CleanupAt, CleanupPolicy, HookPhase, HookSource, OnTimeout, RunAfter};
use crate::plan::ChangeKind;

pub(in crate::document) const CHANGES: [(&str, ChangeKind); 6] = [
    ("setup", ChangeKind::Setup),
    ("upgrade", ChangeKind::Upgrade),
    ("update", ChangeKind::Update),
    ("rollback", ChangeKind::Rollback),
    ("delete", ChangeKind::Delete),
    ("test", ChangeKind::Test),
];

pub(in crate::document) const RUN_AFTER: [(&str, RunAfter); 2] =
    [("Applied", RunAfter::Applied), ("Healthy", RunAfter::Healthy)];

pub(in crate::document) const ON_TIMEOUT: [(&str, OnTimeout); 2] =
    [("Stop", OnTimeout::Stop), ("Leave", OnTimeout::Leave)];

pub(in crate::document) const POLICIES: [(&str, CleanupPolicy); 4] = [
    ("Never", CleanupPolicy::Never),
    ("OnSuccess", CleanupPolicy::OnSuccess),
    ("OnFailure", CleanupPolicy::OnFailure),
    ("OnCompletion", CleanupPolicy::OnCompletion),
];

pub(in crate::document) const CLEANUP_AT: [(&str, CleanupAt); 2] =
    [("Group", CleanupAt::Group), ("PhaseEnd", CleanupAt::PhaseEnd)];

pub(super) fn read(cursor: &Cursor<'_>, phase: HookPhase, source: HookSource) -> Option<HookSpec> {
    cursor.fields(|fields| read_fields(fields, phase, source))?
}

fn read_fields(fields: &Fields<'_>, phase: HookPhase, source: HookSource) -> Option<HookSpec> {
    let cursor = fields.cursor();
    let name = fields.required("name").and_then(|value| Some(value.placed(value.label()?)));
    let work = work::read(fields);
    let weight = fields.optional("weight").and_then(|value| value.integer(i32::MIN..=i32::MAX));
    let on = fields.optional("on").map(|value| read_changes(&value, phase));
    let condition = fields.optional("if").and_then(|value| value.condition(&VARIABLES));
    let run_after = fields.optional("runAfter").and_then(|value| read_run_after(&value, phase));
    let timeout = fields.optional("timeout");
    let on_failure = fields.optional("onFailure").and_then(|value| read_on_failure(&value));
    let on_timeout = fields.optional("onTimeout").and_then(|value| value.word(&ON_TIMEOUT));
    let cleanup = fields.optional("cleanup").and_then(|value| read_cleanup(&value));
    let flag = |name: &'static str| fields.optional(name).and_then(|value| value.boolean());
    let (before, fenced) = (flag("deleteBeforeCreation"), flag("fenced"));
    let pivot = flag("pivot");
    if let Some(value) = fields.optional("onTimeout").filter(|_| timeout.is_none()) {
        value.problem("`onTimeout` without `timeout`: there is no limit", "add `timeout:`, or remove it");
    }
    let timeout_ms = timeout.and_then(|value| value.time_limit());
    refuse_without_meaning(fields, work.as_ref().map(|(work, _)| work), on_timeout);
    let (work, templates) = work?;
    Some(HookSpec {
        phase,
        name: name?,
        source,
        weight: weight.unwrap_or_default(),
        on,
        condition: condition.unwrap_or_else(|| cursor.placed(String::new())),
        run_after: run_after.unwrap_or_default(),
        timeout_ms,
        on_failure,
        on_timeout,
        cleanup: cleanup.unwrap_or_default(),
        delete_before_creation: before.unwrap_or_default(),
        fenced: fenced.unwrap_or(true),
        pivot: pivot.unwrap_or_default(),
        work,
        templates,
        place: cursor.place(),
    })
}

/// Settings that say nothing of what the hook runs.
fn refuse_without_meaning(fields: &Fields<'_>, work: Option<&WorkSpec>, on_timeout: Option<OnTimeout>) {
    let (meaningless, why): (&[&'static str], _) = match work {
        Some(WorkSpec::Action { .. }) => {
            (&["cleanup", "deleteBeforeCreation", "fenced"], "an action leaves no workload of its own")
        }
        Some(WorkSpec::Objects { .. }) => (&["fenced"], "objects do not run"),
        Some(WorkSpec::Workload { .. }) | None => (&[], ""),
    };
    for name in meaningless {
        if let Some(value) = fields.optional(name) {
            value.problem(format!("`{name}` has no meaning here: {why}"), "remove it");
        }
    }
    if let (Some(WorkSpec::Action { .. }), Some(OnTimeout::Leave), Some(value)) =
        (work, on_timeout, fields.optional("onTimeout"))
    {
        value.problem("an action is always stopped when its time is over", "write Stop, or remove it");
    }
}

fn read_changes(list: &Cursor<'_>, phase: HookPhase) -> Vec<ChangeKind> {
    let items = list.items();
    if items.is_empty() && list.is_list() {
        list.problem("the hook is for no change at all", "name changes, or remove `on` for all that come to the phase");
    }
    let mut changes = Vec::new();
    for item in items {
        let Some(change) = item.word(&CHANGES) else { continue };
        if !phase.is_of(change) {
            let reach: Vec<&str> =
                CHANGES.iter().filter(|(_, kind)| phase.is_of(*kind)).map(|(word, _)| *word).collect();
            let cure = format!("{phase} is of {}", reach.join(", "));
            item.problem(format!("the change `{change}` never comes to {phase}"), cure);
        } else if changes.contains(&change) {
            item.problem(format!("`{change}` is here twice"), "remove one of them");
        } else {
            changes.push(change);
        }
    }
    changes
}

fn read_run_after(cursor: &Cursor<'_>, phase: HookPhase) -> Option<RunAfter> {
    let after = cursor.word(&RUN_AFTER)?;
    if phase != HookPhase::PostSync {
        cursor.problem("`runAfter` is for hooks of postSync", "remove it");
        return None;
    }
    Some(after)
}

/// A word, or all that can be said of it.
fn read_cleanup(cursor: &Cursor<'_>) -> Option<Cleanup> {
    if !cursor.is_map() {
        return Some(Cleanup { policy: cursor.word(&POLICIES)?, ..Cleanup::default() });
    }
    cursor.fields(|fields| {
        let policy = fields.required("policy").and_then(|value| value.word(&POLICIES));
        let at = fields.optional("at").and_then(|value| value.word(&CLEANUP_AT));
        let even_on_fail = fields.optional("evenOnFail").and_then(|value| value.boolean());
        Some(Cleanup { policy: policy?, at: at.unwrap_or_default(), even_on_fail: even_on_fail.unwrap_or_default() })
    })?
}
