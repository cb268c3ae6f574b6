//! Tables without borders, as people know them from `kubectl get`: upper-case headings, three spaces between columns.

use comfy_table::{ContentArrangement, Table, presets};

/// The text of a table, each line ended.
#[must_use]
pub fn table(headings: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(headings.iter().copied());
    // A cell is one line, whatever text came in.
    table.add_rows(rows.into_iter().map(|row| row.into_iter().map(|cell| one_line(&cell)).collect::<Vec<_>>()));
    for column in table.column_iter_mut() {
        column.set_padding((0, 3));
    }
    format!("{}\n", table.trim_fmt())
}

/// A text without line breaks and without other characters that move a terminal's cursor.
#[must_use]
pub fn one_line(text: &str) -> String {
    if text.contains(char::is_control) {
        text.split(char::is_control).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
    } else {
        text.to_owned()
    }
}

/// Each line moved in by two spaces.
#[must_use]
pub fn indented(text: &str) -> String {
    text.lines().flat_map(|line| if line.is_empty() { ["", "", "\n"] } else { ["  ", line, "\n"] }).collect()
}

/// `<none>` for what is not there.
#[must_use]
pub fn or_none(text: Option<impl Into<String>>) -> String {
    text.map_or_else(|| "<none>".to_owned(), Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_lines_have_no_tail() {
        let rows =
            [vec!["shop".to_owned(), "1".to_owned()], vec!["web-shop".to_owned(), "two\nlines\u{1b}[2J".to_owned()]];
        assert_eq!(table(&["NAME", "WHAT"], rows), "NAME       WHAT\nshop       1\nweb-shop   two lines [2J\n");
    }
}
