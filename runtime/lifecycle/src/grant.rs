//! What an action may do: the permissions of driver.yml, asked before each call. A denial names the call and the line of
//! driver.yml that would allow it.

use serde::{Deserialize, Serialize};

use crate::call::{Call, CallError, Code, JobSpec};

/// `permissions` of driver.yml.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Permissions {
    pub components: ComponentPermissions,
    pub releases: ReleasePermissions,
    pub jobs: JobPermissions,
    pub state: bool,
}

/// Component names, by what may be done with them. Whether a component is ready may always be asked.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ComponentPermissions {
    pub stop: Vec<String>,
    pub start: Vec<String>,
    pub images: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct ReleasePermissions {
    /// Covers `releases.sync` too: both apply the plan's render.
    pub set_version: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct JobPermissions {
    /// Images; a `*` stands for any text.
    pub images: Vec<String>,
    /// Components whose environment a Job may get.
    pub env_from: Vec<String>,
}

impl Permissions {
    /// # Errors
    /// `denied`, with the line that would allow the call.
    pub fn check(&self, call: &Call) -> Result<(), CallError> {
        match call {
            Call::Stop { components } => each(components, &self.components.stop, call, "components", "stop"),
            Call::Start { components } => each(components, &self.components.start, call, "components", "start"),
            Call::Images { component } => {
                each(std::slice::from_ref(component), &self.components.images, call, "components", "images")
            }
            Call::SetVersion { .. } | Call::Sync if !self.releases.set_version => {
                Err(denied(call, "releases: {set-version: true}"))
            }
            Call::JobRun { spec } | Call::JobStart { spec } => self.check_job(spec, call),
            Call::StateGet { .. } | Call::StatePut { .. } | Call::StateDelete { .. } if !self.state => {
                Err(denied(call, "state: true"))
            }
            _ => Ok(()),
        }
    }

    fn check_job(&self, spec: &JobSpec, call: &Call) -> Result<(), CallError> {
        if !self.jobs.images.iter().any(|pattern| matches(pattern, &spec.image)) {
            return Err(denied(call, &format!("jobs: {{images: [\"{}\"]}}", spec.image)));
        }
        match &spec.env_from_component {
            Some(component) => each(std::slice::from_ref(component), &self.jobs.env_from, call, "jobs", "envFrom"),
            None => Ok(()),
        }
    }
}

fn each(asked: &[String], granted: &[String], call: &Call, group: &str, list: &str) -> Result<(), CallError> {
    match asked.iter().find(|name| !granted.contains(name)) {
        Some(name) => Err(denied(call, &format!("{group}: {{{list}: [{name}]}}"))),
        None => Ok(()),
    }
}

fn denied(call: &Call, line: &str) -> CallError {
    CallError::new(
        Code::Denied,
        format!("{} is not granted; under `spec.permissions` of driver.yml this would allow it: `{line}`", call.name()),
    )
}

/// Whether `text` fits `pattern`, in which each `*` stands for any text.
fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(image: &str, env_from: Option<&str>) -> Call {
        Call::JobRun {
            spec: JobSpec { image: image.into(), env_from_component: env_from.map(Into::into), ..JobSpec::default() },
        }
    }

    #[test]
    fn a_denial_names_the_call_and_the_line() {
        let error = Permissions::default().check(&Call::Stop { components: vec!["worker".into()] }).unwrap_err();
        assert_eq!(error.code, Code::Denied);
        assert!(error.message.starts_with("components.stop is not granted"), "{error}");
        assert!(error.message.ends_with("`components: {stop: [worker]}`"), "{error}");
    }

    #[test]
    fn nothing_is_granted_by_default_but_looking_and_the_journal() {
        let none = Permissions::default();
        for call in [
            Call::Start { components: vec!["a".into()] },
            Call::Images { component: "a".into() },
            Call::SetVersion { target: "1".into() },
            Call::Sync,
            job("a:1", None),
            Call::StateGet { key: "k".into() },
        ] {
            assert!(none.check(&call).is_err(), "{call:?}");
        }
        for call in [Call::Now, Call::Sleep { ms: 1 }, Call::Status { component: "a".into() }] {
            assert!(none.check(&call).is_ok(), "{call:?}");
        }
    }

    #[test]
    fn a_job_needs_its_image_and_the_component_it_copies_from() {
        let some = Permissions {
            jobs: JobPermissions { images: vec!["reg:5000/shop/*".into()], env_from: vec!["server".into()] },
            ..Permissions::default()
        };
        assert!(some.check(&job("reg:5000/shop/a:1", Some("server"))).is_ok());
        assert!(some.check(&job("reg:5000/other/a:1", None)).is_err());
        assert!(
            some.check(&job("reg:5000/shop/a:1", Some("worker"))).unwrap_err().message.contains("envFrom: [worker]")
        );
    }

    #[test]
    fn a_star_stands_for_any_text_and_nothing_else_does() {
        for (pattern, text, fits) in [
            ("a", "a", true),
            ("a", "ab", false),
            ("a*", "ab", true),
            ("*", "", true),
            ("a*c*e", "abcde", true),
            ("a*c*e", "abde", false),
            ("a*ab", "ab", false),
            ("a.c", "abc", false),
        ] {
            assert_eq!(matches(pattern, text), fits, "{pattern} {text}");
        }
    }
}
