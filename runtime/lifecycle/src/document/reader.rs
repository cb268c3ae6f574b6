//! Reading a document's tree field by field, with every problem kept and none fatal. The fields that a reader asks for are the
//! ones that are known, so what is refused as unknown never differs from what is read.

#[cfg(test)]
pub(super) mod asked;
mod condition;
mod scalar;
mod template;
mod word;

use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;
use std::sync::Arc;

use super::problem::{Place, Placed, Problem, Problems};
use super::template::Template;
use super::yaml::{self, At, Entry, Node, Value};
pub use word::is_version;
pub(crate) use word::joined;
pub(crate) use word::{nearest, shortened};

/// An opened document file, or a part of one after its templates were rendered.
#[derive(Debug)]
pub struct Source {
    file: Arc<str>,
    /// As it was opened; empty for what was rendered.
    text: String,
    /// Where its lines end, once somebody asked.
    ends: OnceCell<Vec<usize>>,
    /// Path of the documents; empty for whole files.
    base: String,
    documents: Vec<Node>,
    templates: Templates,
    problems: RefCell<Problems>,
}

/// Where a document may hold `{{`, by what kind of document it is. Keys of maps never do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Templates {
    Refused,
    /// In what hooks run; besides, the application's version in `spec.components.NAME.image`, as fixed by design.
    Release,
    /// In what hooks run, and in names of workloads.
    Driver,
    /// In what hooks run.
    Lifecycle,
    /// In all strings.
    Manifests,
}

/// A place in the tree.
#[derive(Debug, Clone)]
pub struct Cursor<'a> {
    source: &'a Source,
    node: &'a Node,
    path: String,
}

/// The fields of a map while they are read.
#[derive(Debug)]
pub struct Fields<'a> {
    cursor: Cursor<'a>,
    entries: &'a [Entry],
    known: RefCell<Vec<&'static str>>,
    /// What was refused by name already.
    told: RefCell<Vec<&'a str>>,
}

impl Source {
    /// Reads YAML or JSON text. Text that is none gives a source without documents, and a problem.
    #[must_use]
    pub fn open(file: &str, text: &str, templates: Templates) -> Self {
        let file: Arc<str> = file.into();
        let mut problems = Problems::default();
        let documents = yaml::parse(text).unwrap_or_else(|fault| {
            let (line, column) = fault.at.map_or((0, 0), |at| (at.line, at.column));
            let place = Place { file: Arc::clone(&file), path: String::new(), line, column };
            problems.push(place.problem(fault.message, fault.cure));
            Vec::new()
        });
        let problems = RefCell::new(problems);
        let source = Self {
            file,
            text: text.to_owned(),
            ends: OnceCell::new(),
            base: String::new(),
            documents,
            templates,
            problems,
        };
        for document in source.documents() {
            document.refuse_templates();
        }
        source
    }

    /// A part of a document after its templates were rendered. What was a template has the place of that; all else, which was
    /// looked at before, that of the part.
    #[must_use]
    pub(super) fn rendered(place: &Place, value: &serde_json::Value, templates: &[Template]) -> Self {
        let at = |place: &Place| At { line: place.line, column: place.column };
        let places: BTreeMap<&str, At> =
            templates.iter().map(|template| (template.pointer.as_str(), at(&template.text.place))).collect();
        Self {
            file: Arc::clone(&place.file),
            text: String::new(),
            ends: OnceCell::new(),
            base: place.path.clone(),
            documents: vec![Node::of_json(value, at(place), &places, &mut String::new())],
            templates: Templates::Refused,
            problems: RefCell::default(),
        }
    }

