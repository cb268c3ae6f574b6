//! A container of a hook, which becomes a process: its image, command and environment.

use std::collections::BTreeMap;

use super::pod::impossible;
use crate::document::reader::{Cursor, Fields, shortened};

/// Fields of containers that the cluster `local` has nothing for.
const OF_CONTAINERS: [&str; 16] = [
    "lifecycle",
    "livenessProbe",
    "readinessProbe",
    "resizePolicy",
    "resources",
    "restartPolicy",
    "restartPolicyRules",
    "securityContext",
    "startupProbe",
    "stdin",
    "stdinOnce",
    "terminationMessagePath",
    "terminationMessagePolicy",
    "tty",
    "volumeDevices",
    "volumeMounts",
];

/// `names` are those of the containers before it, with their lines.
pub(super) fn read(cursor: &Cursor<'_>, names: &mut BTreeMap<String, u32>) {
    cursor.fields(|fields| {
        if let Some(name) = fields.required("name")
            && let Some(text) = name.label()
            && let Some(line) = names.insert(text.clone(), name.place().line)
        {
            let message = format!("the container `{}` is here twice; the first is on line {line}", shortened(&text));
            name.problem(message, "give each container a name of its own");
        }
        fields.required("image").map(|value| value.image());
        for list in ["command", "args"] {
            fields.optional(list).map(|value| value.texts());
        }
        for variable in fields.optional("env").iter().flat_map(Cursor::items) {
            read_variable(&variable);
        }
        for source in fields.optional("envFrom").iter().flat_map(Cursor::items) {
            read_source(&source);
        }
        fields.optional("workingDir").map(|value| value.text());
        let policies = [("Always", ()), ("IfNotPresent", ()), ("Never", ())];
        fields.optional("imagePullPolicy").map(|value| value.word(&policies));
        for port in fields.optional("ports").iter().flat_map(Cursor::items) {
            read_port(&port);
        }
        fields.refuse(&OF_CONTAINERS, impossible);
    });
}

fn read_variable(cursor: &Cursor<'_>) {
    cursor.fields(|fields| {
        fields.required("name").map(|name| read_variable_name(&name));
        let value = fields.optional("value").map(|value| value.text());
        let Some(from) = fields.optional("valueFrom") else { return };
        if value.is_some() {
            from.problem("a variable has a `value` or a `valueFrom`", "keep one of them");
        }
        from.fields(|fields| {
            let keys = ["configMapKeyRef", "secretKeyRef"].map(|name| fields.optional(name));
            fields.refuse(&["fieldRef", "resourceFieldRef", "fileKeyRef"], impossible);
            match keys.each_ref().map(Option::as_ref) {
                [None, None] => {
                    if from.is_empty() {
                        from.problem("nothing says where the value is from", "add configMapKeyRef or secretKeyRef");
                    }
                }
                [Some(key), None] | [None, Some(key)] => read_reference(key, true),
                [Some(_), Some(second)] => second.problem("a value is from one place", "keep one of them"),
            }
        });
    });
}

/// A name of a variable, as environments take it.
fn read_variable_name(cursor: &Cursor<'_>) -> Option<String> {
    cursor.checked_text(|name| {
        if !name.is_empty() && !name.contains(['=', '\0']) {
            return Ok(());
        }
        let message = format!("`{}` is no name of a variable", shortened(name));
        Err((message, "use letters, digits and `_`".to_owned()))
    })
}

fn read_source(cursor: &Cursor<'_>) {
    cursor.fields(|fields| {
        fields.optional("prefix").map(|value| value.text());
        match ["configMapRef", "secretRef"].map(|name| fields.optional(name)) {
            [None, None] => {
                cursor.problem("nothing says where the variables are from", "add configMapRef or secretRef");
            }
            [Some(one), None] | [None, Some(one)] => read_reference(&one, false),
            [Some(_), Some(second)] => second.problem("variables are from one place", "write two items"),
        }
    });
}

/// `{name, key, optional}`.
fn read_reference(cursor: &Cursor<'_>, with_key: bool) {
    cursor.fields(|fields| {
        fields.required("name").map(|name| name.label());
        fields.optional("optional").map(|value| value.boolean());
        if with_key {
            fields.required("key").map(|key| key.text());
        }
    });
}

/// A port says what the program does anyway: it is read and means nothing here.
fn read_port(cursor: &Cursor<'_>) {
    cursor.fields(|fields: &Fields<'_>| {
        fields.required("containerPort").map(|value| value.integer(1..=u32::from(u16::MAX)));
        fields.optional("name").map(|value| value.text());
        fields.optional("protocol").map(|value| value.word(&[("TCP", ()), ("UDP", ()), ("SCTP", ())]));
        fields.refuse(&["hostPort", "hostIP"], impossible);
    });
}
