//! Reading a release with all that it names: driver, manifests, module files. Each path is relative to the file that names it, and
//! a file that is not there is a problem at the line that names it.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use pintle_lifecycle::document::driver::Location;
use pintle_lifecycle::document::lifecycle::{HookSpec, LifecycleDocument, locations};
use pintle_lifecycle::document::reader::{Source, Templates};
use pintle_lifecycle::document::{Content, DriverDocument, Manifest, Place, Placed, Problems, ReleaseDocument};

use super::files::{Files, Kept, MANIFESTS};

/// Name of a driver's document in its folder.
const DRIVER: &str = "driver.yml";

/// A release and what it names, as far as it could be read.
pub(crate) struct Documents {
    /// None where it has problems that leave too little of it.
    pub release: Option<ReleaseDocument>,
    /// The folder of the release's file.
    pub folder: PathBuf,
    pub driver: Option<Driver>,
    /// Hooks of the file that the release names for them.
    pub lifecycle: Vec<HookSpec>,
    pub manifests: Vec<Manifest>,
    /// All that was read for it.
    pub kept: Kept,
}

/// A driver and its modules.
pub(crate) struct Driver {
    pub document: DriverDocument,
    pub folder: PathBuf,
    /// By the file that locations name. A file that could not be read is not here and is a problem already.
    pub modules: BTreeMap<String, Vec<u8>>,
}

impl Documents {
    /// Reads the file of a release.
    pub fn of_file(path: &Path, files: Files, problems: &mut Problems) -> Self {
        let place = whole(path);
        let folder = path.parent().unwrap_or_else(|| Path::new(""));
        match read_text(&files, path, &place, problems) {
            Some(text) => Self::of_text(&place.file, &text, folder, files, problems),
            None => Self {
                release: None,
                folder: folder.to_owned(),
                driver: None,
                lifecycle: Vec::new(),
                manifests: Vec::new(),
                kept: Kept::default(),
            },
        }
    }

    /// Reads the text of a release, shown as `file`, whose paths are relative to `folder`.
    pub fn of_text(file: &str, text: &str, folder: &Path, files: Files, problems: &mut Problems) -> Self {
        let release = ReleaseDocument::read(file, text, problems);
        let driver = match &release {
            Some(release) => release.spec.driver.as_ref().map(|source| source.path.clone()),
            // The driver's own problems are to be told with those of the release.
            None => driver_path(file, text),
        };
        let lifecycle = release.as_ref().and_then(|release| release.lifecycle_path.as_ref());
        let lifecycle =
            lifecycle.map(|path| read_lifecycle(&files, &tidy(&folder.join(&path.value)), &path.place, problems));
        let lifecycle = lifecycle.unwrap_or_default();
        let of_release = release.iter().flat_map(|release| &release.lifecycle).chain(&lifecycle);
        let actions: Vec<&Placed<Location>> = locations(of_release).collect();
        let driver = driver.and_then(|path| {
            let folder = tidy(&folder.join(&path.value));
            Driver::read(&files, folder, &path.place, &actions, problems)
        });
        let content = release.as_ref().and_then(|release| release.spec.content.as_ref());
        let manifests = match (&driver, content) {
            (Some(driver), _) => {
                let content = driver.document.spec.content.as_ref();
                content.map(|content| read_manifests(&files, content, &driver.folder, Holds::Driver, problems))
            }
            (None, content) => content.map(|content| read_manifests(&files, content, folder, Holds::Release, problems)),
        };
        Self {
            release,
            folder: folder.to_owned(),
            driver,
            lifecycle,
            manifests: manifests.unwrap_or_default(),
            kept: files.into_kept(),
        }
    }
}

impl Documents {
    /// The hooks of the release itself.
    pub fn hooks(&self) -> impl Iterator<Item = &HookSpec> {
        self.release.iter().flat_map(|release| &release.lifecycle).chain(&self.lifecycle)
    }
}

fn read_lifecycle(files: &Files, path: &Path, named: &Place, problems: &mut Problems) -> Vec<HookSpec> {
    let text = read_text(files, path, named, problems);
    text.map(|text| LifecycleDocument::read(&path.display().to_string(), &text, problems)).unwrap_or_default()
}

