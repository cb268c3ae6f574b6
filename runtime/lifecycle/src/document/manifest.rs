//! Manifests: the objects of a release. On the local platform these are processes and what configures them; what cannot be done
//! there is refused at admission and never silently dropped.

mod process;

use std::collections::BTreeMap;

use super::API_VERSION;
use super::problem::{Place, Problems};
use super::reader::{Cursor, Fields, Source, Templates, shortened};
use super::template::{self, Template};
use crate::plan::Workload;

pub use process::{Probe, ProcessSpec, Ready};

/// An object as it was written.
#[derive(Debug, Clone, PartialEq)]
pub struct Manifest {
    /// Kind and name, which may be a template.
    pub workload: Workload,
    pub object: serde_json::Value,
    /// What runs, where the object is a process. Its texts may be templates.
    pub process: Option<ProcessSpec>,
    pub place: Place,
    /// All templates in `object`.
    pub templates: Vec<Template>,
}

/// Whose metadata it is that has no name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Of {
    /// The workload of a hook: its name is made for it.
    Hook,
    /// The Pods of a Job.
    Pod,
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Process,
    ConfigMap,
    Secret,
}

const KINDS: [(&str, Kind); 3] = [("Process", Kind::Process), ("ConfigMap", Kind::ConfigMap), ("Secret", Kind::Secret)];

impl Manifest {
    /// Reads the manifests of a file, in order.
    pub fn read(file: &str, text: &str, problems: &mut Problems) -> Vec<Self> {
        let source = Source::open(file, text, Templates::Manifests);
        let manifests = source.documents().filter_map(|cursor| read_manifest(&cursor)).collect();
        source.close(problems);
        manifests
    }

    /// The manifest with the texts that its templates gave, in their order. What a template gave is looked at as if it had been
    /// written so: a problem has the place of the template. None where that leaves no manifest, which then has a problem.
    pub fn rendered(&self, texts: &[String], problems: &mut Problems) -> Option<Self> {
        let mut object = self.object.clone();
        template::put(&mut object, &self.templates, texts);
        let source = Source::rendered(&self.place, &object, &self.templates);
        let manifest = source.only().and_then(|cursor| read_manifest(&cursor));
        source.close(problems);
        // A text that has braces in it by now is no template.
        manifest.map(|manifest| Self { templates: Vec::new(), ..manifest })
    }

    /// Refuses objects that share kind and name: to be asked once names are rendered.
    pub fn check_unique(manifests: &[Self], problems: &mut Problems) {
        let mut first: BTreeMap<&Workload, &Place> = BTreeMap::new();
        for manifest in manifests {
            if let Some(place) = first.get(&manifest.workload) {
                let message = format!("{} is there already, in {}", manifest.workload, place.position());
                let place = manifest.place.with_path("metadata.name");
                problems.push(place.problem(message, "give each object of a kind a name of its own"));
            } else {
                first.insert(&manifest.workload, &manifest.place);
            }
        }
    }
}

fn read_manifest(cursor: &Cursor<'_>) -> Option<Manifest> {
    let word = cursor.peek("kind")?.text()?;
    let Some((_, kind)) = KINDS.iter().find(|(known, _)| *known == word) else {
        let cure = format!("the cluster `local` has {}", KINDS.map(|(kind, _)| kind).join(", "));
        cursor.problem(format!("the cluster `local` has no objects of kind {}", shortened(&word)), cure);
        return None;
    };
    let (header, name, process) = cursor.fields(|fields| {
        let header = read_header(fields, *kind);
        let name = fields.required("metadata").and_then(|metadata| read_metadata(&metadata));
        let process = match kind {
            Kind::Process => fields.required("spec").and_then(|spec| process::read(&spec)),
            Kind::ConfigMap => {
                fields.optional("data").map(|data| data.text_map());
                None
            }
            Kind::Secret => {
                refuse_secret(fields);
                None
            }
        };
        (header, name, process)
    })?;
    header?;
    Some(Manifest {
        workload: Workload { kind: word, name: name? },
        object: cursor.to_json(),
        process,
        place: cursor.place(),
        templates: cursor.templates(),
    })
}

/// The objects of a hook: what is no process, each with kind and name of its own.
pub(super) fn read_objects(items: &[Cursor<'_>]) {
    let mut first: BTreeMap<Workload, u32> = BTreeMap::new();
    for item in items {
        let Some(object) = read_manifest(item) else { continue };
        let line = object.place.line;
        if object.process.is_some() {
            item.problem("a hook makes no Process", "put it into the manifests, or run a Job");
        } else if let Some(other) = first.insert(object.workload.clone(), line) {
            let message = format!("{} is here twice; the first is on line {other}", object.workload);
            item.problem(message, "give each object of a kind a name of its own");
        }
    }
}

/// Metadata that names nothing.
pub(super) fn read_free_metadata(cursor: &Cursor<'_>, of: Of) {
    cursor.fields(|fields| {
        if of == Of::Hook {
            fields.optional("namespace").map(|namespace| namespace.label());
            fields.refuse(&["name", "generateName"], |_| {
                ("the name of a hook's workload is made for it".to_owned(), "remove it".to_owned())
            });
        }
        read_free_texts(fields);
    });
}

fn read_free_texts(fields: &Fields<'_>) {
    for name in ["labels", "annotations"] {
        fields.optional(name).map(|map| map.text_map());
    }
}

fn read_header(fields: &Fields<'_>, kind: Kind) -> Option<()> {
    fields.required("kind");
    let version = match kind {
        Kind::Process => API_VERSION,
        Kind::ConfigMap | Kind::Secret => "v1",
    };
    fields.required("apiVersion")?.word(&[(version, ())])
}

fn read_metadata(cursor: &Cursor<'_>) -> Option<String> {
    cursor.fields(|fields| {
        read_free_texts(fields);
        fields.optional("namespace").map(|namespace| namespace.label());
        fields.required("name").and_then(|name| name.label())
    })?
}

/// Its values would be in the journal in clear until the store can seal them.
fn refuse_secret(fields: &Fields<'_>) {
    for name in ["type", "data", "stringData"] {
        fields.optional(name);
    }
    fields.cursor().problem("Secrets are not yet supported", "keep secret values in a file that the process reads");
}
