//! Settings of a release beside what it installs: hooks that it leaves out and keeps, its health, and what its end leaves.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::document::problem::Placed;
use crate::document::reader::Cursor;
use crate::hook::{Hook, HookPhase};

/// `spec.hooks`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HookSettings {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retention: Option<Retention>,
    /// Hooks that do not run, whoever declares them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skip: Vec<Placed<HookSkip>>,
}

/// Which workloads of hooks that stayed are kept; the others are deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Retention {
    /// The newest of each hook; none: any number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep_last: Option<u32>,
    /// None: of any age.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_age_ms: Option<u64>,
}

/// Hooks that fit all that is said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookSkip {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<HookPhase>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<i32>,
}

/// `spec.deletionPolicy`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DeletionPolicy {
    /// Whether what the release applied stays when the release goes.
    pub keep_workloads: bool,
    /// Whether a deletion waits for a cluster that cannot be reached.
    pub block_on_cluster_unreachable: bool,
}

/// `spec.healthAssessment`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HealthAssessment {
    /// How long objects get to become healthy; none: as long as it takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
    /// What says that objects of a kind are ready, in place of what their kind says.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ready_when: Vec<ReadyWhen>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReadyWhen {
    pub kind: String,
    /// None: of any version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_version: Option<String>,
    /// In CEL over `object`, compiled while it was read.
    pub expr: Placed<String>,
}

/// The variable of what says that an object is ready.
const OBJECT: [&str; 1] = ["object"];

/// More would be no bound any more.
const KEEP_MAX: u32 = 1_000;

impl Default for DeletionPolicy {
    fn default() -> Self {
        Self { keep_workloads: false, block_on_cluster_unreachable: true }
    }
}

impl fmt::Display for HookSkip {
    /// As it would be asked for: `phase=preSync,name=migrate`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let phase = self.phase.map(|phase| format!("phase={phase}"));
        let name = self.name.as_ref().map(|name| format!("name={name}"));
        let weight = self.weight.map(|weight| format!("weight={weight}"));
        f.write_str(&[phase, name, weight].into_iter().flatten().collect::<Vec<_>>().join(","))
    }
}

impl HookSkip {
    /// Whether the hook is left out.
    #[must_use]
    pub fn fits(&self, hook: &Hook) -> bool {
        self.name.as_ref().is_none_or(|name| *name == hook.name)
            && self.phase.is_none_or(|phase| phase == hook.phase)
            && self.weight.is_none_or(|weight| weight == hook.weight)
    }
}

pub(super) fn read_hooks(cursor: &Cursor<'_>) -> Option<HookSettings> {
    cursor.fields(|fields| {
        let retention = fields.optional("retention").and_then(|value| read_retention(&value));
        let skip = fields.optional("skip").map(|list| list.items()).unwrap_or_default();
        HookSettings { retention, skip: skip.iter().filter_map(read_skip).collect() }
    })
}

fn read_retention(cursor: &Cursor<'_>) -> Option<Retention> {
    cursor.fields(|fields| Retention {
        keep_last: fields.optional("keepLast").and_then(|value| value.integer(0..=KEEP_MAX)),
        max_age_ms: fields.optional("maxAge").and_then(|value| value.duration()),
    })
}

fn read_skip(cursor: &Cursor<'_>) -> Option<Placed<HookSkip>> {
    let phases = HookPhase::ALL.map(|phase| (phase.as_str(), phase));
    let skip = cursor.fields(|fields| HookSkip {
        name: fields.optional("name").and_then(|value| value.label()),
        phase: fields.optional("phase").and_then(|value| value.word(&phases)),
        weight: fields.optional("weight").and_then(|value| value.integer(i32::MIN..=i32::MAX)),
    })?;
    if cursor.is_empty() {
        cursor.problem("nothing says which hooks are left out", "add name, phase or weight");
        return None;
    }
    Some(cursor.placed(skip))
}

pub(super) fn read_deletion(cursor: &Cursor<'_>) -> Option<DeletionPolicy> {
    cursor.fields(|fields| {
        let default = DeletionPolicy::default();
        let keep = fields.optional("keepWorkloads").and_then(|value| value.boolean());
        let block = fields.optional("blockOnClusterUnreachable").and_then(|value| value.boolean());
        DeletionPolicy {
            keep_workloads: keep.unwrap_or(default.keep_workloads),
            block_on_cluster_unreachable: block.unwrap_or(default.block_on_cluster_unreachable),
        }
    })
}

pub(super) fn read_health(cursor: &Cursor<'_>) -> Option<HealthAssessment> {
    cursor.fields(|fields| {
        let deadline_ms = fields.optional("deadline").and_then(|value| value.time_limit());
        let list = fields.optional("readyWhen").map(|list| list.items()).unwrap_or_default();
        HealthAssessment { deadline_ms, ready_when: list.iter().filter_map(read_ready_when).collect() }
    })
}

fn read_ready_when(cursor: &Cursor<'_>) -> Option<ReadyWhen> {
    cursor.fields(|fields| {
        let kind = fields.required("kind").and_then(|value| value.filled_text());
        let api_version = fields.optional("apiVersion").and_then(|value| value.filled_text());
        let expr = fields.required("expr").and_then(|value| {
            value.filled_text()?;
            value.condition(&OBJECT)
        });
        Some(ReadyWhen { kind: kind?, api_version, expr: expr? })
    })?
}
