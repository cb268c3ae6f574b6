//! `matches`: the regular expressions of the library have no bounds, so this is our own. A pattern is compiled within the smallest of
//! some sizes, and each byte of the text costs as much as a machine of that size may take for it.

use std::cell::RefCell;
use std::collections::BTreeMap;

use cel::ExecutionError;
use cel::common::types::{CelBool, CelString};
use cel::common::value::CowVal;
use regex::{Regex, RegexBuilder};

use super::budget::pay;

/// Bytes of the largest pattern.
pub const LONGEST: usize = 1024;

/// Bytes that a compiled pattern may take, and the steps of its compilation. A state takes about 32 bytes.
const SIZES: [(usize, u64); 3] = [(8 << 10, 300), (64 << 10, 3_000), (512 << 10, 40_000)];

/// Bytes of a compiled pattern whose whole walk is one step, for each byte of the text.
const SIZE_PER_STEP: usize = 1 << 10;

/// The largest cache of a search. The library asks for one per compiled pattern.
const CACHE: usize = 1 << 20;

/// A compiled pattern, and the steps that a byte of text costs.
type Compiled = Result<(Regex, u64), String>;

thread_local! {
    // Those of one evaluation, which has a thread of its own: a macro asks for the same one at each turn.
    static COMPILED: RefCell<BTreeMap<String, Compiled>> = const { RefCell::new(BTreeMap::new()) };
}

/// `text.matches(pattern)`.
#[expect(clippy::needless_pass_by_value, reason = "the library's type of a function")]
pub(super) fn matches<'b, 'v>(arguments: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>, ExecutionError> {
    let [text, pattern] = arguments.as_slice() else { return Err(ExecutionError::MissingArgumentOrTarget) };
    let (Some(text), Some(pattern)) = (text.downcast_ref::<CelString<'_>>(), pattern.downcast_ref::<CelString<'_>>())
    else {
        return Err(ExecutionError::MissingArgumentOrTarget);
    };
    let found = COMPILED.with_borrow_mut(|compiled| {
        let known = compiled.entry(pattern.inner().to_owned()).or_insert_with_key(|pattern| compile(pattern));
        let (regex, steps) = known.as_ref().map_err(|why| ExecutionError::function_error("matches", why))?;
        pay(steps.saturating_mul(text.inner().len() as u64));
        Ok(regex.is_match(text.inner()))
    })?;
    Ok(CowVal::owned(CelBool::from(found)))
}

fn compile(pattern: &str) -> Compiled {
    if pattern.len() > LONGEST {
        return Err(format!("the pattern has {} bytes, and may have {LONGEST}", pattern.len()));
    }
    for (size, steps) in SIZES {
        pay(steps);
        let mut builder = RegexBuilder::new(pattern);
        match builder.size_limit(size).dfa_size_limit(CACHE).nest_limit(50).build() {
            Ok(regex) => return Ok((regex, (size / SIZE_PER_STEP) as u64)),
            Err(regex::Error::CompiledTooBig(_)) => {}
            Err(error) => return Err(last_line(&error.to_string())),
        }
    }
    Err("the pattern is too large: repeat less in it".to_owned())
}

/// The last line of an error says what is wrong, those before it draw the pattern.
fn last_line(error: &str) -> String {
    let last = error.lines().last().unwrap_or_default();
    format!("the pattern is no regular expression: {}", last.trim_start_matches("error: "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::condition::budget;

    #[test]
    fn a_larger_pattern_costs_more_for_each_byte() {
        budget::fill();
        let steps = |pattern: &str| compile(pattern).map(|(_, steps)| steps);
        assert_eq!(steps("^1[.](29|30)[.]"), Ok(8));
        assert_eq!(steps("[01]*1[01]{400}"), Ok(64));
        assert!(steps(r"\w{8}").unwrap() > 64);
    }

    #[test]
    fn what_is_refused_says_why() {
        budget::fill();
        let why = |pattern: &str| compile(pattern).unwrap_err();
        assert_eq!(why("("), "the pattern is no regular expression: unclosed group");
        assert_eq!(why("((a{100}){100}){100}"), "the pattern is too large: repeat less in it");
        assert_eq!(why(&"a".repeat(1025)), "the pattern has 1025 bytes, and may have 1024");
        let nested = format!("{}a{}", "(".repeat(60), ")".repeat(60));
        assert!(why(&nested).contains("nest"), "{}", why(&nested));
    }
}
