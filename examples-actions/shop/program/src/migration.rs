//! A migration run. It writes down that it started before it does anything, so a run that was started twice is there to be
//! seen; and it changes the schema in one transaction with the note that it finished, so a killed run has changed nothing.

use std::{process, thread, time::Duration};

use serde::Serialize;

use crate::{
    data_dir::DataDir, error::ShopError, presence::Presence, say::say, schema, store::Store, version::Version,
};

/// The runs that were started for one version.
#[derive(Debug, Serialize)]
pub struct Runs {
    pub version: String,
    pub started: u32,
    pub finished: u32,
}

/// Brings the schema of `dir` to `version`, and keeps workers out meanwhile. Takes `pace` for each version on the way, in
/// equal pauses with the transaction open, so that there is a middle to be killed in.
///
/// # Errors
/// `WorkerConnected`, `SchemaMisfit` for a schema newer than `version`: then no run was started. `MigrationRuns`: this run
/// is on record and never finishes. `Database`, `File`.
pub fn migrate(dir: &DataDir, version: Version, pace: Duration) -> Result<(), ShopError> {
    let mut store = Store::open_or_create(dir, version)?;
    let _presence = match Presence::migration(dir) {
        Err(refusal @ ShopError::MigrationRuns { .. }) => {
            store.record_start(version)?;
            return Err(refusal);
        }
        other => other?,
    };
    let from = store.existing_schema()?;
    if from > version {
        return Err(store.misfit(from, version));
    }
    let run = store.record_start(version)?;
    store.apply_steps(from, version, run, pace)?;
    if from == version {
        say(format_args!("the schema is {version} already: nothing to migrate"));
    } else {
        say(format_args!("migrated the schema from {from} to {version}"));
    }
    Ok(())
}

impl Store {
    /// Every run on record, by version.
    ///
    /// # Errors
    /// `Database`.
    pub fn migration_runs(&self) -> Result<Vec<Runs>, ShopError> {
        let failed = self.failing("read the migration runs");
        let mut statement = self
            .connection()
            .prepare("SELECT version, count(*), count(finished_at) FROM migrations GROUP BY version ORDER BY version")
            .map_err(&failed)?;
        let runs = statement
            .query_map([], |row| Ok(Runs { version: row.get(0)?, started: row.get(1)?, finished: row.get(2)? }))
            .map_err(&failed)?;
        runs.collect::<Result<_, _>>().map_err(&failed)
    }

    /// Durable when it returns. Gives the run's number.
    fn record_start(&self, version: Version) -> Result<i64, ShopError> {
        self.connection()
            .execute("INSERT INTO migrations (version, pid) VALUES (?1, ?2)", (version.as_str(), process::id()))
            .map_err(self.failing("record the start of the migration"))?;
        Ok(self.connection().last_insert_rowid())
    }

    #[expect(clippy::disallowed_methods, reason = "a migration of the example takes real time")]
    fn apply_steps(&mut self, from: Version, to: Version, run: i64, pace: Duration) -> Result<(), ShopError> {
        let failed = self.failing("migrate the schema");
        let transaction = self.transaction().map_err(&failed)?;
        for step in schema::steps(from, to) {
            transaction.execute_batch(step.ddl).map_err(&failed)?;
            for slice in 0..schema::SLICES {
                transaction.execute(step.backfill, (slice, schema::SLICES)).map_err(&failed)?;
                say(format_args!("migrating {}: {}/{}", step.version, slice + 1, schema::SLICES));
                thread::sleep(pace / schema::SLICES);
            }
        }
        transaction.execute("UPDATE schema_version SET version = ?1", [to.as_str()]).map_err(&failed)?;
        transaction
            .execute("UPDATE migrations SET finished_at = strftime('%Y-%m-%dT%H:%M:%fZ') WHERE run = ?1", [run])
            .map_err(&failed)?;
        transaction.commit().map_err(&failed)
    }
}
