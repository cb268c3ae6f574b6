//! release.yml as tables of fields.

use super::hook::PHASES_OR_PATH;
use super::shape::{Object, Rule, Shape, may, must};
use crate::document::API_VERSION;

pub(super) static RELEASE: Object = Object {
    name: "Release",
    about: "One installation of a driver, or of plain content, for one tenant.",
    fields: &[
        must("apiVersion", Shape::Exactly(API_VERSION), "The version of all documents."),
        must("kind", Shape::Exactly("Release"), "What this file is."),
        must("metadata", Shape::Object(&METADATA), "Name and namespace."),
        must("spec", Shape::Object(&SPEC), "What is installed, and where."),
        may("lifecycle", Shape::Object(&PHASES_OR_PATH), "Hooks of this release."),
    ],
    rules: &[],
};

static METADATA: Object = Object {
    name: "ReleaseMetadata",
    about: "Name and namespace of a release.",
    fields: &[
        must("name", Shape::Label, "A DNS-1123 label, unique for the tenant."),
        may("namespace", Shape::Label, "Where objects without a namespace go.").or("\"default\""),
    ],
    rules: &[],
};

static SPEC: Object = Object {
    name: "ReleaseSpec",
    about: "What a release installs, and where.",
    fields: &[
        may("tenant", Shape::Label, "Absent: the caller's."),
        must("cluster", Shape::Exactly("local"), "`local`: the processes of this machine."),
        may("driver", Shape::Object(&DRIVER), "The driver that brings content and actions."),
        may("content", Shape::Object(&CONTENT), "Without a driver: what is applied."),
        must("version", Shape::Version, "The application's version, in quotes where it looks like a number."),
        may("values", Shape::Free, "Whatever templates, conditions and actions shall see as `values`.").or("{}"),
        may(
            "components",
            Shape::MapOf(&Shape::Object(&OVERRIDE)),
            "Settings of the driver's components, by their names.",
        ),
        may(
            "healthAssessment",
            Shape::Object(&HEALTH),
            "What `runAfter: Healthy` waits for; absent: everything is applied.",
        ),
        may("hooks", Shape::Object(&HOOKS), "Hooks that are left out, and workloads that are kept."),
        may("deletionPolicy", Shape::Object(&DELETION), "What a deletion leaves and waits for."),
        may("hold", Shape::Bool, "Start nothing new for this release.").or("false"),
    ],
    rules: &[Rule::One(&["driver", "content"])],
};

static DRIVER: Object = Object {
    name: "DriverSource",
    about: "Which driver, and where it is.",
    fields: &[
        must("name", Shape::Label, "The driver's name."),
        must("version", Shape::Version, "The driver's version."),
        must("path", Shape::Text, "The driver's folder, relative to this document's."),
    ],
    rules: &[],
};

pub(super) static CONTENT: Object = Object {
    name: "Content",
    about: "What is applied.",
    fields: &[
        must("type", Shape::Exactly("manifests"), "What it is made of."),
        must("manifests", Shape::Object(&MANIFESTS), "Manifests."),
        may("helm", Shape::NotYet, "Not yet."),
    ],
    rules: &[],
};

static MANIFESTS: Object = Object {
    name: "Manifests",
    about: "Manifests, whose strings may be templates.",
    fields: &[must("path", Shape::FilledText, "A file or folder, relative to this document's folder.")],
    rules: &[],
};

static OVERRIDE: Object = Object {
    name: "ComponentSettings",
    about: "What a release sets of a component.",
    fields: &[
        may("image", Shape::FilledText, "In place of the manifest's; `{{ app.version }}` may stand in it."),
        may("env", Shape::MapOf(&Shape::Text), "On top of the manifest's."),
    ],
    rules: &[],
};

static HEALTH: Object = Object {
    name: "HealthAssessment",
    about: "When the release is healthy.",
    fields: &[
        may("deadline", Shape::Duration, "How long objects get; absent: as long as it takes."),
        may("readyWhen", Shape::List(&Shape::Object(&READY_WHEN)), "In place of what kinds say by themselves."),
    ],
    rules: &[],
};

static READY_WHEN: Object = Object {
    name: "ReadyWhen",
    about: "What says that objects of a kind are ready.",
    fields: &[
        must("kind", Shape::FilledText, "Their kind."),
        may("apiVersion", Shape::FilledText, "Absent: any version."),
        must("expr", Shape::FilledText, "CEL over `object`."),
    ],
    rules: &[],
};

static HOOKS: Object = Object {
    name: "HookSettings",
    about: "Hooks that are left out, and workloads that are kept.",
    fields: &[
        may("retention", Shape::Object(&RETENTION), "Which workloads of hooks that stayed are kept."),
        may("skip", Shape::List(&Shape::Object(&SKIP)), "Hooks that do not run, whoever declares them."),
    ],
    rules: &[],
};

static RETENTION: Object = Object {
    name: "Retention",
    about: "Which workloads of hooks that stayed are kept; the others are deleted.",
    fields: &[
        may("keepLast", Shape::Whole(0, 1_000), "The newest of each hook; absent: any number."),
        may("maxAge", Shape::Duration, "Absent: of any age."),
    ],
    rules: &[],
};

static SKIP: Object = Object {
    name: "HookSkip",
    about: "Hooks that fit all that is said.",
    fields: &[
        may("name", Shape::Label, "The hook's name."),
        may(
            "phase",
            Shape::Words(&["preSync", "postSync", "syncFailed", "preDelete", "postDelete", "test"]),
            "The hook's phase.",
        ),
        may("weight", Shape::Whole(-(1 << 31), (1 << 31) - 1), "The hook's weight."),
    ],
    rules: &[Rule::Some(&["name", "phase", "weight"])],
};

static DELETION: Object = Object {
    name: "DeletionPolicy",
    about: "What a deletion leaves and waits for.",
    fields: &[
        may("keepWorkloads", Shape::Bool, "What the release applied stays when it goes.").or("false"),
        may("blockOnClusterUnreachable", Shape::Bool, "A deletion waits for a cluster that cannot be reached.")
            .or("true"),
    ],
    rules: &[],
};
