//! What a person may have meant by a name that is not known.

/// How far a name may be from what was typed, as edits.
const FARTHEST: usize = 3;
/// As many names as help.
const MOST: usize = 3;

/// Known names near `asked`, the nearest first.
#[must_use]
pub fn nearest(asked: &str, known: impl IntoIterator<Item = String>) -> Vec<String> {
    let farthest = FARTHEST.min(asked.chars().count().div_ceil(2));
    let mut near: Vec<(usize, String)> = known
        .into_iter()
        .filter_map(|name| {
            let distance = strsim::damerau_levenshtein(asked, &name);
            (distance <= farthest).then_some((distance, name))
        })
        .collect();
    near.sort();
    near.dedup();
    near.into_iter().take(MOST).map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_come_nearest_first_and_far_ones_not_at_all() {
        let known = || ["shop-1", "shop-2", "shop-12", "web-1", "x"].map(str::to_owned);
        assert_eq!(nearest("shop-22", known()), ["shop-12", "shop-2", "shop-1"]);
        assert_eq!(nearest("sohp-1", known())[0], "shop-1");
        assert!(nearest("billing-7", known()).is_empty());
        assert!(nearest("", known()).is_empty());
    }
}
