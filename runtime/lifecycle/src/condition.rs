//! Conditions (`if` of a hook): expressions in CEL that are true or false of the values of a change.
//!
//! A condition comes from a tenant, so the library stands behind a fence: what is accepted is small and flat ([`LONGEST`],
//! [`NESTING`], [`MACROS`]), an evaluation has a number of steps ([`STEPS`]) and no more, and all of it runs on a thread whose stack
//! holds that, where a panic is caught. docs/conditions.md has the bounds and the values that a condition sees.

mod budget;
mod check;
mod items;
mod kind;
mod meter;
mod names;
mod pattern;
mod reason;
mod room;
mod shape;
mod syntax;
mod values;

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

use cel::common::types::{CelBool, DYN_TYPE, STRING_TYPE};
use cel::common::value::CowVal;
use cel::{Context, DeclarationError, Env, IdedExpr, Value};

use self::check::Check;
use self::kind::Kind;
use self::room::Lost;

pub use self::budget::{STEPS, TEXT_PER_STEP};
pub use self::check::{MACROS, NESTING};
pub use self::pattern::LONGEST as LONGEST_PATTERN;
pub use self::room::STACK;
pub use self::values::{DEEPEST as DEEPEST_VALUE, MOST as MOST_VALUES};

/// The variables that a condition knows.
pub const VARIABLES: [&str; 6] = ["release", "cluster", "change", "render", "values", "app"];

/// Bytes of the longest condition.
pub const LONGEST: usize = 8 << 10;

/// A condition that was accepted.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    /// None where nothing was asked.
    expression: Option<Expression>,
}

/// Why a condition is refused, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{line}:{column}: {message}")]
pub struct ConditionError {
    /// From 1.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
    pub message: String,
}

/// Why a condition is neither true nor false, for a person.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unevaluated(String);

/// An expression that pays for what it does.
#[derive(Debug, Clone, PartialEq)]
struct Expression {
    tree: IdedExpr,
    /// Steps of the expression without the turns of its macros.
    steps: u64,
    kind: Kind,
    /// The variables in it.
    used: BTreeSet<String>,
}

/// The library's functions, with ours in the places of those that have no bounds.
static ENV: LazyLock<Result<Arc<Env>, DeclarationError>> = LazyLock::new(|| {
    let mut env = Env::stdlib().with_optional_support(false);
    env.set_error_on_duplicate_map_keys(false);
    env.add_overload(meter::PAY, meter::PAY, vec![DYN_TYPE], budget::paid)?;
    env.add_overload(meter::ITEMS, meter::ITEMS, vec![DYN_TYPE], items::items)?;
    env.add_overload(meter::TURN, meter::TURN, vec![DYN_TYPE, DYN_TYPE], budget::turn)?;
    env.add_overload("matches", "matches_global", vec![STRING_TYPE, STRING_TYPE], pattern::matches)?;
    env.add_member_overload("matches", "matches_member", STRING_TYPE, vec![STRING_TYPE], pattern::matches)?;
    Ok(Arc::new(env))
});

impl Condition {
    /// Reads a condition; an empty one is true.
    ///
    /// # Errors
    /// Syntax, unknown names, kinds that do not fit, and what is beyond the fence: the first of them.
    pub fn compile(text: &str) -> Result<Self, ConditionError> {
        Self::compile_with(text, &VARIABLES)
    }

    /// Reads a condition over other variables than those of a change, such as `object` of what says when an object is ready.
    ///
    /// # Errors
    /// As [`Self::compile`].
    pub fn compile_with(text: &str, known: &[&str]) -> Result<Self, ConditionError> {
        if text.trim().is_empty() {
            return Ok(Self { expression: None });
        }
        let expression = Expression::compile(text, known)?;
        if !expression.kind.may_be(&[Kind::Bool]) {
            let message = format!("a condition is true or false, and this gives {}", expression.kind.with_article());
            return Err(start(message));
        }
        Ok(Self { expression: Some(expression) })
    }

    /// Whether it is true of these values, an object with a field for each variable.
    ///
    /// # Errors
    /// Whatever cannot be evaluated, and a result that is neither true nor false.
    pub fn holds(&self, values: &serde_json::Value) -> Result<bool, Unevaluated> {
        let Some(expression) = &self.expression else { return Ok(true) };
        expression.evaluate(values, |result| match result.downcast_ref::<CelBool>() {
            Some(answer) => Ok(*answer.inner()),
            None => Err(Unevaluated(format!("it gives {}, not true or false", reason::value(result.as_ref())))),
        })
    }
}

impl Expression {
    fn compile(text: &str, known: &[&str]) -> Result<Self, ConditionError> {
        if text.len() > LONGEST {
            return Err(start(format!("a condition has at most {LONGEST} bytes, and this has {}", text.len())));
        }
        let work = || {
            let env = ENV.as_ref().map_err(|error| start(error.to_string()))?;
            let (mut tree, places) = syntax::parse(env, text)?;
            let mut check = Check::new(text, &places, known);
            let kind = check.kind(&mut tree)?;
            let used = check.used;
            let steps = meter::meter(&mut tree);
            Ok(Self { tree, steps, kind, used })
        };
        room::run(work).unwrap_or_else(|lost| Err(start(words(lost).to_owned())))
    }

    /// What `read` makes of the result.
    fn evaluate<T: Send>(
        &self,
        values: &serde_json::Value,
        read: impl FnOnce(&CowVal<'_, '_>) -> Result<T, Unevaluated> + Send,
    ) -> Result<T, Unevaluated> {
        let work = || {
            let env = ENV.as_ref().map_err(|error| Unevaluated(error.to_string()))?;
            let mut context = Context::with_env(Arc::clone(env));
            let mut left = values::MOST;
            for name in &self.used {
                let Some(value) = values.get(name) else { continue };
                let value = values::converted(value, &mut left)
                    .map_err(|why| Unevaluated(format!("`{name}` {why}: too much for a condition")))?;
                context.add_variable_as_val(name, value);
            }
            budget::fill();
            budget::pay(self.steps);
            match Value::resolve_val(&self.tree, &context) {
                Ok(result) => read(&result),
                Err(error) => Err(Unevaluated(reason::of(&error))),
            }
        };
        room::run(work).unwrap_or_else(|lost| Err(Unevaluated(words(lost).to_owned())))
    }
}

/// An error of a condition as a whole.
fn start(message: String) -> ConditionError {
    ConditionError { line: 1, column: 1, message }
}

fn words(lost: Lost) -> &'static str {
    match lost {
        Lost::Spent => "it takes more steps than a condition has: go over shorter lists, or nest fewer macros",
        Lost::Panicked => "it meets a mistake in the library for CEL: write it in another way",
        Lost::NoThread => "the machine has no thread for it: free some memory",
    }
}

#[cfg(test)]
mod tests;
