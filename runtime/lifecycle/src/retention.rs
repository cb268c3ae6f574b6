//! Which workloads of hooks that stayed are deleted: all but the newest of each hook, and those that are too old.

use std::collections::BTreeMap;

use crate::document::release::Retention;

/// A workload that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stayed {
    pub phase: String,
    pub hook: String,
    /// The change that created it: `shop-12`.
    pub change: String,
    /// Milliseconds since 1970.
    pub created_ms: u64,
    pub ended: bool,
}

/// The places of those that are to be deleted. What runs stays, and so does what the open change made: its verdict may be needed.
#[must_use]
pub fn doomed(stayed: &[Stayed], retention: Retention, open: Option<&str>, now_ms: u64) -> Vec<usize> {
    let mut of_hook: BTreeMap<(&str, &str), Vec<usize>> = BTreeMap::new();
    for (place, one) in stayed.iter().enumerate() {
        of_hook.entry((&one.phase, &one.hook)).or_default().push(place);
    }
    let mut doomed = Vec::new();
    for places in of_hook.values_mut() {
        places.sort_by_key(|place| std::cmp::Reverse(stayed[*place].created_ms));
        for (newer, place) in places.iter().enumerate() {
            let one = &stayed[*place];
            let too_many = retention.keep_last.is_some_and(|keep| newer >= keep as usize);
            let too_old = retention.max_age_ms.is_some_and(|age| now_ms.saturating_sub(one.created_ms) > age);
            if one.ended && (too_many || too_old) && Some(one.change.as_str()) != open {
                doomed.push(*place);
            }
        }
    }
    doomed.sort_unstable();
    doomed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stayed(hook: &str, change: u64, created_ms: u64, ended: bool) -> Stayed {
        let change = format!("shop-{change}");
        Stayed { phase: "preSync".into(), hook: hook.into(), change, created_ms, ended }
    }

    #[test]
    fn the_newest_of_each_hook_are_kept_and_what_is_too_old_is_not() {
        let all = [
            stayed("a", 1, 10, true),
            stayed("a", 2, 20, true),
            stayed("a", 3, 30, true),
            stayed("b", 1, 11, true),
            stayed("b", 3, 31, false),
        ];
        let doomed = |keep_last, max_age_ms, open, now| doomed(&all, Retention { keep_last, max_age_ms }, open, now);
        assert_eq!(doomed(None, None, None, 1_000), [] as [usize; 0]);
        assert_eq!(doomed(Some(1), None, None, 1_000), [0, 1, 3]);
        assert_eq!(doomed(Some(2), None, None, 1_000), [0]);
        // What runs stays.
        assert_eq!(doomed(Some(0), None, None, 1_000), [0, 1, 2, 3]);
        assert_eq!(doomed(Some(0), None, Some("shop-3"), 1_000), [0, 1, 3]);
        assert_eq!(doomed(None, Some(15), None, 30), [0, 3]);
        assert_eq!(doomed(None, Some(20), None, 30), [] as [usize; 0]);
    }
}
