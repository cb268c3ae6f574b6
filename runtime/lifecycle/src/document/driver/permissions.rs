//! The permissions that a driver asks for. Only components that it declares can be named.

use crate::document::problem::Placed;
use crate::document::reader::{Cursor, Fields, nearest, shortened};
use crate::grant::{ComponentPermissions, JobPermissions, Permissions, ReleasePermissions};

pub(super) fn read(cursor: &Cursor<'_>, declared: &[String]) -> Option<Permissions> {
    cursor.fields(|fields| {
        let components = fields.optional("components").and_then(|value| read_components(&value, declared));
        let releases = fields.optional("releases").and_then(|value| read_releases(&value));
        let jobs = fields.optional("jobs").and_then(|value| read_jobs(&value, declared));
        if let Some(http) = fields.optional("http") {
            http.fields(|fields| fields.later("hosts", "http requests of actions are"));
        }
        Permissions {
            components: components.unwrap_or_default(),
            releases: releases.unwrap_or_default(),
            jobs: jobs.unwrap_or_default(),
            state: fields.optional("state").and_then(|value| value.boolean()).unwrap_or_default(),
        }
    })
}

fn read_components(cursor: &Cursor<'_>, declared: &[String]) -> Option<ComponentPermissions> {
    cursor.fields(|fields| ComponentPermissions {
        stop: names(fields, "stop", declared),
        start: names(fields, "start", declared),
        images: names(fields, "images", declared),
    })
}

fn read_releases(cursor: &Cursor<'_>) -> Option<ReleasePermissions> {
    cursor.fields(|fields| {
        let set_version = fields.optional("set-version").and_then(|value| value.boolean());
        ReleasePermissions { set_version: set_version.unwrap_or_default() }
    })
}

fn read_jobs(cursor: &Cursor<'_>, declared: &[String]) -> Option<JobPermissions> {
    cursor.fields(|fields| {
        let images = fields.optional("images").map(|list| list.texts()).unwrap_or_default();
        if let Some(token) = fields.optional("apiToken").filter(|value| value.boolean() == Some(true)) {
            token.not_yet("a token for Jobs is");
        }
        JobPermissions {
            images: images.into_iter().map(|image| image.value).collect(),
            env_from: names(fields, "envFrom", declared),
        }
    })
}

/// A list of names of components.
fn names(fields: &Fields<'_>, field: &'static str, declared: &[String]) -> Vec<String> {
    let listed = fields.optional(field).map(|list| list.texts()).unwrap_or_default();
    let known: Vec<&str> = declared.iter().map(String::as_str).collect();
    let name = |Placed { value, place }: Placed<String>| {
        if !known.contains(&value.as_str()) {
            let cure = match nearest(&value, &known) {
                Some(name) => format!("did you mean `{name}`?"),
                None => "declare it under `spec.components`, or remove it here".to_owned(),
            };
            fields.cursor().problem_at(&place, format!("there is no component `{}`", shortened(&value)), cure);
        }
        value
    };
    listed.into_iter().map(name).collect()
}
