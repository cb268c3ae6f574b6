//! driver.yml as tables of fields.

use super::hook::{FAILURE, PHASES};
use super::release::CONTENT;
use super::shape::{Object, Rule, Shape, may, must, words};
use crate::document::API_VERSION;
use crate::document::driver::{ATTEMPTS_MAX, HOOKS, MODES};

const HOOK: [&str; 5] = words(&HOOKS);
const MODE: [&str; 3] = words(&MODES);

pub(super) static DRIVER: Object = Object {
    name: "Driver",
    about: "An application's components, content, actions and the permissions that these ask for.",
    fields: &[
        must("apiVersion", Shape::Exactly(API_VERSION), "The version of all documents."),
        must("kind", Shape::Exactly("Driver"), "What this file is."),
        must("metadata", Shape::Object(&METADATA), "Name and version."),
        must("spec", Shape::Object(&SPEC), "What the driver brings."),
    ],
    rules: &[],
};

static METADATA: Object = Object {
    name: "DriverMetadata",
    about: "Name and version of a driver.",
    fields: &[
        must("name", Shape::Label, "A DNS-1123 label."),
        must("version", Shape::Version, "The driver's own version, in quotes where it looks like a number."),
    ],
    rules: &[],
};

static SPEC: Object = Object {
    name: "DriverSpec",
    about: "What a driver brings.",
    fields: &[
        may(
            "components",
            Shape::List(&Shape::Object(&COMPONENT)),
            "Names for the workloads that actions stop, start and look at.",
        ),
        must("content", Shape::Object(&CONTENT), "What is applied; inside the driver's folder."),
        may(
            "actions",
            Shape::List(&Shape::Object(&ACTION)),
            "Actions of a change: of its hooks setup, upgrade, rollback, delete, test.",
        ),
        may("permissions", Shape::Object(&PERMISSIONS), "What actions may do; nothing else is possible."),
        may("lifecycle", Shape::Object(&PHASES), "Hooks that every release of this driver gets."),
    ],
    rules: &[],
};

static COMPONENT: Object = Object {
    name: "Component",
    about: "A named part of the application.",
    fields: &[
        must("name", Shape::Label, "A DNS-1123 label, unique in the driver."),
        must("workload", Shape::Object(&WORKLOAD), "The object of the content that it is."),
        may("container", Shape::Label, "The component's container among several."),
    ],
    rules: &[],
};

static WORKLOAD: Object = Object {
    name: "Workload",
    about: "An object of the content.",
    fields: &[
        must("kind", Shape::Text, "Its kind: Process on the cluster `local`."),
        must("name", Shape::Text, "Its name; may be a template."),
    ],
    rules: &[],
};

static ACTION: Object = Object {
    name: "Action",
    about: "An action of a mode of a hook.",
    fields: &[
        must("name", Shape::ActionName, "Unique in the driver."),
        must(
            "hook",
            Shape::Words(&HOOK),
            "In which change it runs. Actions of preSync, postSync and syncFailed are hooks under `lifecycle`.",
        ),
        may("mode", Shape::Words(&MODE), "Before, at or after the core of the hook. A test has no mode."),
        must(
            "location",
            Shape::Location,
            "The module's file in the driver's folder and the action in it: `actions.wasm::upgrade`.",
        ),
        may("description", Shape::Text, "For people."),
        may("timeout", Shape::Duration, "As in 500ms, 30s or 1h30m."),
        may("onFailure", Shape::Words(&FAILURE), "What the change does when the action fails.").or("\"Fail\""),
        may("retry", Shape::Object(&RETRY), "New attempts after a failure."),
        may("pivot", Shape::Bool, "After this action a change only goes forward.").or("false"),
        may("if", Shape::NotYet, "Not yet: hooks under `lifecycle` have conditions."),
    ],
    rules: &[
        Rule::When { field: "hook", is: &["setup", "upgrade", "rollback", "delete"], needs: &["mode"], forbids: &[] },
        Rule::When { field: "hook", is: &["test"], needs: &[], forbids: &["mode"] },
    ],
};

static RETRY: Object = Object {
    name: "Retry",
    about: "New attempts after a failure.",
    fields: &[
        must("attempts", Shape::Whole(1, ATTEMPTS_MAX as i64), "All tries, the first included."),
        may("backoff", Shape::Duration, "Between tries.").or("\"0s\""),
    ],
    rules: &[],
};

const NAMES: Shape = Shape::List(&Shape::Text);

static PERMISSIONS: Object = Object {
    name: "Permissions",
    about: "What actions may do.",
    fields: &[
        may("components", Shape::Object(&COMPONENTS), "Names of components, by what may be done with them."),
        may("releases", Shape::Object(&RELEASES), "What may be done with the release."),
        may("jobs", Shape::Object(&JOBS), "Jobs that actions may run."),
        may("http", Shape::Object(&HTTP), "Requests that actions may send."),
        may("state", Shape::Bool, "The release's store of small values.").or("false"),
    ],
    rules: &[],
};

static COMPONENTS: Object = Object {
    name: "ComponentPermissions",
    about: "Names of components, by what may be done with them.",
    fields: &[
        may("stop", NAMES, "May be stopped."),
        may("start", NAMES, "May be started."),
        may("images", NAMES, "Their images may be read."),
    ],
    rules: &[],
};

static RELEASES: Object = Object {
    name: "ReleasePermissions",
    about: "What may be done with the release.",
    fields: &[may("set-version", Shape::Bool, "The change's content may be applied from an action.").or("false")],
    rules: &[],
};

static JOBS: Object = Object {
    name: "JobPermissions",
    about: "Jobs that actions may run.",
    fields: &[
        may("images", NAMES, "Their images; `*` stands for any text."),
        may("envFrom", NAMES, "Components whose environment a Job may get."),
        may("apiToken", Shape::False, "Not yet.").or("false"),
    ],
    rules: &[],
};

static HTTP: Object = Object {
    name: "HttpPermissions",
    about: "Requests that actions may send.",
    fields: &[may("hosts", Shape::NotYet, "Not yet.")],
    rules: &[],
};
