//! Kinds of values, as far as they are known before anything is evaluated: a variable may hold anything.

use cel::common::ast::{LiteralValue, operators};

/// What an expression gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Known when it is evaluated.
    Any,
    Null,
    Bool,
    Int,
    UInt,
    Double,
    String,
    Bytes,
    List,
    Map,
    Duration,
    Timestamp,
    Type,
}

impl Kind {
    pub(super) const NUMBERS: [Self; 3] = [Self::Int, Self::UInt, Self::Double];

    pub(super) fn of_literal(literal: &LiteralValue) -> Self {
        match literal {
            LiteralValue::Boolean(_) => Self::Bool,
            LiteralValue::Bytes(_) => Self::Bytes,
            LiteralValue::Double(_) => Self::Double,
            LiteralValue::Int(_) => Self::Int,
            LiteralValue::Null => Self::Null,
            LiteralValue::String(_) => Self::String,
            LiteralValue::UInt(_) => Self::UInt,
        }
    }

    /// The kind that the library calls so.
    pub(super) fn of_name(name: &str) -> Option<Self> {
        Some(match name {
            "null_type" | "null" => Self::Null,
            "bool" => Self::Bool,
            "int" => Self::Int,
            "uint" => Self::UInt,
            "double" => Self::Double,
            "string" => Self::String,
            "bytes" => Self::Bytes,
            "list" => Self::List,
            "map" => Self::Map,
            "duration" | "google.protobuf.Duration" => Self::Duration,
            "timestamp" | "google.protobuf.Timestamp" => Self::Timestamp,
            "type" => Self::Type,
            _ => return None,
        })
    }

    pub(super) fn with_article(self) -> &'static str {
        match self {
            Self::Any => "any value",
            Self::Null => "null",
            Self::Bool => "a bool",
            Self::Int => "an int",
            Self::UInt => "a uint",
            Self::Double => "a double",
            Self::String => "a string",
            Self::Bytes => "bytes",
            Self::List => "a list",
            Self::Map => "a map",
            Self::Duration => "a duration",
            Self::Timestamp => "a timestamp",
            Self::Type => "a type",
        }
    }

    /// Whether it may be one of these: what is not known may be anything.
    pub(super) fn may_be(self, kinds: &[Self]) -> bool {
        self == Self::Any || kinds.contains(&self)
    }

    fn is_number(self) -> bool {
        Self::NUMBERS.contains(&self)
    }
}

/// What a binary operator gives; none where it does not work on these kinds.
pub(super) fn of_binary(operator: &str, left: Kind, right: Kind) -> Option<Kind> {
    use Kind::{Any, Bool, Bytes, Double, Duration, Int, List, Map, Null, String, Timestamp, UInt};
    let known = left != Any && right != Any;
    match operator {
        operators::LOGICAL_AND | operators::LOGICAL_OR => {
            (left.may_be(&[Bool]) && right.may_be(&[Bool])).then_some(Bool)
        }
        operators::EQUALS | operators::NOT_EQUALS => {
            (!known || left == right || left == Null || right == Null).then_some(Bool)
        }
        operators::LESS | operators::LESS_EQUALS | operators::GREATER | operators::GREATER_EQUALS => {
            let ordered = [Bool, Int, UInt, Double, String, Bytes, Duration, Timestamp];
            let alike = !known || left == right || left.is_number() && right.is_number();
            (alike && left.may_be(&ordered) && right.may_be(&ordered)).then_some(Bool)
        }
        operators::IN => right.may_be(&[List, Map]).then_some(Bool),
        operators::INDEX => {
            let fits = match left {
                List => right.may_be(&Kind::NUMBERS),
                Map => right.may_be(&[Bool, Int, UInt, Double, String]),
                _ => left == Any,
            };
            fits.then_some(Any)
        }
        _ if !known => of_half_known(operator, left, right),
        operators::ADD => match (left, right) {
            (Timestamp, Duration) | (Duration, Timestamp) => Some(Timestamp),
            _ => (left == right && left.may_be(&[Int, UInt, Double, String, Bytes, List, Duration])).then_some(left),
        },
        operators::SUBSTRACT => match (left, right) {
            (Timestamp, Timestamp) => Some(Duration),
            (Timestamp, Duration) => Some(Timestamp),
            _ => (left == right && left.may_be(&[Int, UInt, Double, Duration])).then_some(left),
        },
        operators::MULTIPLY | operators::DIVIDE => (left == right && left.is_number()).then_some(left),
        operators::MODULO => (left == right && left.may_be(&[Int, UInt])).then_some(left),
        _ => Some(Any),
    }
}

/// Arithmetic on a kind that is known and one that is not.
fn of_half_known(operator: &str, left: Kind, right: Kind) -> Option<Kind> {
    use Kind::{Any, Bytes, Double, Duration, Int, List, String, Timestamp, UInt};
    let works_on: &[Kind] = match operator {
        operators::ADD => &[Int, UInt, Double, String, Bytes, List, Duration, Timestamp],
        operators::SUBSTRACT => &[Int, UInt, Double, Duration, Timestamp],
        operators::MULTIPLY | operators::DIVIDE => &Kind::NUMBERS,
        operators::MODULO => &[Int, UInt],
        _ => return Some(Any),
    };
    (left.may_be(works_on) && right.may_be(works_on)).then_some(Any)
}

/// An operator as it is written; other names as they are.
pub(super) fn symbol(name: &str) -> &str {
    match name {
        operators::CONDITIONAL => "?:",
        operators::LOGICAL_AND => "&&",
        operators::LOGICAL_OR => "||",
        operators::LOGICAL_NOT => "!",
        operators::SUBSTRACT | operators::NEGATE => "-",
        operators::ADD => "+",
        operators::MULTIPLY => "*",
        operators::DIVIDE => "/",
        operators::MODULO => "%",
        operators::EQUALS => "==",
        operators::NOT_EQUALS => "!=",
        operators::GREATER_EQUALS => ">=",
        operators::LESS_EQUALS => "<=",
        operators::GREATER => ">",
        operators::LESS => "<",
        operators::INDEX => "[ ]",
        operators::IN => "in",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_must_fit_and_what_is_not_may() {
        use Kind::{Any, Bool, Double, Duration, Int, List, Null, String, Timestamp};
        for (operator, left, right, gives) in [
            (operators::EQUALS, String, Int, None),
            (operators::EQUALS, String, Any, Some(Bool)),
            (operators::EQUALS, Null, Int, Some(Bool)),
            (operators::LESS, Int, Double, Some(Bool)),
            (operators::LESS, Int, String, None),
            (operators::LESS, List, Any, None),
            (operators::ADD, Timestamp, Duration, Some(Timestamp)),
            (operators::ADD, Int, Double, None),
            (operators::ADD, Bool, Any, None),
            (operators::ADD, Any, Any, Some(Any)),
            (operators::MODULO, Double, Double, None),
            (operators::IN, Int, String, None),
            (operators::INDEX, List, String, None),
            (operators::LOGICAL_AND, Any, Int, None),
        ] {
            assert_eq!(of_binary(operator, left, right), gives, "{left:?} {operator} {right:?}");
        }
    }
}
