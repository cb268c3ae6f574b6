//! Every way in which the program can fail, and the exit code that it then has. The codes are part of what the example
//! shows: an action, or a person, can tell "a worker is connected" from "the disk is full".

use std::{
    io,
    net::SocketAddr,
    path::{Path, PathBuf},
};

use crate::version::Version;

/// Why a command of the shop was not done.
#[derive(Debug, thiserror::Error)]
pub enum ShopError {
    #[error("{}: there is no shop {found}; write 1.0.0, 1.1.0 or 1.2.0 into it", place.display())]
    UnknownVersion { place: PathBuf, found: String },

    #[error(
        "{}: the schema is `{found}`, which this program does not know; use the program that made it",
        place.display()
    )]
    UnknownSchema { place: PathBuf, found: String },

    #[error("{}: the schema is {schema}, but shop {version} needs its own; {}", place.display(), cure(*schema, *version))]
    SchemaMisfit { place: PathBuf, schema: Version, version: Version },

    #[error("{}: there is no schema any more; run `shop db init`", place.display())]
    SchemaGone { place: PathBuf },

    #[error("{}: a worker is connected; stop all workers, then migrate", place.display())]
    WorkerConnected { place: PathBuf },

    #[error("{}: a migration is running; wait until it has ended", place.display())]
    MigrationRuns { place: PathBuf },

    #[error("cannot listen on {address}; choose a free address with --listen or SHOP_LISTEN")]
    Listen { address: SocketAddr, source: io::Error },

    #[error("cannot {doing} {}", place.display())]
    File { doing: &'static str, place: PathBuf, source: io::Error },

    #[error("{}: cannot {doing}", place.display())]
    Database { doing: &'static str, place: PathBuf, source: rusqlite::Error },

    #[error("cannot {doing}")]
    Process { doing: &'static str, source: io::Error },
}

impl ShopError {
    /// For `map_err`: `doing` is a verb in front of the path, such as "read".
    pub fn file(doing: &'static str, place: impl AsRef<Path>) -> impl Fn(io::Error) -> Self {
        let place = place.as_ref().to_owned();
        move |source| Self::File { doing, place: place.clone(), source }
    }

    /// For `map_err`: `doing` is a verb with its object, such as "start the runtime".
    pub fn process(doing: &'static str) -> impl Fn(io::Error) -> Self {
        move |source| Self::Process { doing, source }
    }

    /// The program's exit code; the README of the example lists them.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Listen { .. } | Self::File { .. } | Self::Database { .. } | Self::Process { .. } => 1,
            Self::UnknownVersion { .. } => 2,
            Self::UnknownSchema { .. } | Self::SchemaMisfit { .. } | Self::SchemaGone { .. } => 3,
            Self::WorkerConnected { .. } => 4,
            Self::MigrationRuns { .. } => 5,
        }
    }
}

fn cure(schema: Version, version: Version) -> String {
    if schema < version {
        "run `shop db migrate` of this version first".to_owned()
    } else {
        format!("use shop {schema}")
    }
}
