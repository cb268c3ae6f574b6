//! Following changes live: a tree that is drawn anew on a terminal, appended lines in a pipe. What cannot be shown does not stop a
//! change.

mod live;
mod plain;

use std::io::IsTerminal as _;
use std::sync::Arc;
use std::time::Duration;

use pintle_journal::change_log::ChangeLog;
use pintle_journal::clock::Clock;
use pintle_journal::journal::Journal;
use pintle_lifecycle::ids::ChangeKey;
use pintle_lifecycle::record::Record;
use tokio::sync::mpsc;

use self::live::Live;
use self::plain::Plain;
use super::interrupt::OnInterrupt;
use super::paint::Paint;
use crate::error::Error;
use crate::story::Story;

/// Records that come together are shown together, so that a busy change does not spend its time on the screen.
const GATHER: Duration = Duration::from_millis(40);
/// How often what takes long is shown anew.
const TICK: Duration = Duration::from_millis(250);

/// Shows what happens in changes.
pub struct Follower {
    records: mpsc::UnboundedReceiver<Record>,
    clock: Arc<dyn Clock>,
    screen: Screen,
    stories: Vec<Story>,
}

enum Screen {
    Live(Live),
    Plain(Plain),
}

impl Follower {
    pub fn new(
        records: mpsc::UnboundedReceiver<Record>,
        clock: Arc<dyn Clock>,
        paint: Paint,
        on_interrupt: OnInterrupt,
    ) -> Self {
        let screen = if std::io::stdout().is_terminal() {
            Screen::Live(Live::new(paint, on_interrupt))
        } else {
            Screen::Plain(Plain::new(paint))
        };
        Self { records, clock, screen, stories: Vec::new() }
    }

    /// Says a line of this verb itself, after what has happened already.
    pub fn say(&mut self, text: &str) {
        self.catch_up();
        match &mut self.screen {
            Screen::Live(live) => live.say(text),
            Screen::Plain(plain) => plain.say(text),
        }
    }

    /// Begins to follow these changes, from what is recorded of them already.
    ///
    /// # Errors
    /// Where that cannot be read.
    pub async fn begin(&mut self, changes: &[Arc<ChangeLog>], journal: &dyn Journal) -> Result<(), Error> {
        self.stories.clear();
        for log in changes {
            let change = log.look(|history| history.key.clone());
            self.stories.push(Story::read(journal, &change).await?);
        }
        match &mut self.screen {
            Screen::Live(live) => live.draw(&self.stories),
            Screen::Plain(plain) => plain.begin(&self.stories),
        }
        Ok(())
    }

    /// Shows what comes next. May be dropped at any time.
    pub async fn show(&mut self) {
        tokio::select! {
            next = self.records.recv() => match next {
                Some(record) => {
                    let mut records = vec![record];
                    self.gather(&mut records);
                    self.take(&records);
                    self.clock.sleep(GATHER).await;
                }
                // Nothing comes any more.
                None => std::future::pending().await,
            },
            () = self.clock.sleep(TICK) => self.take(&[]),
        }
    }

    /// Shows the rest and stops following.
    pub fn end(&mut self) {
        self.catch_up();
        if let Screen::Live(live) = &mut self.screen {
            live.end(&self.stories);
        }
        self.stories.clear();
    }

    fn catch_up(&mut self) {
        let mut records = Vec::new();
        self.gather(&mut records);
        self.take(&records);
    }

    fn gather(&mut self, records: &mut Vec<Record>) {
        while let Ok(record) = self.records.try_recv() {
            records.push(record);
        }
    }

    fn take(&mut self, records: &[Record]) {
        let now = self.clock.now();
        let mut news = Vec::new();
        for record in records {
            let Some(story) = find(&mut self.stories, &record.change) else { continue };
            // What was read at the beginning comes once more where it was told meanwhile.
            if record.seq < story.history.next {
                continue;
            }
            match story.take(record) {
                Ok(()) => news.push(record),
                Err(error) => tracing::warn!(%error, "a record cannot be shown"),
            }
        }
        match &mut self.screen {
            Screen::Live(live) => live.draw(&self.stories),
            Screen::Plain(plain) => plain.show(&self.stories, &news, now),
        }
    }
}

fn find<'s>(stories: &'s mut [Story], change: &ChangeKey) -> Option<&'s mut Story> {
    stories.iter_mut().find(|story| story.history.key == *change)
}
