//! `kind: Process`: a program that the local platform keeps running.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::document::problem::Placed;
use crate::document::reader::{Cursor, Fields, shortened};
use crate::document::release::read_env;

/// `spec` of a `Process`: a program that the local platform keeps running.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ProcessSpec {
    pub image: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub working_dir: Option<String>,
    /// None where the manifest leaves the number to others; 1 for a new process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicas: Option<u32>,
    /// None: alive for 500 ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<Ready>,
    #[serde(default = "stop_grace_seconds")]
    pub stop_grace_seconds: u32,
}

/// When a process is ready.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ready {
    #[serde(flatten)]
    pub probe: Probe,
    /// How long a start waits for it.
    #[serde(default = "ready_timeout_seconds")]
    pub timeout_seconds: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Probe {
    /// A GET that is answered with 200 to 399.
    Http {
        port: u16,
        #[serde(default = "root_path")]
        path: String,
        #[serde(default = "this_machine")]
        host: String,
    },
    /// A connection that is taken.
    Tcp {
        port: u16,
        #[serde(default = "this_machine")]
        host: String,
    },
    /// A command that ends with 0.
    Exec { command: Vec<String> },
    /// A file that is there; relative to the working directory.
    File(String),
}

const REPLICAS_MAX: u32 = 1_000;

/// A day: no stop and no start waits longer.
const SECONDS_MAX: u32 = 86_400;

pub(super) fn read(cursor: &Cursor<'_>) -> Option<ProcessSpec> {
    cursor.fields(|fields| {
        let image = fields.required("image").and_then(|value| value.image());
        let command = texts(fields, "command");
        let args = texts(fields, "args");
        if command.is_empty() && args.is_empty() {
            let place = cursor.place();
            let path = format!("{}.command", place.path);
            cursor.problem_at(&place.with_path(path), "the process has no command", "add `command: […]`");
        }
        let seconds = fields.optional("stopGraceSeconds").and_then(|value| value.integer(0..=SECONDS_MAX));
        let process = ProcessSpec {
            image: image.clone().unwrap_or_default(),
            command,
            args,
            env: fields.optional("env").map(|value| read_env(&value)).unwrap_or_default(),
            working_dir: fields.optional("workingDir").and_then(|value| value.text()),
            replicas: fields.optional("replicas").and_then(|value| value.integer(0..=REPLICAS_MAX)),
            ready: fields.optional("ready").and_then(|value| read_ready(&value)),
            stop_grace_seconds: seconds.unwrap_or_else(stop_grace_seconds),
        };
        image.map(|_| process)
    })?
}

fn texts(fields: &Fields<'_>, name: &'static str) -> Vec<String> {
    let list: Vec<Placed<String>> = fields.optional(name).map(|list| list.texts()).unwrap_or_default();
    list.into_iter().map(|text| text.value).collect()
}

fn read_ready(cursor: &Cursor<'_>) -> Option<Ready> {
    cursor.fields(|fields| {
        let seconds = fields.optional("timeoutSeconds").and_then(|value| value.integer(1..=SECONDS_MAX));
        let probes = ["http", "tcp", "exec", "file"].map(|name| (name, fields.optional(name)));
        let mut there = probes.into_iter().filter_map(|(name, probe)| Some((name, probe?)));
        let Some((name, probe)) = there.next() else {
            cursor.problem("nothing says when the process is ready", "add one of http, tcp, exec, file");
            return None;
        };
        for (_, second) in there {
            second.problem("a process is ready by one of http, tcp, exec, file", "keep one of them");
        }
        Some(Ready { probe: read_probe(name, &probe)?, timeout_seconds: seconds.unwrap_or_else(ready_timeout_seconds) })
    })?
}

fn read_probe(name: &str, probe: &Cursor<'_>) -> Option<Probe> {
    if name == "file" {
        return probe.text().map(Probe::File);
    }
    probe.fields(|fields| {
        if name == "exec" {
            let command = texts(fields, "command");
            if command.is_empty() {
                probe.problem("the command is empty", "add `command: […]`");
            }
            return Some(Probe::Exec { command });
        }
        let port = fields.required("port").and_then(|value| value.integer(1..=u32::from(u16::MAX)));
        let host = fields.optional("host").and_then(|value| value.text()).unwrap_or_else(this_machine);
        if name == "tcp" {
            return Some(Probe::Tcp { port: u16::try_from(port?).ok()?, host });
        }
        let path = fields.optional("path").and_then(|value| value.checked_text(check_page)).unwrap_or_else(root_path);
        Some(Probe::Http { port: u16::try_from(port?).ok()?, path, host })
    })?
}

fn check_page(path: &str) -> Result<(), (String, String)> {
    if path.starts_with('/') {
        return Ok(());
    }
    Err((format!("`{}` is no path of a page", shortened(path)), "start it with `/`".to_owned()))
}

fn stop_grace_seconds() -> u32 {
    10
}

fn ready_timeout_seconds() -> u32 {
    60
}

fn root_path() -> String {
    "/".to_owned()
}

fn this_machine() -> String {
    "127.0.0.1".to_owned()
}
