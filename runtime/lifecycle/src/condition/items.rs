//! What macros go over. The library's maps have their keys in an order that differs from process to process, and a condition must
//! give the same each time: the keys of a map come sorted.

use cel::ExecutionError;
use cel::common::types::{CelList, CelMap};
use cel::common::value::{CowVal, Val};

use super::budget::pay_for;

/// `@items(value)`: the sorted keys of a map; any other value as it is.
pub(super) fn items<'b, 'v>(mut arguments: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>, ExecutionError> {
    let value = arguments.pop().ok_or(ExecutionError::MissingArgumentOrTarget)?;
    let Some(map) = value.downcast_ref::<CelMap<'v>>() else { return Ok(value) };
    let mut keys: Vec<_> = map.inner().keys().inspect(|key| pay_for(key.inner())).collect();
    keys.sort();
    let keys: Vec<Box<dyn Val + 'v>> = keys.into_iter().map(|key| key.inner().clone_as_boxed()).collect();
    Ok(CowVal::owned(CelList::from(keys)))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::condition::Condition;

    #[test]
    fn the_keys_of_a_map_are_sorted() {
        let names: Vec<String> = (100..400).map(|number| format!("k{number}")).collect();
        let map: Value = names.iter().rev().map(|name| (name.clone(), json!(1))).collect();
        let values = json!({"app": {"map": map, "names": names}});
        for text in [
            "app.map.map(key, key) == app.names",
            "app.map.filter(key, key > \"k200\")[0] == \"k201\"",
            "{3: 1, 1: 1, 2: 1}.map(key, key) == [1, 2, 3]",
            "{\"a\": 1, 2: 1, true: 1, 1u: 1, false: 1}.map(key, key) == [2, 1u, false, true, \"a\"]",
        ] {
            assert_eq!(Condition::compile(text).unwrap().holds(&values), Ok(true), "{text}");
        }
    }
}