    /// The documents of the file that hold something.
    pub fn documents(&self) -> impl Iterator<Item = Cursor<'_>> {
        let cursors = self.documents.iter().map(|node| Cursor { source: self, node, path: self.base.clone() });
        cursors.filter(|cursor| cursor.node.value != Value::Null)
    }

    /// The only document of the file.
    #[must_use]
    pub fn only(&self) -> Option<Cursor<'_>> {
        let mut documents = self.documents();
        let first = documents.next();
        if first.is_none() && self.problems.borrow().is_empty() {
            let place = Place { file: Arc::clone(&self.file), path: String::new(), line: 1, column: 1 };
            self.push(place.problem("the file is empty", "write a document into it"));
        }
        if let Some(second) = documents.next() {
            second.problem("the file holds a second document", "keep one document in this file");
        }
        first
    }

    /// Gives what was found to the others.
    pub fn close(self, problems: &mut Problems) {
        problems.extend(self.problems.into_inner());
    }

    fn push(&self, problem: Problem) {
        self.problems.borrow_mut().push(problem);
    }
}

impl<'a> Cursor<'a> {
    #[must_use]
    pub fn place(&self) -> Place {
        self.place_at(self.node.at, self.path.clone())
    }

    fn place_at(&self, at: At, path: String) -> Place {
        Place { file: Arc::clone(&self.source.file), path, line: at.line, column: at.column }
    }

    pub fn problem(&self, message: impl Into<String>, cure: impl Into<String>) {
        self.source.push(self.place().problem(message, cure));
    }

    /// A problem at another place of the same file.
    pub fn problem_at(&self, place: &Place, message: impl Into<String>, cure: impl Into<String>) {
        self.source.push(place.problem(message, cure));
    }

    /// `what` is known but comes with a later version.
    pub fn not_yet(&self, what: &str) {
        self.problem(format!("{what} not yet supported"), "remove it");
    }

    /// The value with its place.
    #[must_use]
    pub fn placed<T>(&self, value: T) -> Placed<T> {
        Placed { value, place: self.place() }
    }

    fn inside(&self, node: &'a Node, step: &str) -> Self {
        Self { source: self.source, node, path: format!("{}{step}", self.path) }
    }

    fn key(&self, entry: &'a Entry) -> Self {
        Self { source: self.source, node: &entry.value, path: joined(&self.path, &entry.key) }
    }

    /// Whether there is nothing in it: null, `{}` or `[]`.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        match &self.node.value {
            Value::Null => true,
            Value::List(items) => items.is_empty(),
            Value::Map(entries) => entries.is_empty(),
            _ => false,
        }
    }

    #[must_use]
    pub fn is_map(&self) -> bool {
        matches!(self.node.value, Value::Map(_))
    }

    #[must_use]
    pub fn is_list(&self) -> bool {
        matches!(self.node.value, Value::List(_))
    }

    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        self.node.to_json()
    }

    /// The items of a list; none where it is no list.
    #[must_use]
    pub fn items(&self) -> Vec<Self> {
        let Value::List(items) = &self.node.value else {
            self.wrong_type("a list", "");
            return Vec::new();
        };
        items.iter().enumerate().map(|(place, node)| self.inside(node, &format!("[{place}]"))).collect()
    }

    /// A list of texts.
    #[must_use]
    pub fn texts(&self) -> Vec<Placed<String>> {
        self.items().iter().filter_map(|item| Some(item.placed(item.text()?))).collect()
    }

    /// The entries of a map with free keys; none where it is no map.
    #[must_use]
    pub fn entries(&self) -> Vec<(&'a str, Self)> {
        let Value::Map(entries) = &self.node.value else {
            self.wrong_type("a map", "");
            return Vec::new();
        };
        self.refuse_repeated(entries);
        entries.iter().map(|entry| (entry.key.as_str(), self.key(entry))).collect()
    }

    /// The field that says what other fields a map has; a problem where it is missing. The rest is read by [`Self::fields`].
    #[must_use]
    pub fn peek(&self, name: &str) -> Option<Self> {
        let Value::Map(entries) = &self.node.value else {
            self.wrong_type("a map", "");
            return None;
        };
        let value = entries.iter().find(|entry| entry.key == name).map(|entry| self.key(entry));
        if value.is_none() {
            self.missing(name);
        }
        value
    }

    fn missing(&self, name: &str) {
        let place = self.place().with_path(joined(&self.path, name));
        self.source.push(place.problem(format!("the field `{name}` is missing"), format!("add `{name}:`")));
    }

    /// A map of texts.
    #[must_use]
    pub fn text_map(&self) -> BTreeMap<String, String> {
        self.entries().into_iter().filter_map(|(key, value)| Some((key.to_owned(), value.text()?))).collect()
    }

    /// Reads a map with known fields. Whatever `read` does not ask for is unknown.
    pub fn fields<T>(&self, read: impl FnOnce(&Fields<'a>) -> T) -> Option<T> {
        let Value::Map(entries) = &self.node.value else {
            self.wrong_type("a map", "");
            return None;
        };
        self.refuse_repeated(entries);
        let (known, told) = (RefCell::default(), RefCell::default());
        let fields = Fields { cursor: self.clone(), entries, known, told };
        let value = read(&fields);
        fields.refuse_unknown();
        Some(value)
    }

    fn refuse_repeated(&self, entries: &[Entry]) {
        let mut first: BTreeMap<&str, At> = BTreeMap::new();
        for entry in entries {
            if let Some(at) = first.get(entry.key.as_str()) {
                let place = self.place_at(entry.at, joined(&self.path, &entry.key));
                let message = format!("`{}` is here twice; the first is on line {}", shortened(&entry.key), at.line);
                self.source.push(place.problem(message, "remove one of them"));
            } else {
                first.insert(&entry.key, entry.at);
            }
        }
    }
}

