//! Words of messages: paths, shortened texts, and the known name that was probably meant.

/// The path of a key inside a path.
pub(crate) fn joined(path: &str, key: &str) -> String {
    let plain = !key.is_empty() && key.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'-' || c == b'_');
    match (path.is_empty(), plain) {
        (true, true) => shortened(key),
        (false, true) => format!("{path}.{}", shortened(key)),
        _ => format!("{path}[{:?}]", shortened(key)),
    }
}

/// A text from a document, cut to what a message can hold.
pub(crate) fn shortened(text: &str) -> String {
    let mut chars = text.chars();
    let short: String = chars.by_ref().take(60).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if chars.next().is_some() { format!("{short}…") } else { short }
}

/// The known name that is most like `text`, where one is alike at all.
pub(crate) fn nearest<'n>(text: &str, names: &[&'n str]) -> Option<&'n str> {
    let text = shortened(text);
    let distance = |name: &&str| strsim::damerau_levenshtein(&text.to_lowercase(), &name.to_lowercase());
    let best = names.iter().min_by_key(|name| distance(name))?;
    (distance(best) <= (best.len() / 3).max(1)).then_some(best)
}

/// Whether `text` can be the tag of an image.
#[must_use]
pub fn is_version(text: &str) -> bool {
    let letter = |c: u8| c.is_ascii_alphanumeric() || c == b'_';
    let bytes = text.as_bytes();
    bytes.first().is_some_and(|&c| letter(c))
        && bytes.len() <= 128
        && bytes.iter().all(|&c| letter(c) || c == b'.' || c == b'-')
}
