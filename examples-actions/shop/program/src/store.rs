//! The database file: how it is opened by several processes at once, how it comes into being, and which schema it has.

use std::{path::PathBuf, time::Duration};

use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior};

use crate::{
    data_dir::DataDir,
    error::ShopError,
    schema,
    version::{UnknownVersion, Version},
};

/// How long a process waits for the writer before it.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// An open database.
pub struct Store {
    connection: Connection,
    place: PathBuf,
}

impl Store {
    /// Opens the database of `dir`, and makes an empty file when there is none.
    ///
    /// # Errors
    /// `Database` when the file is no database or cannot be opened, `File` when the lock cannot be taken.
    pub fn open(dir: &DataDir) -> Result<Self, ShopError> {
        // SQLite does not wait when two processes turn one new file to WAL mode: the second fails. So they take turns.
        let turn = dir.open_lock()?;
        turn.file.lock().map_err(ShopError::file("lock", &turn.path))?;
        let place = dir.database();
        let failed = |source| ShopError::Database { doing: "open the database", place: place.clone(), source };
        let connection = Connection::open(&place).map_err(failed)?;
        connection.busy_timeout(BUSY_TIMEOUT).map_err(failed)?;
        connection.pragma_update(None, "journal_mode", "wal").map_err(failed)?;
        Ok(Self { connection, place })
    }

    /// Opens the database of `dir`; an empty one gets the schema of `version`. An older schema stays as it is.
    ///
    /// # Errors
    /// As [`Store::open`] and [`Store::create`].
    pub fn open_or_create(dir: &DataDir, version: Version) -> Result<Self, ShopError> {
        let mut store = Self::open(dir)?;
        store.create(version)?;
        Ok(store)
    }

    /// Gives an empty database the schema of `version` and the sample orders. False when it has a schema already.
    ///
    /// # Errors
    /// `Database`.
    pub fn create(&mut self, version: Version) -> Result<bool, ShopError> {
        let failed = self.failing("create the schema");
        // The common case must not wait for a writer, who may be a long migration.
        if read_schema(&self.connection).map_err(&failed)?.is_some() {
            return Ok(false);
        }
        let transaction = self.transaction().map_err(&failed)?;
        if read_schema(&transaction).map_err(&failed)?.is_some() {
            return Ok(false);
        }
        let mut statements = vec![schema::BOOKS, schema::FIRST, schema::SAMPLE_ORDERS];
        statements.extend(schema::steps(Version::V1_0_0, version).map(|step| step.ddl));
        transaction.execute_batch(&statements.concat()).map_err(&failed)?;
        transaction.execute("INSERT INTO schema_version (version) VALUES (?1)", [version.as_str()]).map_err(&failed)?;
        transaction.commit().map_err(&failed)?;
        Ok(true)
    }

    /// The schema that the database has now; none in an empty one.
    ///
    /// # Errors
    /// `UnknownSchema`, `Database`.
    pub fn schema(&self) -> Result<Option<Version>, ShopError> {
        let text = read_schema(&self.connection).map_err(self.failing("read the schema's version"))?;
        let unknown = |UnknownVersion(found)| ShopError::UnknownSchema { place: self.place.clone(), found };
        text.map(|text| text.parse().map_err(unknown)).transpose()
    }

    /// The schema of a database that was opened with [`Store::open_or_create`].
    ///
    /// # Errors
    /// `SchemaGone` when somebody took it away since; `UnknownSchema`, `Database`.
    pub fn existing_schema(&self) -> Result<Version, ShopError> {
        self.schema()?.ok_or_else(|| ShopError::SchemaGone { place: self.place.clone() })
    }

    /// Makes sure that the schema is exactly the one of `version`.
    ///
    /// # Errors
    /// `SchemaMisfit` when it is not; as [`Store::existing_schema`].
    pub fn expect_schema(&self, version: Version) -> Result<(), ShopError> {
        let schema = self.existing_schema()?;
        if schema == version { Ok(()) } else { Err(self.misfit(schema, version)) }
    }

    pub fn misfit(&self, schema: Version, version: Version) -> ShopError {
        ShopError::SchemaMisfit { place: self.place.clone(), schema, version }
    }

    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Begins a transaction that writes: it has the write lock from the start, so it never fails half way for want of it.
    ///
    /// # Errors
    /// The database's own, also when another writer did not end in time.
    pub fn transaction(&mut self) -> rusqlite::Result<Transaction<'_>> {
        self.connection.transaction_with_behavior(TransactionBehavior::Immediate)
    }

    /// For `map_err`: `doing` is a verb with its object, such as "ship an order".
    pub fn failing(&self, doing: &'static str) -> impl Fn(rusqlite::Error) -> ShopError + use<> {
        let place = self.place.clone();
        move |source| ShopError::Database { doing, place: place.clone(), source }
    }
}

fn read_schema(connection: &Connection) -> rusqlite::Result<Option<String>> {
    // Asked of the file: `Connection::table_exists` would ask what this connection remembers of it.
    let exists = "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'schema_version')";
    if !connection.query_row(exists, [], |row| row.get(0))? {
        return Ok(None);
    }
    connection.query_row("SELECT version FROM schema_version", [], |row| row.get(0)).optional()
}
