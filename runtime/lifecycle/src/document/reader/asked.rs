//! What readers ask for, noted while tests read documents.

use std::cell::RefCell;

/// The path of a map and the fields that were asked for there.
pub type Asked = (String, Vec<&'static str>);

thread_local! {
    static ASKED: RefCell<Vec<Asked>> = const { RefCell::new(Vec::new()) };
}

pub(super) fn note(path: &str, fields: &[&'static str]) {
    ASKED.with_borrow_mut(|asked| asked.push((path.to_owned(), fields.to_vec())));
}

/// What is asked for while `read` runs.
pub fn during(read: impl FnOnce()) -> Vec<Asked> {
    ASKED.take();
    read();
    ASKED.take()
}
