//! Takes acknowledged records into the views, wherever those are kept: in memory while the log is short, in the index later. The
//! writer and the replay at open both go through here.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pintle_lifecycle::ids::ChangeKey;
use pintle_lifecycle::record::Record;

use super::shelf::{Kept, Shelf};
use crate::index::fold::{FoldError, fill};
use crate::index::{Index, IndexError, Mark, open};
use crate::log::position::{Place, Position};
use crate::log::segment::StoreId;
use crate::views::Views;

/// What may wait for one batch of the index. Records and bytes bound what is replayed after a crash, keys how long a batch takes,
/// during which nobody reads.
const PENDING_RECORDS: usize = 8_192;
const PENDING_BYTES: usize = 4 << 20;
const PENDING_KEYS: usize = 4_096;

/// The writing side of the shelf.
pub(crate) struct Intake {
    store: PathBuf,
    id: StoreId,
    shelf: Arc<Shelf>,
    mark: Mark,
    /// Bytes of records that are kept track of in memory.
    bytes: usize,
    index_from_bytes: usize,
}

impl Intake {
    /// Views in memory, of nothing yet.
    pub(super) fn in_memory(store: &Path, id: StoreId, index_from_bytes: usize) -> Self {
        let mark = Mark { store: id.hex(), group: 0, at: Position { segment: 0, offset: 0 }, format: 0 };
        Self::of(store, id, Kept::Memory(Views::default()), mark, index_from_bytes)
    }

    /// Goes on with an index.
    pub(super) fn with_index(store: &Path, id: StoreId, index: Index, mark: Mark) -> Self {
        Self::of(store, id, Kept::Index(index), mark, 0)
    }

    fn of(store: &Path, id: StoreId, kept: Kept, mark: Mark, index_from_bytes: usize) -> Self {
        Self { store: store.to_owned(), id, shelf: Arc::new(Shelf::new(kept)), mark, bytes: 0, index_from_bytes }
    }

    pub(crate) fn shelf(&self) -> &Arc<Shelf> {
        &self.shelf
    }

    /// Whether the views are in memory only.
    pub(super) fn is_in_memory(&self) -> bool {
        matches!(*self.shelf.kept(), Kept::Memory(_))
    }

    /// Number of the next record of a change.
    pub(super) fn next(&mut self, change: &ChangeKey) -> Result<u64, IndexError> {
        match &*self.shelf.kept() {
            Kept::Memory(views) => Ok(views.next(change)),
            Kept::Index(index) => self.shelf.fold().next(index, change),
        }
    }

    /// Takes in the records of a group, which lies at `at`.
    ///
    /// # Errors
    /// Where a record is not the next of its change, or the index fails.
    pub(super) fn take<'a>(
        &mut self,
        at: Position,
        number: u64,
        records: impl IntoIterator<Item = (&'a Record, Place)>,
    ) -> Result<(), FoldError> {
        let mark = &mut self.mark;
        let records = records.into_iter().inspect(|(record, _)| {
            mark.format = mark.format.max(u16::try_from(record.v).unwrap_or(u16::MAX));
        });
        if matches!(*self.shelf.kept(), Kept::Memory(_)) {
            if let Kept::Memory(views) = &mut *self.shelf.kept_mut() {
                for (record, place) in records {
                    views.take(record, place)?;
                    self.bytes += place.len as usize;
                }
            }
        } else if let Kept::Index(index) = &*self.shelf.kept() {
            let mut fold = self.shelf.fold();
            for (record, place) in records {
                fold.take(index, record, place)?;
            }
        }
        self.mark.group = number;
        self.mark.at = at;
        Ok(())
    }

    /// Puts into the index what has gathered, if it is much.
    ///
    /// # Errors
    /// Where the index fails.
    pub(super) fn settle_if_due(&mut self) -> Result<(), IndexError> {
        if !self.is_due() {
            return Ok(());
        }
        if !self.is_in_memory() {
            return self.settle();
        }
        if let Err(error) = self.move_to_index() {
            // Reads do without it; when there is twice as much to read, there may be room for it.
            open::discard(&self.store, &error);
            self.index_from_bytes = self.bytes.saturating_mul(2).max(1 << 20);
        }
        Ok(())
    }

    /// Whether so much has gathered that it should go into the index.
    pub(super) fn is_due(&self) -> bool {
        if self.is_in_memory() {
            return self.bytes >= self.index_from_bytes;
        }
        let pending = self.shelf.fold().pending();
        pending.records >= PENDING_RECORDS || pending.bytes >= PENDING_BYTES || pending.keys >= PENDING_KEYS
    }

    /// Puts everything into the index, where there is one.
    ///
    /// # Errors
    /// Where the index fails.
    pub(super) fn settle(&mut self) -> Result<(), IndexError> {
        let kept = self.shelf.kept();
        let Kept::Index(index) = &*kept else { return Ok(()) };
        let Some(batch) = self.shelf.fold().batch(&self.mark)? else { return Ok(()) };
        batch.apply(index)?;
        self.shelf.fold().settled();
        Ok(())
    }

    fn move_to_index(&mut self) -> Result<(), IndexError> {
        let (index, _) = open::create(&self.store, self.id)?;
        if let Kept::Memory(views) = &*self.shelf.kept() {
            open::guarded(|| fill(&index, views, &self.mark))?;
        }
        *self.shelf.kept_mut() = Kept::Index(index);
        self.bytes = 0;
        Ok(())
    }
}
