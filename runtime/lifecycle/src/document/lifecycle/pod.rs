//! Templates of Jobs and Pods as the cluster `local` can run them: containers become processes. What cannot be done there is refused
//! by name, and never silently dropped.

use std::collections::BTreeMap;

use super::container;
use crate::document::manifest;
use crate::document::reader::{Cursor, Fields};

/// A day: no process gets longer to end.
const GRACE_MAX: u32 = 86_400;

/// Fields of Jobs that the cluster `local` has nothing for.
const OF_JOBS: [&str; 8] = [
    "backoffLimitPerIndex",
    "completionMode",
    "managedBy",
    "manualSelector",
    "maxFailedIndexes",
    "podFailurePolicy",
    "podReplacementPolicy",
    "successPolicy",
];

/// Fields of Pods that the cluster `local` has nothing for.
const OF_PODS: [&str; 34] = [
    "activeDeadlineSeconds",
    "affinity",
    "automountServiceAccountToken",
    "dnsConfig",
    "dnsPolicy",
    "enableServiceLinks",
    "ephemeralContainers",
    "hostAliases",
    "hostIPC",
    "hostNetwork",
    "hostPID",
    "hostUsers",
    "hostname",
    "imagePullSecrets",
    "nodeName",
    "nodeSelector",
    "os",
    "overhead",
    "preemptionPolicy",
    "priority",
    "priorityClassName",
    "readinessGates",
    "resourceClaims",
    "resources",
    "runtimeClassName",
    "schedulerName",
    "schedulingGates",
    "securityContext",
    "serviceAccount",
    "serviceAccountName",
    "setHostnameAsFQDN",
    "shareProcessNamespace",
    "subdomain",
    "tolerations",
];

pub(super) fn read_job(spec: &Cursor<'_>) {
    spec.fields(|fields| {
        fields.optional("backoffLimit").map(|value| value.integer(0..=1_000_u32));
        fields.optional("activeDeadlineSeconds").map(|value| value.integer(1..=u32::MAX));
        fields.optional("suspend").map(|value| value.boolean());
        for name in ["completions", "parallelism"] {
            if let Some(value) =
                fields.optional(name).filter(|value| value.integer(0..=u32::MAX).is_some_and(|n| n != 1))
            {
                value.problem("a Job on the cluster `local` runs once, and one at a time", "write 1, or remove it");
            }
        }
        fields.optional("ttlSecondsAfterFinished").map(|value| value.integer(0..=u32::MAX));
        fields.refuse(&["selector"], |_| ("a Job's selector is made for it".to_owned(), "remove it".to_owned()));
        fields.refuse(&OF_JOBS, impossible);
        let Some(template) = fields.required("template") else { return };
        template.fields(|fields| {
            if let Some(metadata) = fields.optional("metadata") {
                manifest::read_free_metadata(&metadata, manifest::Of::Pod);
            }
            if let Some(spec) = fields.required("spec") {
                read_pod(&spec);
            }
        });
    });
}

pub(super) fn read_pod(spec: &Cursor<'_>) {
    spec.fields(|fields| {
        read_restart_policy(fields);
        fields.optional("terminationGracePeriodSeconds").map(|value| value.integer(0..=GRACE_MAX));
        let mut names = BTreeMap::new();
        for init in fields.optional("initContainers").iter().flat_map(Cursor::items) {
            container::read(&init, &mut names);
        }
        if let Some(containers) = fields.required("containers") {
            let items = containers.items();
            if items.is_empty() && containers.is_list() {
                containers.problem("there are no containers", "add one with name, image and command");
            }
            for item in &items {
                container::read(item, &mut names);
            }
        }
        fields.refuse(&["volumes", "topologySpreadConstraints"], impossible);
        fields.refuse(&OF_PODS, impossible);
    });
}

/// Without one, a Pod would be started again for ever, and a cluster refuses the Job.
fn read_restart_policy(fields: &Fields<'_>) {
    let Some(value) = fields.required("restartPolicy") else { return };
    if value.word(&[("Never", false), ("OnFailure", false), ("Always", true)]) == Some(true) {
        value.problem("a hook that is always started again never ends", "write Never or OnFailure");
    }
}

/// What is said of a field that the cluster `local` has nothing for.
pub(super) fn impossible(name: &str) -> (String, String) {
    let why = match name {
        "volumes" | "volumeMounts" | "volumeDevices" => {
            ("", "take `env` and `envFrom`, or files of the image's folder")
        }
        "resources" | "resizePolicy" | "overhead" => (": it limits nothing", "remove it"),
        "livenessProbe" | "readinessProbe" | "startupProbe" => (": a hook is judged by how it ends", "remove it"),
        "activeDeadlineSeconds" => ("", "give the hook a `timeout`"),
        "serviceAccount" | "serviceAccountName" => (": processes run as who started Pintle", "remove it"),
        _ => ("", "remove it"),
    };
    (format!("`{name}` cannot be had on the cluster `local`{}", why.0), why.1.to_owned())
}
