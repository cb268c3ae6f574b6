//! Everything visible beside what the reference says: views of the release and of its changes, their histories, the world.

use std::collections::BTreeSet;
use std::fmt::Debug;

use pintle_journal::MemoryJournal;
use pintle_journal::journal::{ChangeQuery, Journal};
use pintle_lifecycle::ending::ChangeState;
use pintle_lifecycle::hook::HookPhase;
use pintle_lifecycle::record::Record;
use pintle_lifecycle::status::{ConditionStatus, HookState, Lifecycle};
use pintle_lifecycle::view::ReleaseView;

use super::left::{Brought, Entry, Left};
use super::machine::Machine;
use super::ops::Outcome;
use super::reference::Reference;
use crate::plans::{release, workload};

pub fn same<T: PartialEq + Debug>(what: &str, seen: &T, expected: &T) -> Result<(), String> {
    if seen == expected { Ok(()) } else { Err(format!("{what} is {seen:?}, and not {expected:?}")) }
}

/// What the world and the views say that changes left, where the reference does not.
pub async fn look(machine: &Machine) -> Result<Left, String> {
    let Some(view) = view(machine).await? else { return Ok(Left::default()) };
    let world = machine.rig.world.release(&view.uid);
    let brought = |applied: &pintle_lifecycle::plan::RenderRef| Brought {
        version: applied.version.clone(),
        generation: applied.generation,
    };
    Ok(Left {
        applied: view.applied.as_ref().map(brought),
        applied_by: view.applied_by.as_ref().map(|change| change.number),
        worker: world.as_ref().map_or(0, |world| world.replicas(&workload("task-worker"))),
        stopped: view.stopped.get("task-worker").and_then(|stopped| stopped.since.rsplit_once('-')?.1.parse().ok()),
        entries: entries(&view.lifecycle),
        objects: objects(machine, &view.uid),
        apply_fails: false,
        is_unsure: false,
    })
}

pub async fn compare(machine: &Machine, reference: &Reference) -> Result<(), String> {
    same("what happened twice", &machine.rig.world.doubled(), &Vec::new())?;
    changes(machine, reference).await?;
    folds(machine).await?;
    let view = view(machine).await?;
    same("whether there is a release", &view.is_some(), &(reference.uid > 0))?;
    let Some(view) = view else { return Ok(()) };
    of_release(&view, reference)?;
    let is_amid = reference.open.is_some_and(|open| reference.change(open).state == ChangeState::Running);
    if is_amid {
        return Ok(());
    }
    of_left(&view, reference)?;
    of_world(machine, &view, reference)
}

async fn view(machine: &Machine) -> Result<Option<ReleaseView>, String> {
    machine.rig.journal.release(&release()).await.map_err(|error| error.to_string())
}

/// States of all changes: what has ended stays as it ended.
async fn changes(machine: &Machine, reference: &Reference) -> Result<(), String> {
    let mut views = machine.rig.journal.changes(ChangeQuery::default()).await.map_err(|error| error.to_string())?;
    views.sort_by_key(|view| view.key.number);
    same("the count of changes", &views.len(), &reference.changes.len())?;
    for (view, change) in views.iter().zip(&reference.changes) {
        let what = |of: &str| format!("{of} of {}, {}", view.key, view.kind);
        same(&what("state"), &view.state, &change.state)?;
        same(&what("kind"), &view.kind, &change.kind)?;
        same(&what("generation"), &view.generation, &change.generation)?;
        same(&what("version"), &view.to_version, &change.to.version)?;
        same(&what("end"), &view.finished.is_some(), &change.state.is_final())?;
        same(&what("going on"), &view.hooks_run, &false)?;
        let history = machine.rig.history(&view.key).await;
        same(&what("state in the history"), &history.state(), &change.state)?;
        same(&what("count of records"), &history.next, &view.records)?;
        if !change.begun {
            same(&what("count of steps"), &history.steps().count(), &0)?;
        }
        for (step, made) in history.steps().flat_map(|(id, step)| step.attempts.iter().map(move |made| (id, made))) {
            let is_held = made.finished.is_some() || !change.state.is_final();
            same(&what(&format!("an end of {step}")), &is_held, &true)?;
        }
    }
    Ok(())
}

/// The views are what a fresh fold of the records makes, which went through their JSON.
async fn folds(machine: &Machine) -> Result<(), String> {
    let records = machine.rig.journal.stored_records();
    let read = |record: &Record| -> Result<Record, serde_json::Error> {
        serde_json::from_str(&serde_json::to_string(record)?)
    };
    let read: Result<Vec<Record>, _> = records.iter().map(|record| read(record)).collect();
    let fresh = MemoryJournal::of(read.map_err(|error| error.to_string())?).map_err(|error| error.to_string())?;
    let of = async |journal: &MemoryJournal| {
        let (release, changes) = (journal.release(&release()).await, journal.changes(ChangeQuery::default()).await);
        Ok::<_, String>((release.map_err(|e| e.to_string())?, changes.map_err(|e| e.to_string())?))
    };
    same("a fresh fold", &of(&fresh).await?, &of(&machine.rig.journal).await?)
}

fn of_release(view: &ReleaseView, reference: &Reference) -> Result<(), String> {
    let last = reference.change(reference.last);
    same("count of changes", &view.changes, &(reference.changes.len() as u64))?;
    same("newest", &view.newest().number, &reference.newest)?;
    same("open", &view.open.as_ref().map(|change| change.number), &reference.open)?;
    let waiting = reference.waiting.last().map(|(number, _)| *number);
    same("waiting", &view.waiting.as_ref().map(|change| change.number), &waiting)?;
    same("last", &view.last().number, &reference.last)?;
    same("last kind", &view.last_kind, &last.kind)?;
    same("last state", &view.last_state, &last.state)?;
    same("generation", &view.generation, &reference.generation)?;
    same("revision", &view.revision, &(reference.revisions.len() as u64))?;
    same("deleted", &view.deleted, &reference.deleted)?;
    same("uid", &view.uid, &format!("{:016x}", reference.uid))
}

