//! What people write, read into values: `driver.yml`, `release.yml`, files of hooks, manifests and `config.yml`.
//!
//! Reading never stops at the first problem. Each reader takes a [`Problems`] that it adds to, and gives the document as far as it
//! could be read, so that planning can look at the rest and a person sees everything that is wrong at once. Only where there are
//! no problems does a document count.

mod content;
pub mod duration;
mod image;
mod not_yet;
mod yaml;

pub mod config;
pub mod driver;
pub mod lifecycle;
pub mod manifest;
pub mod problem;
pub mod reader;
pub mod release;
pub mod schema;
pub mod template;

pub use config::ConfigDocument;
pub use content::{Content, ManifestsContent};
pub use driver::DriverDocument;
pub use image::image_at;
pub use lifecycle::{HookSpec, LifecycleDocument, WorkSpec};
pub use manifest::Manifest;
pub use problem::{Place, Placed, Problem, Problems};
pub use release::ReleaseDocument;
pub use schema::{DocumentKind, schema};
pub use template::Template;

/// The version of all documents that this Pintle reads.
pub const API_VERSION: &str = "pintle.dev/v1alpha1";
