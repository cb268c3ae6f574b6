//! The cases with some letters changed, moved, doubled or left out. `PINTLE_SEED=N` tries the same again.

use std::hash::{BuildHasher, RandomState};

use super::*;

const ROUNDS: u64 = 10_000;

/// What is put into the middle of expressions.
const BITS: [&str; 24] = [
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "\"",
    "'",
    ".",
    ",",
    "?",
    ":",
    "!",
    "-",
    "&&",
    "||",
    "==",
    "in",
    "é",
    "@",
    "\\",
    "99999999999",
    ".map(x, x)",
    ".all(x, true)",
];

struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        // Vigna's splitmix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % end.max(1) as u64).unwrap()
    }
}

fn mutated(dice: &mut Dice, texts: &[&str]) -> String {
    let mut letters: Vec<char> = texts[dice.below(texts.len())].chars().collect();
    for _ in 0..=dice.below(4) {
        let (one, other) = (dice.below(letters.len() + 1), dice.below(letters.len() + 1));
        let (from, to) = (one.min(other), one.max(other));
        match dice.below(6) {
            0 => drop(letters.drain(from..to)),
            1 => drop(letters.splice(from..from, BITS[dice.below(BITS.len())].chars())),
            2 => drop(letters.splice(from..to, BITS[dice.below(BITS.len())].chars())),
            3 => {
                let part = letters[from..to].repeat(1 + dice.below(40));
                drop(letters.splice(from..from, part));
            }
            4 => {
                let other: Vec<char> = texts[dice.below(texts.len())].chars().collect();
                drop(letters.splice(from..to, other));
            }
            _ => letters[from..to].reverse(),
        }
    }
    letters.into_iter().collect()
}

fn dice(test: &str) -> Dice {
    let given = std::env::var("PINTLE_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = given.unwrap_or_else(|| RandomState::new().hash_one(test) >> 16);
    println!("{test}: PINTLE_SEED={seed}");
    Dice(seed.wrapping_mul(2).wrapping_add(1))
}

/// What the condition gives; never a panic that only the fence caught, and never nothing at all.
fn tried(round: u64, text: &str, values: &Value) -> Result<bool, String> {
    #[expect(clippy::disallowed_methods, reason = "whether it ends at all")]
    let begin = Instant::now();
    let answer = answer(text, values);
    assert!(begin.elapsed().as_secs() < 60, "round {round} took {:?}: {text}", begin.elapsed());
    if let Err(why) = &answer {
        assert!(!why.contains("mistake in the library"), "round {round}: {text}: {why}");
    }
    answer
}

/// Texts of many words, few of which parse: what they cost is the parser.
#[test]
fn word_soups_end() {
    const WORDS: [&str; 26] = [
        "a", ".b", "[", "]", "(", ")", "{", "}", ":", "?", ",", "&&", "||", "==", "<", "+", "-", "!", "1", "\"s\"",
        "a.b(", "a{b:", ".all(x,", "has(", " in ", "[0]",
    ];
    let mut dice = dice("word soups");
    for round in 0..300 {
        let (begin, kinds) = (dice.below(WORDS.len()), 1 + dice.below(6));
        let words: Vec<&str> = (0..kinds).map(|_| WORDS[dice.below(WORDS.len())]).collect();
        let mut text = WORDS[begin].to_owned();
        let length = dice.below(LONGEST);
        while text.len() < length {
            text.push_str(words[dice.below(kinds)]);
        }
        drop(tried(round, &text, &json!({"a": {"b": [1]}})));
    }
}

#[test]
fn mutations_of_the_cases_end_with_an_answer_or_a_reason() {
    let cases = cases::all();
    let texts: Vec<&str> = cases.iter().map(|case| case.expr.as_str()).collect();
    let mut dice = dice("mutations of conditions");
    let mut answered = 0;
    for round in 0..ROUNDS {
        let text = mutated(&mut dice, &texts);
        answered += u64::from(tried(round, &text, &cases[0].values).is_ok());
    }
    // Else the mutations would only ever meet the parser.
    assert!(answered > ROUNDS / 100, "{answered} answers");
}