fn of_left(view: &ReleaseView, reference: &Reference) -> Result<(), String> {
    let left = &reference.left;
    let applied = view.applied.as_ref().map(|applied| (applied.version.as_str(), applied.generation));
    same("applied", &applied, &left.applied.as_ref().map(|applied| (applied.version.as_str(), applied.generation)))?;
    same("applied by", &view.applied_by.as_ref().map(|change| change.number), &left.applied_by)?;
    let stopped: Vec<String> = view.stopped.values().map(|stopped| stopped.since.clone()).collect();
    let since: Vec<String> = left.stopped.iter().map(|since| release().change(*since).to_string()).collect();
    same("stopped since", &stopped, &since)?;
    let expected: Vec<_> = left.entries.iter().map(|(phase, entries)| (*phase, entries.clone())).collect();
    let seen: Vec<_> = entries(&view.lifecycle).into_iter().collect();
    same("lifecycle", &seen, &expected)?;
    let is_bad = |entry: &Entry| entry.result != Outcome::Succeeds;
    let any = left.entries.values().flatten().any(is_bad);
    same(
        "LifecycleSucceeded",
        &view.lifecycle.succeeded(),
        &if any { ConditionStatus::False } else { ConditionStatus::True },
    )?;
    same("summary", &view.lifecycle.summary(view.generation), &summary(left, reference.generation))
}

fn summary(left: &Left, generation: u64) -> String {
    let current: Vec<(HookPhase, &Entry)> = left
        .entries
        .iter()
        .flat_map(|(phase, entries)| entries.iter().map(|entry| (*phase, entry)))
        .filter(|(_, entry)| entry.generation == generation)
        .collect();
    match (current.iter().find(|(_, entry)| entry.result != Outcome::Succeeds), current.last()) {
        (Some((phase, _)), _) => format!("Failed:{phase}"),
        (None, Some((phase, _))) => format!("Completed:{phase}"),
        (None, None) => "N/A".to_owned(),
    }
}

fn of_world(machine: &Machine, view: &ReleaseView, reference: &Reference) -> Result<(), String> {
    let left = &reference.left;
    if left.is_unsure {
        return Ok(());
    }
    let world = machine.rig.world.release(&view.uid);
    let applied = world.as_ref().and_then(|world| world.applied.as_ref());
    same("what runs", &applied, &view.applied.as_ref())?;
    let replicas = |name: &str| world.as_ref().map_or(0, |world| world.replicas(&workload(name)));
    same("replicas of the worker", &replicas("task-worker"), &left.worker)?;
    same("replicas of the server", &replicas("server"), &u32::from(left.applied.is_some()))?;
    same("objects of hooks", &objects(machine, &view.uid), &left.objects)?;
    let newest = reference.change(reference.newest);
    if newest.loose {
        return Ok(());
    }
    let order: Vec<String> = machine.rig.world.hook_order().iter().map(ToString::to_string).collect();
    let began = order[machine.events_before..].iter().filter_map(|event| event.strip_prefix("began "));
    let (beside, began): (Vec<&str>, Vec<&str>) = began.partition(|name| name.starts_with("syncFailed/"));
    in_groups("hooks", &began, &newest.began)?;
    in_groups("hooks of syncFailed", &beside, &newest.began_beside)
}

/// Groups begin one after another; in one all begin in any order.
fn in_groups(what: &str, seen: &[&str], groups: &[Vec<String>]) -> Result<(), String> {
    let mut left = seen;
    let mut found: Vec<Vec<String>> = Vec::new();
    for group in groups {
        let (mine, rest) = left.split_at(group.len().min(left.len()));
        found.push(mine.iter().map(|name| (*name).to_owned()).collect());
        left = rest;
    }
    let sorted = |groups: &[Vec<String>]| -> Vec<BTreeSet<String>> {
        groups.iter().map(|group| group.iter().cloned().collect()).collect()
    };
    same(what, &(sorted(&found), left.len()), &(sorted(groups), 0))
}

fn entries(lifecycle: &Lifecycle) -> std::collections::BTreeMap<HookPhase, Vec<Entry>> {
    let entry = |entry: &pintle_lifecycle::status::HookEntry| Entry {
        name: entry.name.clone(),
        result: match entry.state {
            HookState::Succeeded => Outcome::Succeeds,
            HookState::TimedOut => Outcome::Never,
            HookState::Running | HookState::Failed => Outcome::Fails,
        },
        generation: entry.generation,
        change: entry.change.rsplit_once('-').and_then(|(_, number)| number.parse().ok()).unwrap_or(0),
        attempt: entry.attempt,
    };
    lifecycle.phases().map(|(phase, entries)| (phase, entries.iter().map(entry).collect())).collect()
}

/// Hooks whose objects are there, by the names that the objects have.
fn objects(machine: &Machine, uid: &str) -> BTreeSet<(HookPhase, String)> {
    let world = machine.rig.world.release(uid);
    let all = world.iter().flat_map(|world| world.hook_objects.keys());
    let of = |name: &str| {
        let (phase, name) = name.strip_suffix(uid)?.strip_suffix('-')?.rsplit_once('-')?;
        Some((HookPhase::ALL.into_iter().find(|known| known.step_name() == phase)?, name.to_owned()))
    };
    all.filter_map(|id| of(&id.name)).collect()
}
