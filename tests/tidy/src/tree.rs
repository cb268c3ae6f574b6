//! The text files of the repository, read once for all rules.

use std::{fs, io, path::Path};

/// Folders that are built, fetched, or git's own.
const NOT_OURS: [&str; 4] = ["target", ".git", "node_modules", "images"];

/// Larger files are built or data, in bytes.
const LARGEST: u64 = 1024 * 1024;

/// A text file.
#[derive(Debug, Clone)]
pub struct File {
    /// From the root of the repository, with `/`.
    pub path: String,
    pub text: String,
}

impl File {
    /// A file of a sample tree.
    #[must_use]
    pub fn sample(path: &str, text: &str) -> Self {
        Self { path: path.to_owned(), text: text.to_owned() }
    }

    #[must_use]
    pub fn is_rust(&self) -> bool {
        Path::new(&self.path).extension().is_some_and(|extension| extension == "rs")
    }
}

/// Reads every text file below `root`, in the order of paths.
///
/// # Errors
/// A folder or file that cannot be read.
pub fn read(root: &Path) -> io::Result<Vec<File>> {
    let mut files = Vec::new();
    read_folder(root, "", &mut files)?;
    files.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(files)
}

fn read_folder(folder: &Path, prefix: &str, files: &mut Vec<File>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = format!("{prefix}{name}");
        let kind = entry.file_type()?;
        if kind.is_dir() && !NOT_OURS.contains(&name.as_str()) {
            read_folder(&entry.path(), &format!("{path}/"), files)?;
        } else if kind.is_file() && entry.metadata()?.len() <= LARGEST {
            match String::from_utf8(fs::read(entry.path())?) {
                Ok(text) => files.push(File { path, text }),
                Err(_binary) => {}
            }
        }
    }
    Ok(())
}
