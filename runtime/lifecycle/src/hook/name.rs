//! Names and labels of the workloads of hooks.

use serde_json::{Map, Value};

use super::HookPhase;
use crate::digest::sha256;
use crate::plan::Target;

/// The scheduling gate of a fenced Pod.
pub const FENCE: &str = "pintle.dev/fence";

/// Characters of a hook's name that are in the name of its workload.
const NAME: usize = 32;

/// The name of a hook's workload: `{phase}-{name}-{hash}`, phase in lower case, the hook's name cut to 32 characters, and the first
/// 8 hex digits of a sha256 over release, hook and `of`, which is the render with its generation or, where a phase is of a
/// change, the change; with the attempt after the first. Never longer than 63, and always a valid value of a label.
#[must_use]
pub fn workload_name(target: &Target, phase: HookPhase, hook: &str, of: &str, attempt: u32) -> String {
    let mut text = format!("{}\0{}\0{phase}\0{hook}\0{of}", target.release, target.uid);
    if attempt > 1 {
        text.push(char::from(0));
        text += &attempt.to_string();
    }
    let hash = sha256(text.as_bytes());
    let short: String = hook.chars().take(NAME).collect();
    format!("{}-{}-{}", phase.as_str().to_ascii_lowercase(), short.trim_end_matches('-'), &hash[..8])
}

/// What the workload of a hook is found by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Labels<'a> {
    pub release_uid: &'a str,
    pub phase: HookPhase,
    pub hook: &'a str,
    /// `shop-12`.
    pub change: &'a str,
}

impl Labels<'_> {
    /// The labels by their keys.
    #[must_use]
    pub fn pairs(&self) -> [(&'static str, &str); 5] {
        [
            ("pintle.dev/release-uid", self.release_uid),
            ("pintle.dev/hook-phase", self.phase.as_str()),
            ("pintle.dev/hook-name", self.hook),
            ("pintle.dev/change", self.change),
            ("app.kubernetes.io/managed-by", "pintle"),
        ]
    }

    /// Sets name and labels of a manifest; labels of its author with the same keys are replaced.
    pub fn set(&self, manifest: &mut Value, name: &str, namespace: &str) {
        let Some(manifest) = manifest.as_object_mut() else { return };
        let metadata = object(manifest, "metadata");
        metadata.insert("name".into(), name.into());
        metadata.insert("namespace".into(), namespace.into());
        let labels = object(metadata, "labels");
        labels.extend(self.pairs().map(|(key, value)| (key.to_owned(), Value::from(value))));
    }
}

fn object<'a>(map: &'a mut Map<String, Value>, key: &str) -> &'a mut Map<String, Value> {
    let value = map.entry(key).or_insert_with(|| Map::new().into());
    if !value.is_object() {
        *value = Map::new().into();
    }
    value.as_object_mut().expect("it was made one")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::ids::{ReleaseKey, is_label};

    fn target(release: &str) -> Target {
        Target {
            release: ReleaseKey::new("acme", release).unwrap(),
            uid: "0011223344556677".into(),
            namespace: "default".into(),
            cluster: "local".into(),
            images: String::new(),
        }
    }

    #[test]
    fn a_name_has_phase_hook_and_hash() {
        let name = workload_name(&target("shop"), HookPhase::PreSync, "migrate", "ab", 1);
        assert_eq!(name.rsplit_once('-').unwrap().0, "presync-migrate");
        assert_eq!(name.rsplit_once('-').unwrap().1.len(), 8);
        // A cut never leaves two dashes.
        let long = format!("{}-b", "a".repeat(31));
        let name = workload_name(&target("shop"), HookPhase::SyncFailed, &long, "ab", 1);
        assert_eq!(name.rsplit_once('-').unwrap().0, format!("syncfailed-{}", "a".repeat(31)));
    }

    proptest! {
        #[test]
        fn names_are_labels_stable_and_of_one_hook_alone(
            release in "[a-z]([a-z0-9-]{0,61}[a-z0-9])?",
            hook in "[a-z]([a-z0-9-]{0,61}[a-z0-9])?",
            other in "[a-z]([a-z0-9-]{0,61}[a-z0-9])?",
            phase in prop::sample::select(HookPhase::ALL.to_vec()),
            of in ".{0,20}",
            attempt in 1_u32..9,
        ) {
            let target = target(&release);
            let name = workload_name(&target, phase, &hook, &of, attempt);
            prop_assert!(name.len() <= 63 && is_label(&name), "{name}");
            prop_assert_eq!(&name, &workload_name(&target, phase, &hook, &of, attempt));
            prop_assert_ne!(&name, &workload_name(&target, phase, &hook, &of, attempt + 1));
            prop_assert_ne!(&name, &workload_name(&target, phase, &hook, &format!("{of}1"), attempt));
            if other != hook {
                prop_assert_ne!(&name, &workload_name(&target, phase, &other, &of, attempt));
            }
        }
    }

    #[test]
    fn labels_of_ours_replace_those_of_the_author_and_leave_the_others() {
        let labels = Labels { release_uid: "00", phase: HookPhase::PreSync, hook: "migrate", change: "shop-3" };
        let mut manifest = json!({"metadata": {"labels": {"a": "b", "pintle.dev/change": "mine"}}});
        labels.set(&mut manifest, "x", "default");
        assert_eq!(
            manifest["metadata"],
            json!({"name": "x", "namespace": "default", "labels": {
                "a": "b", "pintle.dev/release-uid": "00", "pintle.dev/hook-phase": "preSync", "pintle.dev/hook-name": "migrate",
                "pintle.dev/change": "shop-3", "app.kubernetes.io/managed-by": "pintle"
            }})
        );
    }
}
