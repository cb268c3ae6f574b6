//! `config.yml`: what a person sets for all that Pintle does on this machine, as it was written.

use std::collections::BTreeMap;

use super::driver::header;
use super::problem::{Placed, Problems};
use super::reader::{Cursor, Source, Templates};

/// The configuration, as far as it could be read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ConfigDocument {
    pub local: LocalCluster,
}

/// `clusters.local`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LocalCluster {
    /// The folder that images are looked up in where driver or release bring none, relative to the file.
    pub images: Option<Placed<String>>,
    /// Images to take in place of others, by whole reference, by repository or by name.
    pub image_map: BTreeMap<String, String>,
}

impl ConfigDocument {
    /// Reads the text of `file`.
    pub fn read(file: &str, text: &str, problems: &mut Problems) -> Self {
        let source = Source::open(file, text, Templates::Refused);
        let local = source.only().and_then(|cursor| {
            cursor.fields(|fields| {
                header(fields, "Config");
                fields.optional("clusters").and_then(|clusters| clusters.fields(|fields| fields.optional("local")))
            })
        });
        let local = local.flatten().flatten().and_then(|local| read_local(&local));
        source.close(problems);
        Self { local: local.unwrap_or_default() }
    }
}

fn read_local(cursor: &Cursor<'_>) -> Option<LocalCluster> {
    let images = cursor.fields(|fields| fields.optional("images"))??;
    images.fields(|fields| LocalCluster {
        images: fields.optional("path").and_then(|path| Some(path.placed(path.filled_text()?))),
        image_map: fields.optional("map").map(|map| read_map(&map)).unwrap_or_default(),
    })
}

fn read_map(cursor: &Cursor<'_>) -> BTreeMap<String, String> {
    let mut map = BTreeMap::new();
    for (image, other) in cursor.entries() {
        if let Err(error) = image.parse::<pintle_image::Image>() {
            other.problem(error.to_string(), "map the name of an image: `busybox: host`");
        }
        if let Some(other) = other.image() {
            map.insert(image.to_owned(), other);
        }
    }
    map
}
