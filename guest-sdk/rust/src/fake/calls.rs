//! How a call reads in a test: the WIT's name of it, then its arguments.

use std::fmt::Write as _;
use std::time::Duration;

use crate::bindings::pintle::hooks::jobs::JobSpec;

/// `components.stop server, worker`
pub(super) fn named(call: &str, names: &[String]) -> String {
    format!("{call} {}", names.join(", "))
}

/// `… within 30s`
pub(super) fn within(call: &str, milliseconds: u64) -> String {
    format!("{call} within {}", span(milliseconds))
}

/// `30s`
pub(super) fn span(milliseconds: u64) -> String {
    format!("{:?}", Duration::from_millis(milliseconds))
}

/// `jobs.run shop/server:1.1.0 [shop db migrate] env-from=server`: what is not set is not printed.
pub(super) fn job(call: &str, spec: &JobSpec) -> String {
    let mut line = format!("{call} {}", spec.image);
    let mut add = |part: std::fmt::Arguments<'_>| {
        write!(line, " {part}").expect("writing to a String does not fail");
    };
    if !spec.command.is_empty() {
        add(format_args!("[{}]", spec.command.join(" ")));
    }
    if !spec.args.is_empty() {
        add(format_args!("args=[{}]", spec.args.join(" ")));
    }
    for (key, value) in &spec.env {
        add(format_args!("{key}={value}"));
    }
    if let Some(component) = &spec.env_from_component {
        add(format_args!("env-from={component}"));
    }
    if let Some(timeout) = spec.timeout_ms {
        add(format_args!("timeout={}", span(timeout)));
    }
    if spec.retries > 0 {
        add(format_args!("retries={}", spec.retries));
    }
    if spec.api_token {
        add(format_args!("api-token"));
    }
    if let Some(template) = &spec.pod_template_json {
        add(format_args!("pod-template={template}"));
    }
    line
}
