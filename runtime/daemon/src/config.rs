//! What a person configured for this machine: a file, which need not be there.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use pintle_lifecycle::document::{ConfigDocument, Place, Problems};

use crate::error::Error;
use crate::input_file;

/// The configuration; all empty where there is none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Config {
    /// The folder that the cluster `local` looks images up in where driver or release bring none; absolute.
    pub images: Option<PathBuf>,
    /// Images that it takes in place of others: `busybox` → `host`.
    pub image_map: BTreeMap<String, String>,
}

impl Config {
    /// Reads a file.
    ///
    /// # Errors
    /// [`Error::Documents`] with everything that is wrong with it, or that it is not there.
    pub fn read(path: &Path) -> Result<Self, Error> {
        match input_file::read_text(path) {
            Ok(text) => Self::of_text(path, &text),
            Err(source) => Err(Error::Unreadable { path: path.to_owned(), source }),
        }
    }

    /// Reads the file of the user who runs this, `$XDG_CONFIG_HOME/pintle/config.yml`, else `~/.config/pintle/config.yml`.
    ///
    /// # Errors
    /// As [`Self::read`], but where it is not there.
    pub fn of_user() -> Result<Self, Error> {
        // A relative path is to be ignored, says the XDG base directory specification.
        let folder = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let folder = folder("XDG_CONFIG_HOME").or_else(|| Some(folder("HOME")?.join(".config")));
        match folder.map(|folder| Self::read(&folder.join("pintle/config.yml"))) {
            None => Ok(Self::default()),
            Some(Err(Error::Unreadable { source, .. })) if source.kind() == io::ErrorKind::NotFound => {
                Ok(Self::default())
            }
            Some(read) => read,
        }
    }

    fn of_text(path: &Path, text: &str) -> Result<Self, Error> {
        let mut problems = Problems::default();
        let local = ConfigDocument::read(&path.display().to_string(), text, &mut problems).local;
        let folder = path.parent().unwrap_or_else(|| Path::new(""));
        let images = local.images.as_ref().map(|images| (&images.place, folder.join(&images.value)));
        if let Some((place, images)) = &images {
            check_folder(place, images, &mut problems);
        }
        problems.check().map_err(Error::Documents)?;
        let images = images.map(|(_, images)| {
            std::path::absolute(&images).map_err(|source| Error::Unreadable { path: images, source })
        });
        Ok(Self { images: images.transpose()?, image_map: local.image_map })
    }
}

fn check_folder(place: &Place, images: &Path, problems: &mut Problems) {
    if !images.is_dir() {
        let message = format!("{} is no folder", images.display());
        problems.push(place.problem(message, "name a folder with images: NAME/TAG/ is `NAME:TAG`"));
    }
}
