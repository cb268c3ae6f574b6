//! What a person asks for: that a release be as a document says. Reads the documents, looks at the modules, plans, and opens the
//! change. Everything that is wrong is told at once, and then nothing is opened.

mod documents;
mod files;
mod kept;
mod known;
mod modules;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use pintle_journal::journal::Journal;
use pintle_lifecycle::digest::hex;
use pintle_lifecycle::document::Problems;
use pintle_lifecycle::document::lifecycle::locations;
use pintle_lifecycle::document::release::{HookSkip, at_version};
use pintle_lifecycle::ids::ReleaseKey;
use pintle_lifecycle::plan::Plan;
use pintle_lifecycle::planning::{Folders, Module, PlanInput, Planned, plan};
use pintle_lifecycle::template::Render;
use pintle_sandbox::Sandbox;

use self::documents::Documents;
use self::files::Files;
pub use self::kept::{KeptRequest, Origin};
use self::known::Known;
pub(crate) use self::known::{applied, last_plan, plan_of};
pub use self::modules::Keep;
use crate::config::Config;
use crate::error::Error;
use crate::templates::NoTemplates;

/// When a change shall begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    Now,
    /// After the one that is open.
    Later,
}

/// A release that shall be as its document says.
pub struct Request {
    tenant: String,
    origin: Origin,
    /// Of the documents as such. Whether they fit together is told when the request is planned.
    problems: Problems,
    documents: Documents,
    modules: BTreeMap<String, Result<Module, String>>,
    skip_hooks: Vec<HookSkip>,
    /// Where images are looked up that neither driver nor release bring.
    images: Option<PathBuf>,
}

impl Request {
    /// Leaves hooks out of the change.
    #[must_use]
    pub fn without(self, skip_hooks: Vec<HookSkip>) -> Self {
        Self { skip_hooks, ..self }
    }

    /// Has images looked up where the configuration says, unless driver or release bring a folder of them.
    #[must_use]
    pub fn with_images_of(self, config: &Config) -> Self {
        Self { images: config.images.clone(), ..self }
    }

    /// Reads the file of a release and the documents that it names. `tenant` is the caller's.
    #[must_use]
    pub fn of_file(path: &Path, tenant: &str) -> Self {
        let mut problems = Problems::default();
        let documents = Documents::of_file(path, Files::disk(), &mut problems);
        Self::of(tenant, Origin::File(path.to_owned()), problems, documents)
    }

    /// The document that the release has, at another version of the application.
    #[must_use]
    pub fn at_version(last: &Plan, version: &str) -> Self {
        let release = &last.target.release;
        let mut problems = Problems::default();
        let shown = format!("the stored document of {}", release.name);
        let text = at_version(&last.document.value(), version);
        // Its paths are absolute.
        let documents = Documents::of_text(&shown, &text, Path::new("/"), Files::disk(), &mut problems);
        Self::of(&release.tenant, Origin::Text { shown, text }, problems, documents)
    }

    fn of(tenant: &str, origin: Origin, problems: Problems, documents: Documents) -> Self {
        let (modules, skip_hooks) = (BTreeMap::new(), Vec::new());
        Self {
            tenant: tenant.to_owned(),
            origin,
            problems,
            documents,
            modules,
            skip_hooks,
            images: None,
        }
    }

    /// The release that is asked for; none where its document could not be read.
    #[must_use]
    pub fn release(&self) -> Option<ReleaseKey> {
        let release = self.documents.release.as_ref()?;
        let tenant = release.spec.tenant.as_deref().unwrap_or(&self.tenant);
        ReleaseKey::new(tenant, &release.metadata.name).ok()
    }

    /// Whether actions have to be looked at.
    fn has_modules(&self) -> bool {
        self.driver().is_some_and(|driver| !driver.modules.is_empty())
    }

