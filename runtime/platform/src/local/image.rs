//! Images of the local platform: folders with programs in them, by the name and tag of the reference.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use pintle_image::Image;

use crate::platform::PlatformError;

/// The image that is this machine's own PATH.
const HOST: &str = "host";
/// The tag of a reference without one, as registries have it.
const DEFAULT_TAG: &str = "latest";
/// Where this Pintle has no PATH itself.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// The PATH of a process with that image: the image's folder first, then the machine's.
///
/// `map` gives other images in place of some, by whole reference, by repository or by name: `busybox` to `host`.
///
/// # Errors
/// `Invalid` where the text is no reference; `NotFound` (`ImageNotFound: …`) where its folder is not there.
pub(super) fn path(image: &str, folders: &Path, map: &BTreeMap<String, String>) -> Result<String, PlatformError> {
    let machine = std::env::var("PATH").unwrap_or_else(|_| DEFAULT_PATH.to_owned());
    let Some(folder) = folder(image, folders, map)? else { return Ok(machine) };
    if !folder.is_dir() {
        let cure = "build it there, or map it to `host` in the configuration of the cluster";
        let message = format!("ImageNotFound: no image `{image}`: looked for {}: {cure}", folder.display());
        return Err(PlatformError::NotFound(message));
    }
    let paths = std::iter::once(folder.clone()).chain(std::env::split_paths(&machine));
    std::env::join_paths(paths).map(OsString::into_string).ok().and_then(Result::ok).ok_or_else(|| {
        PlatformError::Invalid(format!("{}: a folder in PATH has no `:` and is UTF-8", folder.display()))
    })
}

/// None for the machine itself.
fn folder(image: &str, folders: &Path, map: &BTreeMap<String, String>) -> Result<Option<PathBuf>, PlatformError> {
    if image == HOST {
        return Ok(None);
    }
    let read = |text: &str| text.parse::<Image>().map_err(|error| PlatformError::Invalid(error.to_string()));
    let mut reference = read(image)?;
    let mapped = [image, reference.repository(), reference.name()].into_iter().find_map(|name| map.get(name));
    match mapped {
        Some(other) if other == HOST => return Ok(None),
        Some(other) => reference = read(other)?,
        None => {}
    }
    Ok(Some(folders.join(reference.name()).join(reference.tag().unwrap_or(DEFAULT_TAG))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_is_a_folder_by_name_and_tag() {
        let found = |image: &str| folder(image, Path::new("/images"), &BTreeMap::new()).unwrap();
        assert_eq!(found("host:5000/team/shop:1.2.0"), Some("/images/shop/1.2.0".into()));
        assert_eq!(found("shop"), Some("/images/shop/latest".into()));
        assert_eq!(found(HOST), None);
        let error = folder("Shop:..", Path::new("/images"), &BTreeMap::new()).unwrap_err();
        assert!(matches!(error, PlatformError::Invalid(text) if text.contains("`Shop:..`")));
    }

    #[test]
    fn an_image_can_be_mapped_to_the_machine_or_to_another() {
        let map = [("busybox", HOST), ("docker.io/library/old", "new:2")].map(|(k, v)| (k.to_owned(), v.to_owned()));
        let found = |image: &str| folder(image, Path::new("/images"), &map.clone().into()).unwrap();
        assert_eq!(found("docker.io/library/busybox:1.36"), None);
        assert_eq!(found("docker.io/library/old:1"), Some("/images/new/2".into()));
        assert_eq!(found("old:1"), Some("/images/old/1".into()));
    }

    #[test]
    fn the_folder_comes_first_in_the_path_and_a_missing_one_is_named() {
        let folders = tempfile::tempdir().unwrap();
        let shop = folders.path().join("shop/1.0.0");
        let error = path("shop:1.0.0", folders.path(), &BTreeMap::new()).unwrap_err();
        let begin = format!("ImageNotFound: no image `shop:1.0.0`: looked for {}", shop.display());
        assert!(matches!(error, PlatformError::NotFound(text) if text.starts_with(&begin)));
        std::fs::create_dir_all(&shop).unwrap();
        let found = path("shop:1.0.0", folders.path(), &BTreeMap::new()).unwrap();
        assert!(found.starts_with(&format!("{}:", shop.display())));
    }
}
