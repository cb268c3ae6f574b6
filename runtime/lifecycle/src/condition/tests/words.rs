//! What a person reads.

use super::*;

fn refusal(text: &str) -> String {
    Condition::compile(text).expect_err(text).to_string()
}

fn no_answer(text: &str) -> String {
    let values = json!({
        "cluster": {"tier": "production", "n": 3, "labels": {"a": "b"}, "nodes": [{"cpu": 4}]}, "app": {}, "values": {},
    });
    Condition::compile(text)
        .unwrap_or_else(|error| panic!("{text}: {error}"))
        .holds(&values)
        .expect_err(text)
        .to_string()
}

#[test]
fn nothing_asked_is_true() {
    for text in ["", " ", "\n\t "] {
        assert_eq!(Condition::compile(text).unwrap().holds(&Value::Null), Ok(true));
    }
}

#[test]
fn a_refusal_has_its_place_and_a_cure() {
    for (text, words) in [
        ("cluste.tier == \"a\"", "1:1: there is no variable `cluste`: did you mean `cluster`?"),
        (
            "true &&\n  xyz == 1",
            "2:3: there is no variable `xyz`: a condition knows `release`, `cluster`, `change`, `render`, `values`, `app`",
        ),
        ("app.l.all(nod, node.ready)", "1:16: there is no variable `node`: did you mean `nod`?"),
        ("app.l.all(n, true) && n.ready", "1:23: there is no variable `n`: "),
        ("app.name.startWith(\"a\")", "1:10: there is no function `startWith`: did you mean `startsWith`?"),
        ("\"é\" == siez(app)", "1:8: there is no function `siez`: did you mean `size`?"),
        ("startsWith(app.name, \"a\")", "1:1: `startsWith` is not called so: write `text.startsWith(\"a\")`"),
        ("app.l.all(true)", "1:7: `all` is not called so: write `list.all(item, item > 0)`"),
        ("\"é\" == \"\" || app.l.all(n.x, true)", "1:25: the first argument is the name of one item"),
        ("has(app)", "1:5: `has` asks for a field"),
        ("app.a = 1", "1:7: `=` means nothing in CEL: write `==`"),
        ("app.a and app.b", "1:7: `and` does not fit here: write `&&`"),
        ("app.a & app.b", "1:7: `&` means nothing in CEL: write `&&`"),
        ("app.a &&", "1:9: the condition ends too early"),
        ("if == 1", "1:1: `if` is a word that CEL keeps for itself"),
        ("app.a == \"x", "1:10: `\"x` means nothing in CEL: close the text"),
        ("app.a ? 1 : \"a\"", "1:7: `?:` gives an int or a string"),
        ("\"a\" == 1", "1:5: `==` does not work on a string and an int"),
        ("size(1) == 1", "1:6: `size` does not take an int: write `size(list)`"),
        ("app.a && 1", "1:7: `&&` does not work on any value and an int"),
        ("!1", "1:2: what stands after `!` must be true or false, and is an int"),
        ("\"a\".b == 1", "1:4: a string has no field `b`"),
        ("app.l.filter(x, 1) == []", "1:17: what is asked of each item must be true or false, and is an int"),
        ("Foo{a: 1} == 1", "1:4: `Foo{…}` makes a message"),
        ("{1.5: 2} == 1", "1:2: a double is no key"),
        ("1 + 1", "1:1: a condition is true or false, and this gives an int"),
        ("[1].map(x, x)", "1:1: a condition is true or false, and this gives a list"),
        ("a.?b", "1:2: `.?` is no part of conditions: `has(…)` asks"),
    ] {
        let got = refusal(text);
        assert!(got.starts_with(words), "{text}\n got {got}\nwant {words}");
    }
}

#[test]
fn what_has_no_answer_says_why() {
    for (text, words) in [
        ("cluster.nope == 1", "there is no `nope`; `has(…)` asks whether there is"),
        ("cluster[\"nope\"] == 1", "there is no `nope`"),
        ("change.kind == \"upgrade\"", "`change` has no value here"),
        ("cluster.tier", "it gives a string, \"production\", not true or false"),
        ("cluster.n", "it gives an int, 3, not true or false"),
        ("cluster", "it gives a map, not true or false"),
        ("dyn(null)", "it gives null, not true or false"),
        ("cluster.tier + cluster.n == \"\"", "`+` does not work on a string and an int"),
        ("cluster.tier < cluster.n", "`<` does not work on a string and an int"),
        ("cluster.tier && true", "`&&` does not work on a string and a bool"),
        ("\"a\" in cluster.tier", "`in` does not work on a string and a string"),
        ("cluster.n.startsWith(\"a\")", "`startsWith` does not work on an int and a string"),
        ("cluster.nodes[7].cpu == 1", "the list has no item 7"),
        ("cluster.nodes[\"a\"].cpu == 1", "an index does not work on a list and a string"),
        ("cluster.n / 0 == 1", "a division by zero"),
        ("9223372036854775807 + cluster.n == 1", "the result of `+` is too large"),
        ("cluster.n.all(x, true)", "an int is no iterable"),
        ("cluster.tier.matches(\"(\")", "`matches`: the pattern is no regular expression: unclosed group"),
        ("timestamp(cluster.tier) == timestamp(0)", "`timestamp`: "),
    ] {
        let got = no_answer(text);
        assert!(got.starts_with(words), "{text}\n got {got}\nwant {words}");
    }
}

#[test]
fn large_values_are_not_printed() {
    let values = json!({"app": {"text": "x".repeat(1 << 20), "list": vec![1; 100_000]}});
    for text in [
        "app.text",
        "app.list",
        "app.text - app.list == 1",
        "app.text < 1",
        "app.list < app.list",
        "int(app.text) == 1",
    ] {
        let error = Condition::compile(text).unwrap().holds(&values).unwrap_err().to_string();
        assert!(error.len() < 300, "{text}: {error}");
    }
}

#[test]
fn the_examples_of_the_documentation_are_accepted() {
    let text = include_str!("../../../../../docs/conditions.md");
    let table = text.split("## What a condition sees").nth(1).unwrap();
    let mut found = BTreeSet::new();
    for row in table.lines().filter(|row| row.starts_with("| `")).take(VARIABLES.len()) {
        let mut codes = row.split('`').skip(1).step_by(2);
        found.insert(codes.next().unwrap());
        for example in codes {
            let example = example.replace("\\|", "|");
            assert!(Condition::compile(&example).is_ok(), "{example}: {:?}", Condition::compile(&example));
        }
    }
    assert_eq!(found, BTreeSet::from(VARIABLES));
}
