//! The schemas of the shop, version by version. Each one only adds to the one before, so a server of any version runs on
//! each of them; a worker writes what its own version added and therefore wants exactly its own.

use crate::version::Version;

/// Into how many slices a backfill is cut, and how many progress lines a step prints.
pub const SLICES: u32 = 10;

/// What the schema keeps about itself: its version, and each migration run that was ever started.
pub const BOOKS: &str = "
    CREATE TABLE schema_version (version TEXT NOT NULL);
    CREATE TABLE migrations (
        run INTEGER PRIMARY KEY,
        version TEXT NOT NULL,
        started_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ')),
        finished_at TEXT,
        pid INTEGER NOT NULL
    );";

/// Schema 1.0.0.
pub const FIRST: &str = "
    CREATE TABLE orders (
        id INTEGER PRIMARY KEY,
        item TEXT NOT NULL,
        quantity INTEGER NOT NULL,
        unit_price_cents INTEGER NOT NULL,
        placed_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ'))
    );
    CREATE TABLE queue (order_id INTEGER PRIMARY KEY REFERENCES orders (id));";

/// Twenty orders that wait to be shipped: a migration without rows would show little.
pub const SAMPLE_ORDERS: &str = "
    INSERT INTO orders (item, quantity, unit_price_cents)
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20)
        SELECT CASE i % 3 WHEN 0 THEN 'rudder' WHEN 1 THEN 'pintle' ELSE 'gudgeon' END, i % 4 + 1, i * 150 FROM n;
    INSERT INTO queue (order_id) SELECT id FROM orders;";

/// The way from the schema before to the one of `version`.
pub struct Step {
    pub version: Version,
    pub ddl: &'static str,
    /// Brings the orders of slice `?1` of `?2` up to the new schema.
    pub backfill: &'static str,
}

static STEPS: [Step; 2] = [
    Step {
        version: Version::V1_1_0,
        ddl: "ALTER TABLE orders ADD COLUMN state TEXT NOT NULL DEFAULT 'placed';",
        backfill: "UPDATE orders SET state = 'shipped'
            WHERE id % ?2 = ?1 AND id NOT IN (SELECT order_id FROM queue)",
    },
    Step {
        version: Version::V1_2_0,
        ddl: "CREATE TABLE invoices (
                order_id INTEGER PRIMARY KEY REFERENCES orders (id),
                total_cents INTEGER NOT NULL
            );",
        backfill: "INSERT INTO invoices (order_id, total_cents)
            SELECT id, quantity * unit_price_cents FROM orders WHERE id % ?2 = ?1 AND state = 'shipped'",
    },
];

/// The steps that lead from schema `from` to schema `to`, in order.
pub fn steps(from: Version, to: Version) -> impl Iterator<Item = &'static Step> {
    STEPS.iter().filter(move |step| from < step.version && step.version <= to)
}
