//! What the shop sells: orders are placed by the server, in a queue, and shipped by the worker, one by one.

use std::num::NonZeroU32;

use rusqlite::Connection;
use serde::{Deserialize, Serialize};

use crate::{error::ShopError, store::Store, version::Version};

/// An order as a customer sends it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewOrder {
    pub item: String,
    pub quantity: NonZeroU32,
    pub unit_price_cents: u32,
}

/// How many orders there are.
#[derive(Debug, Serialize)]
pub struct Counts {
    pub orders: u32,
    /// Those that are not shipped yet.
    pub queued: u32,
}

impl Store {
    /// Takes an order into the queue and returns its number. Writes only what every schema has.
    ///
    /// # Errors
    /// `Database`.
    pub fn place_order(&mut self, order: &NewOrder) -> Result<i64, ShopError> {
        let failed = self.failing("place an order");
        let transaction = self.transaction().map_err(&failed)?;
        transaction
            .execute(
                "INSERT INTO orders (item, quantity, unit_price_cents) VALUES (?1, ?2, ?3)",
                (&order.item, order.quantity.get(), order.unit_price_cents),
            )
            .map_err(&failed)?;
        let id = transaction.last_insert_rowid();
        transaction.execute("INSERT INTO queue (order_id) VALUES (?1)", [id]).map_err(&failed)?;
        transaction.commit().map_err(&failed)?;
        Ok(id)
    }

    /// Ships the oldest order of the queue, the way `version` does it, and returns its number.
    ///
    /// # Errors
    /// `Database`; the order then is still in the queue.
    pub fn ship_next_order(&mut self, version: Version) -> Result<Option<i64>, ShopError> {
        let failed = self.failing("ship an order");
        let transaction = self.transaction().map_err(&failed)?;
        let oldest = transaction.query_row("SELECT min(order_id) FROM queue", [], |row| row.get(0)).map_err(&failed)?;
        if let Some(id) = oldest {
            ship(&transaction, id, version).map_err(&failed)?;
            transaction.commit().map_err(&failed)?;
        }
        Ok(oldest)
    }

    /// # Errors
    /// `Database`.
    pub fn counts(&self) -> Result<Counts, ShopError> {
        self.connection()
            .query_row("SELECT (SELECT count(*) FROM orders), (SELECT count(*) FROM queue)", [], |row| {
                Ok(Counts { orders: row.get(0)?, queued: row.get(1)? })
            })
            .map_err(self.failing("count the orders"))
    }
}

fn ship(connection: &Connection, id: i64, version: Version) -> rusqlite::Result<()> {
    if version >= Version::V1_1_0 {
        connection.execute("UPDATE orders SET state = 'shipped' WHERE id = ?1", [id])?;
    }
    if version >= Version::V1_2_0 {
        connection.execute(
            "INSERT INTO invoices (order_id, total_cents) SELECT id, quantity * unit_price_cents FROM orders WHERE id = ?1",
            [id],
        )?;
    }
    connection.execute("DELETE FROM queue WHERE order_id = ?1", [id])?;
    Ok(())
}
