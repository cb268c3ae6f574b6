//! Hooks as tables of fields.

use super::pod::{JOB_TEMPLATE, OBJECT_METADATA, POD_TEMPLATE};
use super::shape::{Field, Object, Rule, Shape, may, must, words};
use crate::document::API_VERSION;
use crate::document::driver::ON_FAILURE;
use crate::document::lifecycle::{CHANGES, CLEANUP_AT, ON_TIMEOUT, POLICIES, RUN_AFTER, TYPES};

const TYPE: [&str; 4] = words(&TYPES);
const CHANGE: [&str; 6] = words(&CHANGES);
const AFTER: [&str; 2] = words(&RUN_AFTER);
const TIMEOUT: [&str; 2] = words(&ON_TIMEOUT);
const POLICY: [&str; 4] = words(&POLICIES);
const AT: [&str; 2] = words(&CLEANUP_AT);
pub(super) const FAILURE: [&str; 3] = words(&ON_FAILURE);

pub(super) static LIFECYCLE: Object = Object {
    name: "Lifecycle",
    about: "Hooks in a file of their own, which a release names with `lifecycle: {path: …}`.",
    fields: &[
        must("apiVersion", Shape::Exactly(API_VERSION), "The version of all documents."),
        must("kind", Shape::Exactly("Lifecycle"), "What this file is."),
        must("lifecycle", Shape::Object(&PHASES), "Hooks by their phases."),
    ],
    rules: &[],
};

pub(super) static PHASES: Object = Object {
    name: "Phases",
    about: "Hooks by their phases.",
    fields: &[PRE_SYNC, POST_SYNC, SYNC_FAILED, PRE_DELETE, POST_DELETE, TEST],
    rules: &[],
};

pub(super) static PHASES_OR_PATH: Object = Object {
    name: "PhasesOrPath",
    about: "Hooks by their phases, or the file that holds them.",
    fields: &[
        PRE_SYNC,
        POST_SYNC,
        SYNC_FAILED,
        PRE_DELETE,
        POST_DELETE,
        TEST,
        may(
            "path",
            Shape::FilledText,
            "A file of kind Lifecycle that holds the hooks, relative to this document's folder.",
        ),
    ],
    rules: &[Rule::Alone("path")],
};

const LIST: Shape = Shape::List(&Shape::Object(&HOOK));
const PRE_SYNC: Field = may("preSync", LIST, "Before the content is applied; nothing is applied while one runs.");
const POST_SYNC: Field = may("postSync", LIST, "After the content was applied.");
const SYNC_FAILED: Field = may("syncFailed", LIST, "After the content could not be applied; started, not waited for.");
const PRE_DELETE: Field = may("preDelete", LIST, "Before what the release applied is removed.");
const POST_DELETE: Field = may("postDelete", LIST, "After it was removed.");
const TEST: Field = may("test", LIST, "When a person asks for a test; never part of a deployment.");

const WEIGHT: Shape = Shape::Whole(-(1 << 31), (1 << 31) - 1);

static HOOK: Object = Object {
    name: "Hook",
    about: "Something that runs in a phase.",
    fields: &[
        must("name", Shape::Label, "A DNS-1123 label, unique in its phase."),
        must("type", Shape::Words(&TYPE), "What it runs. Each type has a field of its own."),
        may("jobTemplate", Shape::Object(&JOB_TEMPLATE), "The Job of a hook of type Job."),
        may("podTemplate", Shape::Object(&POD_TEMPLATE), "The Pod of a hook of type Pod."),
        may("objects", Shape::Filled(&Shape::Object(&OBJECT)), "The objects that a hook of type Objects makes."),
        may(
            "readyWhen",
            Shape::FilledText,
            "Of a hook of type Objects: CEL over `object`, true of each object that is ready.",
        ),
        may("action", Shape::Object(&ACTION), "The action of a hook of type Action."),
        may("weight", WEIGHT, "Groups run by ascending weight, the hooks of one group in parallel.").or("0"),
        may(
            "on",
            Shape::Filled(&Shape::Words(&CHANGE)),
            "For which changes it runs; absent: all that come to the phase.",
        ),
        may(
            "if",
            Shape::Text,
            "CEL over release, cluster, change, render, values, app. Where it is false or has no answer, the hook is skipped.",
        ),
        may(
            "runAfter",
            Shape::Words(&AFTER),
            "Of postSync alone: once everything is applied, or once everything is healthy.",
        )
        .or("\"Applied\""),
        may(
            "timeout",
            Shape::Duration,
            "From the creation of its workload, as in 500ms, 30s or 1h30m; absent: no limit.",
        ),
        may("onFailure", Shape::Words(&FAILURE), "What the change does when the hook fails; absent: it goes on."),
        may(
            "onTimeout",
            Shape::Words(&TIMEOUT),
            "What becomes of the workload at the timeout; absent: Leave, and Stop for actions.",
        ),
        may("cleanup", Shape::WordsOr(&POLICY, &CLEANUP), "When its workload is deleted.").or("\"Never\""),
        may("deleteBeforeCreation", Shape::Bool, "Delete its earlier workloads first, and wait until they are gone.")
            .or("false"),
        may(
            "fenced",
            Shape::Bool,
            "Start the workload only once its uid is recorded; false where another controller owns `suspend`.",
        )
        .or("true"),
        may("pivot", Shape::Bool, "After this hook a change only goes forward.").or("false"),
    ],
    rules: &[
        Rule::When {
            field: "type",
            is: &["Job"],
            needs: &["jobTemplate"],
            forbids: &["podTemplate", "objects", "readyWhen", "action"],
        },
        Rule::When {
            field: "type",
            is: &["Pod"],
            needs: &["podTemplate"],
            forbids: &["jobTemplate", "objects", "readyWhen", "action"],
        },
        Rule::When {
            field: "type",
            is: &["Objects"],
            needs: &["objects"],
            forbids: &["jobTemplate", "podTemplate", "action", "fenced"],
        },
        Rule::When {
            field: "type",
            is: &["Action"],
            needs: &["action"],
            forbids: &[
                "jobTemplate",
                "podTemplate",
                "objects",
                "readyWhen",
                "cleanup",
                "deleteBeforeCreation",
                "fenced",
            ],
        },
        Rule::With("onTimeout", "timeout"),
    ],
};

static ACTION: Object = Object {
    name: "HookAction",
    about: "An action of the driver's modules.",
    fields: &[
        must(
            "location",
            Shape::Location,
            "The module's file in the driver's folder and the action in it: `actions.wasm::notify`.",
        ),
        may("args", Shape::Free, "What the action gets; strings may be templates.").or("{}"),
    ],
    rules: &[],
};

static CLEANUP: Object = Object {
    name: "Cleanup",
    about: "When a workload is deleted.",
    fields: &[
        must("policy", Shape::Words(&POLICY), "After which ends it is deleted."),
        may("at", Shape::Words(&AT), "After its group, or after the last group of the phase.").or("\"Group\""),
        may("evenOnFail", Shape::Bool, "Also where the phase stops because of a failure.").or("false"),
    ],
    rules: &[],
};

static OBJECT: Object = Object {
    name: "HookObject",
    about: "An object that a hook makes. The cluster `local` has ConfigMaps. Strings may be templates.",
    fields: &[
        must("apiVersion", Shape::Exactly("v1"), "The version of the kind."),
        must("kind", Shape::Exactly("ConfigMap"), "What it is."),
        must("metadata", Shape::Object(&OBJECT_METADATA), "Its name."),
        may("data", Shape::MapOf(&Shape::Text), "What is in it."),
    ],
    rules: &[],
};