/// Where the driver of a release is whose document has problems; they were told already.
fn driver_path(file: &str, text: &str) -> Option<Placed<String>> {
    let source = Source::open(file, text, Templates::Release);
    let cursor = source.only()?;
    let json = cursor.to_json();
    let path = json.pointer("/spec/driver/path")?.as_str()?.to_owned();
    Some(cursor.placed(path))
}

impl Driver {
    /// `actions` are those that hooks of the release run.
    fn read(
        files: &Files,
        folder: PathBuf,
        named: &Place,
        actions: &[&Placed<Location>],
        problems: &mut Problems,
    ) -> Option<Self> {
        let path = folder.join(DRIVER);
        if leads_out(files, &path, &folder, named, problems) {
            return None;
        }
        let text = read_text(files, &path, named, problems)?;
        let document = DriverDocument::read(&path.display().to_string(), &text, problems)?;
        let (mut modules, mut named) = (BTreeMap::new(), BTreeSet::new());
        for location in document.locations().chain(actions.iter().copied()) {
            let file = &location.file;
            // The first action that names the file tells what is wrong with it.
            if !named.insert(file.clone()) {
                continue;
            }
            let path = tidy(&folder.join(file));
            if leads_out(files, &path, &folder, &location.place, problems) {
                continue;
            }
            match files.module(&path) {
                Ok(None) => {}
                Ok(Some(bytes)) => {
                    modules.insert(file.clone(), bytes);
                }
                Err(error) => {
                    let cure = "build the driver's actions, or correct the location";
                    problems.push(location.place.problem(unreadable(&path, &error), cure));
                }
            }
        }
        Some(Self { document, folder, modules })
    }
}

/// Whose manifests they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holds {
    /// All of them are in its folder.
    Driver,
    /// They may be anywhere: its author has this machine.
    Release,
}

fn read_manifests(
    reads: &Files,
    content: &Content,
    folder: &Path,
    holds: Holds,
    problems: &mut Problems,
) -> Vec<Manifest> {
    let named = &content.path().place;
    let path = tidy(&folder.join(&content.path().value));
    let files = match reads.manifests(&path) {
        Ok(files) => files,
        Err(error) => {
            problems.push(named.problem(unreadable(&path, &error), "name a file or folder of manifests"));
            return Vec::new();
        }
    };
    if files.is_empty() {
        let cure = format!(
            "put manifests into it, in files that end in {}",
            MANIFESTS.map(|end| format!(".{end}")).join(", ")
        );
        problems.push(named.problem(format!("{} holds no manifests", path.display()), cure));
    }
    let mut manifests = Vec::new();
    for file in files {
        if holds == Holds::Driver && leads_out(reads, &file, folder, named, problems) {
            continue;
        }
        if let Some(text) = read_text(reads, &file, named, problems) {
            manifests.extend(Manifest::read(&file.display().to_string(), &text, problems));
        }
    }
    manifests
}

/// Whether a link leads out of the folder of a driver: then that is a problem at `named`. A driver holds all of its files, so that it
/// can be moved as a whole, and so that one that came from elsewhere reads nothing of this machine. The folder itself may be a link.
fn leads_out(files: &Files, path: &Path, folder: &Path, named: &Place, problems: &mut Problems) -> bool {
    let Some(real) = files.outside(path, folder) else { return false };
    let message = format!("{} leads out of its folder, to {}", path.display(), real.display());
    problems.push(named.problem(message, "put the file itself there: a driver holds all of its files"));
    true
}

/// A file's text; none, and a problem at `named`, where it has none.
fn read_text(files: &Files, path: &Path, named: &Place, problems: &mut Problems) -> Option<String> {
    match files.text(path) {
        Ok(text) => Some(text),
        Err(error) => {
            problems.push(named.problem(unreadable(path, &error), "correct the path, or make the file readable"));
            None
        }
    }
}

fn unreadable(path: &Path, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => format!("there is no {}", path.display()),
        io::ErrorKind::InvalidData => format!("{} is no UTF-8 text", path.display()),
        _ => format!("cannot read {}: {error}", path.display()),
    }
}

/// The file as a whole.
fn whole(path: &Path) -> Place {
    Place { file: path.display().to_string().into(), path: String::new(), line: 0, column: 0 }
}

/// The path without `.` inside it, as people would write it.
fn tidy(path: &Path) -> PathBuf {
    path.components().filter(|part| !matches!(part, std::path::Component::CurDir)).collect()
}
