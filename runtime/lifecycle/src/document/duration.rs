//! Durations as people write them in documents: `500ms`, `30s`, `1h30m`, `168h`.

const UNITS: [(&str, u64); 5] = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

/// Milliseconds of `text`.
///
/// # Errors
/// What is wrong with it, as a clause.
pub fn parse(text: &str) -> Result<u64, &'static str> {
    let mut rest = text;
    let mut total: u64 = 0;
    let mut smallest = u64::MAX;
    if rest.starts_with('-') {
        return Err("a duration cannot be negative");
    }
    if rest.is_empty() {
        return Err("a duration cannot be empty");
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).ok_or("a duration needs a unit")?;
        if digits == 0 {
            return Err("a duration is whole numbers with units");
        }
        let count: u64 = rest[..digits].parse().map_err(|_| "the duration is too long")?;
        rest = &rest[digits..];
        let letters = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
        let (_, size) = UNITS
            .iter()
            .find(|(unit, _)| *unit == &rest[..letters])
            .ok_or("a duration has the units d, h, m, s, ms")?;
        if *size >= smallest {
            return Err("the units of a duration go from large to small, each once");
        }
        smallest = *size;
        rest = &rest[letters..];
        total = count.checked_mul(*size).and_then(|part| total.checked_add(part)).ok_or("the duration is too long")?;
    }
    Ok(total)
}

/// Milliseconds as they would be written in a document.
#[must_use]
pub fn shown(ms: u64) -> String {
    let mut rest = ms;
    let mut text = String::new();
    for (unit, size) in UNITS {
        if rest >= size {
            text += &(rest / size).to_string();
            text += unit;
            rest %= size;
        }
    }
    if text.is_empty() { "0s".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read() {
        for (text, ms) in [
            ("500ms", 500),
            ("30s", 30_000),
            ("30m", 1_800_000),
            ("1h30m", 5_400_000),
            ("168h", 604_800_000),
            ("2d1ms", 172_800_001),
            ("90m", 5_400_000),
            ("0s", 0),
        ] {
            assert_eq!(parse(text), Ok(ms), "{text}");
            assert_eq!(parse(&shown(ms)), Ok(ms), "{text}");
        }
    }

    #[test]
    fn what_is_no_duration_says_why() {
        for (text, why) in [
            ("", "empty"),
            ("-5m", "negative"),
            ("5", "needs a unit"),
            ("m", "whole numbers"),
            ("1.5h", "units"),
            ("5 m", "units"),
            ("5min", "units"),
            ("5m1h", "large to small"),
            ("5m5m", "large to small"),
            ("99999999999999999999s", "too long"),
            ("999999999999999999d", "too long"),
            ("５m", "whole numbers"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
