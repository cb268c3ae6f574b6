//! What is wrong with a condition that parses: unknown names, calls that do not fit, kinds that do not fit, and what is nested too deep.

use std::collections::BTreeSet;

use cel::IdedExpr;
use cel::common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, SelectExpr, SourceInfo, operators};

use super::kind::{Kind, of_binary, symbol};
use super::names::{self, Call, Function};
use super::shape::{self, Macro};
use super::{ConditionError, syntax};
use crate::document::reader::{nearest, shortened};

/// How deep expressions may be nested: `a + b + c` is two deep.
pub const NESTING: usize = 128;

/// How deep the body of a macro may be nested in others.
pub const MACROS: usize = 3;

/// A walk through an expression.
pub(super) struct Check<'a> {
    text: &'a str,
    places: &'a SourceInfo,
    known: &'a [&'a str],
    /// Names that macros bind, the innermost last.
    bound: Vec<String>,
    depth: usize,
    /// The variables that were found.
    pub(super) used: BTreeSet<String>,
}

type Checked = Result<Kind, ConditionError>;

impl<'a> Check<'a> {
    pub(super) fn new(text: &'a str, places: &'a SourceInfo, known: &'a [&'a str]) -> Self {
        Self { text, places, known, bound: Vec::new(), depth: 0, used: BTreeSet::new() }
    }

    /// The kind of a whole expression.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub(super) fn kind(&mut self, expression: &mut IdedExpr) -> Checked {
        if self.depth > NESTING {
            let message = format!("this is nested deeper than {NESTING}: write it flatter");
            return Err(self.at(expression.id, message));
        }
        self.depth += 1;
        let kind = self.kind_below(expression);
        self.depth -= 1;
        kind
    }

    fn kind_below(&mut self, expression: &mut IdedExpr) -> Checked {
        let id = expression.id;
        match &mut expression.expr {
            Expr::Literal(literal) => Ok(Kind::of_literal(literal)),
            Expr::Ident(name) => self.of_name(id, name),
            Expr::Select(select) => self.of_select(id, select),
            Expr::Call(call) => self.of_call(id, call),
            Expr::List(list) => {
                for element in &mut list.elements {
                    self.kind(element)?;
                }
                Ok(Kind::List)
            }
            Expr::Map(map) => {
                for entry in &mut map.entries {
                    let EntryExpr::MapEntry(entry) = &mut entry.expr else {
                        return Err(self.at(id, "a map has keys and values: `{\"a\": 1}`".to_owned()));
                    };
                    let key = self.kind(&mut entry.key)?;
                    if !key.may_be(&[Kind::Bool, Kind::Int, Kind::UInt, Kind::String]) {
                        let message = format!("{} is no key: keys are strings, ints or bools", key.with_article());
                        return Err(self.at(entry.key.id, message));
                    }
                    self.kind(&mut entry.value)?;
                }
                Ok(Kind::Map)
            }
            Expr::Comprehension(comprehension) => self.of_macro(id, comprehension),
            Expr::Struct(of_type) => {
                let name = shortened(&of_type.type_name);
                Err(self
                    .at(id, format!("`{name}{{…}}` makes a message, and there are none: write a map, `{{\"a\": 1}}`")))
            }
            Expr::Unspecified => Err(self.at(id, "something is missing here".to_owned())),
        }
    }

    fn of_name(&mut self, id: u64, name: &str) -> Checked {
        let global = name.strip_prefix('.');
        if global.is_none() && self.bound.iter().any(|bound| bound == name) {
            return Ok(Kind::Any);
        }
        let name = global.unwrap_or(name);
        if self.known.contains(&name) {
            self.used.insert(name.to_owned());
            return Ok(Kind::Any);
        }
        if names::TYPES.contains(&name) {
            return Ok(Kind::Type);
        }
        let bound = self.bound.iter().map(String::as_str);
        let names: Vec<&str> = self.known.iter().copied().chain(bound).collect();
        let cure = match nearest(name, &names) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("a condition knows {}", list(&names)),
        };
        Err(self.at(id, format!("there is no variable `{}`: {cure}", shortened(name))))
    }

    fn of_select(&mut self, id: u64, select: &mut SelectExpr) -> Checked {
        let of = self.kind(&mut select.operand)?;
        if !of.may_be(&[Kind::Map]) {
            let message = format!("{} has no field `{}`", of.with_article(), shortened(&select.field));
            return Err(self.at(id, message));
        }
        Ok(if select.test { Kind::Bool } else { Kind::Any })
    }

    fn of_call(&mut self, id: u64, call: &mut CallExpr) -> Checked {
        let name = call.func_name.as_str();
        match (name, call.args.as_mut_slice()) {
            (operators::CONDITIONAL, [condition, then, otherwise]) => {
                let is = self.kind(condition)?;
                self.must_be_bool(condition.id, is, "what stands before `?`")?;
                let (then, otherwise) = (self.kind(then)?, self.kind(otherwise)?);
                match (then, otherwise) {
                    (one, other) if one == other => Ok(one),
                    (Kind::Any | Kind::Null, _) | (_, Kind::Any | Kind::Null) => Ok(Kind::Any),
                    (one, other) => {
                        let (one, other) = (one.with_article(), other.with_article());
                        Err(self.at(id, format!("`?:` gives {one} or {other}: both sides must be of one kind")))
                    }
                }
            }
            (operators::LOGICAL_NOT, [of]) => {
                let is = self.kind(of)?;
                self.must_be_bool(of.id, is, "what stands after `!`")
            }
            (operators::NEGATE, [of]) => {
                let is = self.kind(of)?;
                if is.may_be(&[Kind::Int, Kind::Double]) {
                    return Ok(is);
                }
                Err(self.at(id, format!("`-` does not work on {}", is.with_article())))
            }
            (_, [left, right]) if call.target.is_none() && symbol(name) != name => {
                let (one, other) = (self.kind(left)?, self.kind(right)?);
                of_binary(name, one, other).ok_or_else(|| {
                    let (one, other) = (one.with_article(), other.with_article());
                    self.at(id, format!("`{}` does not work on {one} and {other}", symbol(name)))
                })
            }
            _ => self.of_function(id, call),
        }
    }

    fn of_function(&mut self, id: u64, call: &mut CallExpr) -> Checked {
        let Some(function) = names::function(&call.func_name) else { return Err(self.unknown(id, call)) };
        let given = usize::from(call.target.is_some()) + call.args.len();
        let fits = match function.call {
            Call::Global => call.target.is_none(),
            Call::Member => call.target.is_some(),
            Call::Both => true,
        };
        let most = function.takes.len();
        if !fits || given > most || given + function.optional < most {
            let message = format!("`{}` is not called so: write `{}`", function.name, function.example);
            return Err(self.at_name(id, function.name, message));
        }
        let target = call.target.iter_mut().map(|target| &mut **target);
        for (argument, kinds) in target.chain(&mut call.args).zip(function.takes) {
            let is = self.kind(argument)?;
            if !kinds.is_empty() && !is.may_be(kinds) {
                return Err(self.at(argument.id, unfit(function, is)));
            }
        }
        Ok(function.gives)
    }

    fn unknown(&self, id: u64, call: &CallExpr) -> ConditionError {
        let name = call.func_name.as_str();
        let message = match names::MACROS.iter().find(|(known, _)| *known == name) {
            Some((_, example)) => format!("`{name}` is not called so: write `{example}`"),
            None => match nearest(name, &names::callable()) {
                Some(near) => format!("there is no function `{}`: did you mean `{near}`?", shortened(name)),
                None => format!("there is no function `{}`: there are {}", shortened(name), list(&names::callable())),
            },
        };
        self.at_name(id, name, message)
    }

    fn of_macro(&mut self, id: u64, comprehension: &mut ComprehensionExpr) -> Checked {
        let over = self.kind(&mut comprehension.iter_range)?;
        if !over.may_be(&[Kind::List, Kind::Map]) {
            let message = format!("{} has no items: macros go over lists and maps", over.with_article());
            return Err(self.at(comprehension.iter_range.id, message));
        }
        if self.bound.len() == MACROS {
            let message = format!("macros are nested deeper than {MACROS}: the time grows with each");
            return Err(self.at(id, message));
        }
        let name = comprehension.iter_var.clone();
        let Some(parts) = shape::parts(comprehension) else {
            return Err(self.at(id, "this macro is not known here: `all`, `exists`, `filter` and `map` are".to_owned()));
        };
        self.bound.push(name);
        if let Some(guard) = parts.guard {
            let is = self.kind(guard)?;
            self.must_be_bool(guard.id, is, "what is asked of each item")?;
        }
        if let Some(item) = parts.item {
            self.kind(item)?;
        }
        self.bound.pop();
        Ok(match parts.is {
            Macro::Question => Kind::Bool,
            Macro::List => Kind::List,
        })
    }

    fn must_be_bool(&self, id: u64, is: Kind, what: &str) -> Checked {
        if is.may_be(&[Kind::Bool]) {
            return Ok(Kind::Bool);
        }
        Err(self.at(id, format!("{what} must be true or false, and is {}", is.with_article())))
    }

    fn at(&self, id: u64, message: String) -> ConditionError {
        let byte = self.places.offset_for(id).map_or(0, |(start, _)| start as usize);
        let (line, column) = syntax::place(self.text, byte);
        ConditionError { line, column, message }
    }

    /// At the name of a call; the library knows the place of its bracket.
    fn at_name(&self, id: u64, name: &str, message: String) -> ConditionError {
        let bracket = self.places.offset_for(id).map_or(0, |(start, _)| start as usize);
        let before = self.text.get(..bracket).unwrap_or_default().trim_end();
        let byte = if before.ends_with(name) { before.len() - name.len() } else { bracket };
        let (line, column) = syntax::place(self.text, byte);
        ConditionError { line, column, message }
    }
}

fn unfit(function: &Function, is: Kind) -> String {
    format!("`{}` does not take {}: write `{}`", function.name, is.with_article(), function.example)
}

fn list(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
