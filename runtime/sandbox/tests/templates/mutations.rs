//! Cases with some characters changed, moved, doubled or left out. `PINTLE_SEED=N` tries the same again, `PINTLE_ROUNDS=10000` more.

use std::hash::{BuildHasher as _, RandomState};

use pintle_sandbox::{TemplateBounds, Templates};

use crate::rig::{cases, render, sandbox};

const BATCH: usize = 100;
const PARTS: [&str; 24] = [
    "{{", "}}", "{{-", "-}}", "(", ")", "|", ".", "$", "$x", ":=", "\"", "`", "range", "end", "if", "else", "define",
    "template", "include", "-1", "99999", "\u{0}", ".nope.x",
];

/// Random numbers that follow from a seed: Vigna's splitmix64.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) >> 1).unwrap() % end
    }

    fn mutate(&mut self, text: &str, other: &str) -> String {
        let mut text: Vec<char> = text.chars().collect();
        let other: Vec<char> = other.chars().collect();
        for _ in 0..=self.below(4) {
            if text.is_empty() {
                break;
            }
            let at = self.below(text.len());
            let length = self.below(12).min(text.len() - at);
            match self.below(5) {
                0 => text[at] = char::from(u8::try_from(self.below(128)).unwrap()),
                1 => drop(text.drain(at..at + length)),
                2 => {
                    let doubled = text[at..at + length].to_vec();
                    text.splice(at..at, doubled);
                }
                3 => {
                    let from = self.below(other.len());
                    text.splice(at..at, other[from..other.len().min(from + 12)].iter().copied());
                }
                _ => drop(text.splice(at..at, PARTS[self.below(PARTS.len())].chars())),
            }
        }
        text.into_iter().collect()
    }
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|number| number.parse().ok())
}

#[tokio::test]
async fn no_change_of_a_template_ends_in_anything_but_a_text_or_an_error() {
    let seed = number("PINTLE_SEED").unwrap_or_else(|| RandomState::new().hash_one("templates") >> 16);
    let rounds = usize::try_from(number("PINTLE_ROUNDS").unwrap_or(2_000)).unwrap();
    println!("no_change_of_a_template: PINTLE_SEED={seed}");
    let mut dice = Dice(seed);
    let bounds =
        TemplateBounds { cpu_ms: 300, all_cpu_ms: 60_000, memory_bytes: 64 << 20, ..TemplateBounds::default() };
    let templates = Templates::open(sandbox().await, bounds);
    let cases = cases();
    let (mut texts, mut errors, mut ended) = (0, 0, 0);
    for _ in 0..rounds.div_ceil(BATCH) {
        let of_case = |dice: &mut Dice| &cases[dice.below(cases.len())].template;
        let mutated: Vec<String> = (0..BATCH)
            .map(|_| {
                let (one, other) = (of_case(&mut dice), of_case(&mut dice));
                dice.mutate(one, other)
            })
            .collect();
        let mutated: Vec<&str> = mutated.iter().map(String::as_str).collect();
        let answers = templates.render(&mutated, &cases[0].values).await.unwrap();
        assert_eq!(answers.len(), mutated.len());
        for (text, answer) in mutated.iter().zip(answers) {
            match answer {
                Ok(_) => texts += 1,
                Err(error) => {
                    errors += 1;
                    let unknown =
                        ["renderer fail", "cannot be read", "pintle"].iter().any(|part| error.message.contains(part));
                    assert!(!unknown, "{text:?}: {error}");
                    if error.message.starts_with("the template ") {
                        ended += 1;
                        println!("{text:?}: {error}");
                    }
                }
            }
        }
    }
    println!("{texts} texts, {errors} errors, of which {ended} ended their instance");
    assert!(texts > rounds / 20 && errors > rounds / 20, "the changes are of one kind only");
    assert_eq!(render(&templates, "{{ .name }}", &cases[0].values).await, Ok("web".to_owned()));
}