    /// Lets a sandbox look at the modules of the actions, if there are any. What it refuses is told when the request is planned.
    ///
    /// # Errors
    /// Where this machine has no room for a sandbox. What is wrong with the documents is told instead, as far as it can be without
    /// one: it is what the author can mend.
    pub async fn admit(
        &mut self,
        sandbox: impl FnOnce() -> Result<Sandbox, Error>,
        keep: Keep,
        journal: &dyn Journal,
    ) -> Result<(), Error> {
        if !self.has_modules() {
            return Ok(());
        }
        let looked = match sandbox() {
            Ok(sandbox) => self.look(&sandbox, keep).await,
            Err(error) => Err(error),
        };
        match looked {
            Ok(modules) => {
                self.modules = modules;
                Ok(())
            }
            Err(error) => {
                self.modules = self.assumed();
                self.plan(journal, &NoTemplates).await?;
                Err(error)
            }
        }
    }

    async fn look(&self, sandbox: &Sandbox, keep: Keep) -> Result<BTreeMap<String, Result<Module, String>>, Error> {
        let mut modules = BTreeMap::new();
        for (file, bytes) in self.driver().into_iter().flat_map(|driver| &driver.modules) {
            modules.insert(file.clone(), modules::admit(sandbox, bytes, keep).await?);
        }
        Ok(modules)
    }

    /// The modules as if each had what the documents want of it.
    fn assumed(&self) -> BTreeMap<String, Result<Module, String>> {
        let Some(driver) = self.driver() else { return BTreeMap::new() };
        let wanted = |file: &String| {
            let locations = driver.document.locations().chain(locations(self.documents.hooks()));
            locations.filter(|location| location.file == *file).map(|location| location.export.clone()).collect()
        };
        let module = |file: &String| Module {
            digest: String::new(),
            wit: String::new(),
            actions: wanted(file),
            undoes: Vec::new(),
        };
        driver.modules.keys().map(|file| (file.clone(), Ok(module(file)))).collect()
    }

    /// Plans the change that leads from what `journal` knows of the release to its document.
    ///
    /// # Errors
    /// [`Error::Documents`] with everything that is wrong, or where the journal cannot be read.
    pub async fn plan(&self, journal: &dyn Journal, templates: &dyn Render) -> Result<Planned, Error> {
        self.plan_for(journal, templates, Turn::Now).await
    }

    /// The same for a change that may have to wait until an open one has ended.
    ///
    /// # Errors
    /// As [`Self::plan`].
    pub async fn plan_for(&self, journal: &dyn Journal, templates: &dyn Render, turn: Turn) -> Result<Planned, Error> {
        let documents = &self.documents;
        let (Some(document), Some(release)) = (&documents.release, self.release()) else {
            return Err(Error::Documents(self.problems.clone()));
        };
        let known = Known::of(journal, &release).await?;
        let absolute = |path: &Path| {
            let current = if path.as_os_str().is_empty() { Path::new(".") } else { path };
            std::path::absolute(current).map_err(|source| Error::Unreadable { path: path.to_owned(), source })
        };
        let folder = absolute(&documents.folder)?;
        let driver = documents.driver.as_ref();
        let driver_folder = driver.map(|driver| absolute(&driver.folder)).transpose()?;
        let input = PlanInput {
            problems: self.problems.clone(),
            release: document,
            driver: driver.map(|driver| &driver.document),
            lifecycle: &documents.lifecycle,
            manifests: &documents.manifests,
            modules: &self.modules,
            tenant: &self.tenant,
            folders: Folders {
                images: self.images_beside(driver_folder.as_ref().unwrap_or(&folder)),
                release: folder,
                driver: driver_folder,
            },
            view: known.view.as_ref(),
            former: known.former.as_ref(),
            last_plan: known.last_plan.as_ref(),
            fresh_uid: &fresh_uid()?,
            queued: turn == Turn::Later,
            skip_hooks: &self.skip_hooks,
        };
        plan(&input, templates).await.map_err(Error::from)
    }

    /// The folder of images beside a document, or the configured one where it brings none.
    fn images_beside(&self, folder: &Path) -> PathBuf {
        let beside = folder.join(IMAGES);
        self.images.clone().filter(|_| !beside.is_dir()).unwrap_or(beside)
    }

    fn driver(&self) -> Option<&documents::Driver> {
        self.documents.driver.as_ref()
    }
}

/// Folder of images beside driver.yml, or beside the release where there is no driver.
const IMAGES: &str = "images";

/// Tells a release apart from a later one of the same name.
fn fresh_uid() -> Result<String, Error> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).map_err(|error| Error::Defect(format!("the machine gives no randomness: {error}")))?;
    Ok(hex(&bytes))
}
