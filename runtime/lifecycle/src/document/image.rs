//! Images of components in documents: a reference, or one that follows the application's version.

use pintle_image::{Image, ImageError};

/// The forms that stand for the version. Literally so: this is no template engine.
const VERSION: [&str; 2] = ["{{ app.version }}", "{{ .app.version }}"];

/// An image override with the application's version set.
#[must_use]
pub fn image_at(image: &str, version: &str) -> String {
    VERSION.iter().fold(image.to_owned(), |image, form| image.replace(form, version))
}

/// Checks an image override before it is known which version it will be used with.
///
/// # Errors
/// Where no version makes it a reference.
pub(super) fn check(image: &str) -> Result<(), ImageError> {
    image_at(image, "1").parse::<Image>().map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_set_in_both_forms_and_no_other() {
        for (image, set) in [
            ("host:5000/shop:{{ app.version }}", "host:5000/shop:1.2.0"),
            ("shop:{{ .app.version }}-{{ app.version }}", "shop:1.2.0-1.2.0"),
            ("shop:{{app.version}}", "shop:{{app.version}}"),
            ("shop:1.0.0", "shop:1.0.0"),
        ] {
            assert_eq!(image_at(image, "1.2.0"), set);
        }
    }
}
