//! What people see of problems: places that are in the document, in their order, and text that does nothing to a terminal.

use pintle_lifecycle::document::Problems;

/// All problems of `file` are at places of `text`, and can be printed as they are.
pub fn assert_shown(problems: &Problems, file: &str, text: &str) {
    let lines = lengths(text);
    let mut before = (0, 0);
    for problem in problems.iter() {
        let place = &problem.place;
        assert_eq!(&*place.file, file);
        let (line, column) = (place.line as usize, place.column as usize);
        let len = line.checked_sub(1).and_then(|line| lines.get(line));
        let len = len.unwrap_or_else(|| panic!("line {line} of {}: {problem:?}", lines.len()));
        assert!((1..=len + 1).contains(&column), "column {column} of {len}: {problem:?}");
        assert!(before <= (line, column), "problems come in the order of their places: {problem:?}");
        before = (line, column);
        assert!(!problem.message.is_empty(), "{problem:?}");
        for shown in [&place.path, &problem.message, &problem.cure] {
            assert!(!shown.contains(char::is_control), "a terminal would obey {shown:?}");
        }
    }
    assert_eq!(problems.to_string().is_empty(), problems.is_empty());
    assert!(serde_json::to_string(problems).is_ok());
}

/// Characters of each line, as YAML breaks lines.
fn lengths(text: &str) -> Vec<usize> {
    let text = text.replace("\r\n", "\n");
    // A break at the end begins no line.
    let text = text.strip_suffix(['\n', '\r']).unwrap_or(&text);
    text.split(['\n', '\r']).map(|line| line.chars().count()).collect()
}
