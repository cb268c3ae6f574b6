//! The values that a condition sees, as the library's: borrowed from the JSON where they are texts.

use cel::common::types::{CelBool, CelDouble, CelInt, CelList, CelMap, CelMapKey, CelNull, CelString, CelUInt};
use cel::common::value::Val;
use serde_json::Value;

/// The most values that the variables of one condition may hold.
pub const MOST: usize = 250_000;

/// The deepest nesting of a variable.
pub const DEEPEST: usize = 128;

/// The library's value of one variable. `left` is what is left of [`MOST`].
///
/// # Errors
/// Too many values, or too deep, in words.
pub(super) fn converted<'v>(value: &'v Value, left: &mut usize) -> Result<Box<dyn Val + 'v>, String> {
    at_depth(value, left, DEEPEST)
}

fn at_depth<'v>(value: &'v Value, left: &mut usize, depth: usize) -> Result<Box<dyn Val + 'v>, String> {
    *left = left.checked_sub(1).ok_or_else(|| format!("holds more than {MOST} values"))?;
    let below = || depth.checked_sub(1).ok_or_else(|| format!("is nested deeper than {DEEPEST}"));
    Ok(match value {
        Value::Null => Box::new(CelNull),
        Value::Bool(value) => Box::new(CelBool::from(*value)),
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(number), _) => Box::new(CelInt::from(number)),
            (None, Some(number)) => Box::new(CelUInt::from(number)),
            (None, None) => Box::new(CelDouble::from(number.as_f64().unwrap_or(f64::NAN))),
        },
        Value::String(text) => Box::new(CelString::from(text.as_str())),
        Value::Array(items) => {
            let depth = below()?;
            let items: Result<Vec<_>, _> = items.iter().map(|item| at_depth(item, left, depth)).collect();
            Box::new(CelList::from(items?))
        }
        Value::Object(fields) => {
            let depth = below()?;
            let mut map = CelMap::default().into_inner();
            for (key, value) in fields {
                map.insert(CelMapKey::from(key.as_str()), at_depth(value, left, depth)?);
            }
            Box::new(CelMap::from(map))
        }
    })
}
