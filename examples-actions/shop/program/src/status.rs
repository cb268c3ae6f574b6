//! What `shop db status` tells: enough to see from outside whether an upgrade did its work, and did it once.

use std::fmt;

use serde::Serialize;

use crate::{data_dir::DataDir, error::ShopError, migration::Runs, orders::Counts, store::Store, version::Version};

/// The database as it is now.
#[derive(Debug, Serialize)]
pub struct Status {
    /// The program's own version.
    pub version: Version,
    /// None when there is no database yet.
    pub schema: Option<Version>,
    #[serde(flatten)]
    pub counts: Counts,
    pub migrations: Vec<Runs>,
}

impl Status {
    /// Reads the status; makes no database where there is none.
    ///
    /// # Errors
    /// `UnknownSchema`, `Database`, `File`.
    pub fn read(dir: &DataDir, version: Version) -> Result<Self, ShopError> {
        let none = Self { version, schema: None, counts: Counts { orders: 0, queued: 0 }, migrations: Vec::new() };
        if !dir.database().exists() {
            return Ok(none);
        }
        let store = Store::open(dir)?;
        let Some(schema) = store.schema()? else { return Ok(none) };
        Ok(Self { version, schema: Some(schema), counts: store.counts()?, migrations: store.migration_runs()? })
    }
}

impl fmt::Display for Status {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "program     {}", self.version)?;
        writeln!(formatter, "schema      {}", self.schema.map_or("none", Version::as_str))?;
        write!(formatter, "orders      {}, of them {} queued", self.counts.orders, self.counts.queued)?;
        for runs in &self.migrations {
            write!(
                formatter,
                "\nmigrations  to {}: {} started, {} finished",
                runs.version, runs.started, runs.finished
            )?;
        }
        Ok(())
    }
}
