//! Which of many inputs a corpus keeps: the few that together reach the most, by what libFuzzer says each of them reaches.

use std::{
    collections::{BTreeSet, HashSet},
    path::PathBuf,
};

/// An input and the places in the code that it reaches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reach {
    pub file: PathBuf,
    pub bytes: u64,
    pub places: BTreeSet<u64>,
}

/// Reads the control file of a merge: the count of files, how many of them are old, their names, and what each reaches as
/// `STARTED number bytes` and `FT number places…`. A file that nothing is said of made the program end.
pub fn read(control: &str) -> Vec<Reach> {
    let mut lines = control.lines();
    let count = lines.next().and_then(|count| count.parse().ok()).unwrap_or_default();
    let _old = lines.next();
    let file = |file| Reach { file: PathBuf::from(file), bytes: 0, places: BTreeSet::new() };
    let mut reaches: Vec<Reach> = lines.by_ref().take(count).map(file).collect();
    for line in lines {
        let mut words = line.split(' ');
        let kind = words.next();
        let mut numbers = words.filter_map(|word| word.parse::<u64>().ok());
        let Some(reach) = numbers.next().and_then(|number| reaches.get_mut(usize::try_from(number).ok()?)) else {
            continue;
        };
        match kind {
            Some("STARTED") => reach.bytes = numbers.next().unwrap_or_default(),
            Some("FT") => reach.places.extend(numbers),
            _ => {}
        }
    }
    reaches
}

/// At most `count` inputs of at most `bytes` bytes: each is the one that adds the most to those before it, the shortest of several.
pub fn choose(mut reaches: Vec<Reach>, count: usize, bytes: u64) -> Vec<PathBuf> {
    reaches.retain(|reach| reach.bytes <= bytes);
    let mut seen = HashSet::new();
    let mut chosen = Vec::new();
    while chosen.len() < count {
        let best = reaches.iter().max_by_key(|reach| (reach.places.len(), u64::MAX - reach.bytes));
        let Some(best) = best.filter(|best| !best.places.is_empty()).cloned() else { break };
        seen.extend(best.places);
        chosen.push(best.file);
        for reach in &mut reaches {
            reach.places.retain(|place| !seen.contains(place));
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::{choose, read};

    const CONTROL: &str = "4\n1\n/c/old\n/f/long\n/f/short\n/f/died\nSTARTED 0 5\nFT 0 1 2\nCOV 0 9\nSTARTED 1 90\nFT 1 2 3 4\n\
                           STARTED 2 7\nFT 2 2 3 4\nSTARTED 3 8\n";

    #[test]
    fn those_that_reach_the_most_are_kept_and_the_short_ones_first() {
        let kept = |count, bytes| {
            let chosen = choose(read(CONTROL), count, bytes);
            chosen.into_iter().map(|file| file.to_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(kept(9, 100), ["/f/short", "/c/old"]);
        assert_eq!(kept(1, 100), ["/f/short"]);
        assert_eq!(kept(9, 6), ["/c/old"]);
    }
}
