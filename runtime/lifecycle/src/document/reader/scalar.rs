//! Reading single values: texts, names, numbers, durations, words.

use std::fmt::Display;
use std::ops::RangeInclusive;

use super::Cursor;
use super::word::{is_version, nearest, shortened};
use crate::document::template::OPEN;
use crate::document::yaml::Value;
use crate::document::{duration, image};
use crate::ids::is_label;

impl Cursor<'_> {
    pub(super) fn wrong_type(&self, expected: &str, cure: &str) {
        let found = match &self.node.value {
            Value::Null => "nothing".to_owned(),
            Value::Bool(truth) => format!("the truth value {truth}"),
            Value::Number { raw, .. } => format!("the number {}", shortened(raw)),
            Value::Text(text) => format!("the text `{}`", shortened(text)),
            Value::List(_) => "a list".to_owned(),
            Value::Map(_) => "a map".to_owned(),
        };
        self.problem(format!("expected {expected}, found {found}"), cure);
    }

    #[must_use]
    pub fn text(&self) -> Option<String> {
        match &self.node.value {
            Value::Text(text) => return Some(text.clone()),
            Value::Number { raw, .. } => {
                self.wrong_type("a text", &format!("put it in quotes: \"{}\"", shortened(raw)));
            }
            Value::Bool(truth) => self.wrong_type("a text", &format!("put it in quotes: \"{truth}\"")),
            _ => self.wrong_type("a text", ""),
        }
        None
    }

    /// A text that `check` finds nothing wrong with, or a template: what that gives is checked once it is rendered.
    pub fn checked_text(&self, check: impl FnOnce(&str) -> Result<(), (String, String)>) -> Option<String> {
        let text = self.text()?;
        if self.is_template() {
            return Some(text);
        }
        match check(&text) {
            Ok(()) => Some(text),
            Err((message, cure)) => {
                self.problem(message, cure);
                None
            }
        }
    }

    /// A text with something in it.
    #[must_use]
    pub fn filled_text(&self) -> Option<String> {
        self.checked_text(|text| {
            let empty = text.trim().is_empty();
            if empty {
                Err(("the text is empty".to_owned(), "write something, or remove it".to_owned()))
            } else {
                Ok(())
            }
        })
    }

    /// A DNS-1123 label.
    #[must_use]
    pub fn label(&self) -> Option<String> {
        self.checked_text(|text| {
            if is_label(text) {
                return Ok(());
            }
            let message = format!("`{}` is no DNS label", shortened(text));
            Err((message, "use lower-case letters, digits and `-` inside, at most 63".to_owned()))
        })
    }

    /// A version that can be an image's tag.
    #[must_use]
    pub fn version(&self) -> Option<String> {
        self.checked_text(|text| {
            if is_version(text) {
                return Ok(());
            }
            let message = format!("`{}` is no version", shortened(text));
            Err((message, "use letters, digits, `.`, `_` and `-`, as in an image's tag, at most 128".to_owned()))
        })
    }

    /// An image reference, in which the application's version may stand where templates allow it.
    #[must_use]
    pub fn image(&self) -> Option<String> {
        let text = self.text()?;
        if self.is_template() && image::image_at(&text, "").contains(OPEN) {
            return Some(text);
        }
        match image::check(&text) {
            Ok(()) => Some(text),
            Err(error) => {
                self.problem(error.to_string(), "as in host:5000/team/shop:1.2.0");
                None
            }
        }
    }

    #[must_use]
    pub fn boolean(&self) -> Option<bool> {
        if let Value::Bool(truth) = self.node.value {
            return Some(truth);
        }
        self.wrong_kind("true or false");
        None
    }

    /// Something stands where a number or a truth value has to.
    fn wrong_kind(&self, expected: &str) {
        if self.is_template() {
            let message = format!("a template gives a text, and this has to be {expected}");
            self.problem(message, "write the value out");
        } else {
            self.wrong_type(expected, "");
        }
    }

    #[must_use]
    pub fn integer<T: TryFrom<i64> + PartialOrd + Display>(&self, range: RangeInclusive<T>) -> Option<T> {
        let bounds = format!("a whole number from {} to {}", range.start(), range.end());
        let Value::Number { number, .. } = &self.node.value else {
            self.wrong_kind(&bounds);
            return None;
        };
        let whole = number.as_i64().and_then(|n| T::try_from(n).ok()).filter(|n| range.contains(n));
        if whole.is_none() {
            self.wrong_type(&bounds, "");
        }
        whole
    }

    /// Milliseconds of a duration such as `1h30m`.
    #[must_use]
    pub fn duration(&self) -> Option<u64> {
        const CURE: &str = "as in 500ms, 30s, 5m or 1h30m";
        if let Value::Number { .. } = self.node.value {
            self.problem("a duration needs a unit", CURE);
            return None;
        }
        let text = self.text()?;
        duration::parse(&text).map_err(|why| self.problem(format!("{why}: `{}`", shortened(&text)), CURE)).ok()
    }

    /// A duration that is not zero.
    #[must_use]
    pub fn time_limit(&self) -> Option<u64> {
        let ms = self.duration()?;
        if ms == 0 {
            self.problem("no time at all is no limit", "leave it out for no limit, or give a time");
            return None;
        }
        Some(ms)
    }

    /// One of a few words.
    pub fn word<T: Copy>(&self, words: &[(&str, T)]) -> Option<T> {
        let text = self.text()?;
        if let Some((_, value)) = words.iter().find(|(word, _)| *word == text) {
            return Some(*value);
        }
        let names: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        let cure = nearest(&text, &names).map(|word| format!("did you mean `{word}`?")).unwrap_or_default();
        self.problem(format!("`{}` is none of {}", shortened(&text), names.join(", ")), cure);
        None
    }
}
