//! A journal that tells of each record once it is durable, so that whoever follows a change sees nothing that a crash could take
//! back.

use std::sync::Arc;

use async_trait::async_trait;
use pintle_journal::journal::{ChangeQuery, Journal, JournalError, Receipt};
use pintle_lifecycle::ids::{ChangeKey, ReleaseKey};
use pintle_lifecycle::record::Record;
use pintle_lifecycle::view::{ChangeView, ReleaseView};
use tokio::sync::{mpsc, oneshot};

/// Passes everything on to a journal and tells of what it acknowledged.
pub struct Witness {
    journal: Arc<dyn Journal>,
    appended: mpsc::UnboundedSender<Appended>,
}

/// Records that were handed to the journal.
struct Appended {
    records: Vec<Record>,
    receipt: Receipt,
    acknowledge: oneshot::Sender<Result<(), JournalError>>,
}

impl Witness {
    /// Starts telling. The sender is dropped when the witness is gone and the last record was told.
    #[must_use]
    pub fn of(journal: Arc<dyn Journal>, told: mpsc::UnboundedSender<Record>) -> Self {
        let (appended, mut queue) = mpsc::unbounded_channel::<Appended>();
        tokio::spawn(async move {
            // The journal acknowledges in the order of the appends, so waiting for one at a time delays none.
            while let Some(next) = queue.recv().await {
                let result = next.receipt.await;
                if result.is_ok() {
                    for record in next.records {
                        // Nobody follows any more: the change goes on without.
                        drop(told.send(record));
                    }
                }
                // Whoever appended may not wait for it.
                drop(next.acknowledge.send(result));
            }
        });
        Self { journal, appended }
    }
}

#[async_trait]
impl Journal for Witness {
    fn append(&self, records: Vec<Record>) -> Receipt {
        let (acknowledge, answer) = Receipt::waiting();
        let mut receipt = self.journal.append(records.clone());
        // To tell of a record is no reason to hurry the journal; that somebody waits for it is.
        let answer = answer.with_hurry(receipt.take_hurry());
        // Without the queue's other end the runtime is gone, and the receipt says that the journal was closed.
        drop(self.appended.send(Appended { records, receipt, acknowledge }));
        answer
    }

    async fn records(&self, change: &ChangeKey) -> Result<Vec<Record>, JournalError> {
        self.journal.records(change).await
    }

    async fn change(&self, change: &ChangeKey) -> Result<Option<ChangeView>, JournalError> {
        self.journal.change(change).await
    }

    async fn changes(&self, query: ChangeQuery) -> Result<Vec<ChangeView>, JournalError> {
        self.journal.changes(query).await
    }

    async fn open_changes(&self) -> Result<Vec<ChangeKey>, JournalError> {
        self.journal.open_changes().await
    }

    async fn release(&self, release: &ReleaseKey) -> Result<Option<ReleaseView>, JournalError> {
        self.journal.release(release).await
    }

    async fn releases(&self) -> Result<Vec<ReleaseView>, JournalError> {
        self.journal.releases().await
    }

    async fn state(&self, uid: &str, key: &str) -> Result<Option<Vec<u8>>, JournalError> {
        self.journal.state(uid, key).await
    }

    fn trouble(&self) -> Option<String> {
        self.journal.trouble()
    }
}

#[cfg(test)]
mod tests {
    use pintle_journal::MemoryJournal;
    use pintle_lifecycle::ids::StepId;
    use pintle_lifecycle::record::{Event, FORMAT};
    use pintle_lifecycle::stamp::Stamp;

    use super::*;

    fn record(seq: u64) -> Record {
        let change = ReleaseKey::new("default", "shop").unwrap().change(1);
        let event = Event::ChangeStuck { step: StepId::root("a"), question: String::new() };
        Record { v: FORMAT, change, seq, at: Stamp::default(), event }
    }

    #[tokio::test]
    async fn what_is_not_acknowledged_is_not_told() {
        let (told, mut records) = mpsc::unbounded_channel();
        // A first record that opens no change is refused.
        let witness = Witness::of(Arc::new(MemoryJournal::new()), told);
        assert!(witness.append(vec![record(0)]).await.is_err());
        drop(witness);
        assert_eq!(records.recv().await, None);
    }
}