impl<'a> Fields<'a> {
    /// The field's value, where it is there and not null.
    pub fn optional(&self, name: &'static str) -> Option<Cursor<'a>> {
        let mut known = self.known.borrow_mut();
        if !known.contains(&name) {
            known.push(name);
        }
        let entry = self.entries.iter().find(|entry| entry.key == name)?;
        Some(self.cursor.key(entry)).filter(|value| value.node.value != Value::Null)
    }

    /// The field's value; a problem where it is missing.
    pub fn required(&self, name: &'static str) -> Option<Cursor<'a>> {
        let value = self.optional(name);
        if value.is_none() {
            self.cursor.missing(name);
        }
        value
    }

    /// A field of the design that comes with a later version: nothing but emptiness may be in it.
    pub fn later(&self, name: &'static str, what: &str) {
        if let Some(value) = self.optional(name).filter(|value| !value.is_empty()) {
            value.not_yet(what);
        }
    }

    /// Refuses fields that mean something elsewhere, each by name with what `words` say of it: message and cure.
    pub fn refuse(&self, names: &[&str], words: impl Fn(&str) -> (String, String)) {
        for entry in self.entries.iter().filter(|entry| names.contains(&entry.key.as_str())) {
            let (message, cure) = words(&entry.key);
            let place = self.cursor.place_at(entry.at, joined(&self.cursor.path, &entry.key));
            self.cursor.source.push(place.problem(message, cure));
            self.told.borrow_mut().push(&entry.key);
        }
    }

    /// The map itself.
    #[must_use]
    pub fn cursor(&self) -> &Cursor<'a> {
        &self.cursor
    }

    fn refuse_unknown(self) {
        let (known, told) = (self.known.into_inner(), self.told.into_inner());
        #[cfg(test)]
        asked::note(&self.cursor.path, &known);
        let is_known = |key: &str| known.contains(&key) || told.contains(&key);
        for entry in self.entries.iter().filter(|entry| !is_known(&entry.key)) {
            let cure = match nearest(&entry.key, &known) {
                Some(name) => format!("did you mean `{name}`?"),
                None => format!("known here: {}", known.join(", ")),
            };
            let place = self.cursor.place_at(entry.at, joined(&self.cursor.path, &entry.key));
            self.cursor.source.push(place.problem(format!("unknown field `{}`", shortened(&entry.key)), cure));
        }
    }
}
