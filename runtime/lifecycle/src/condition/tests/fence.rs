//! What is hostile ends with an error, and soon: whatever it asks for, it has a number of steps.

use super::*;

/// An answer, which must come long before a test would be given up.
fn soon(text: &str, values: &Value) -> Result<bool, String> {
    #[expect(clippy::disallowed_methods, reason = "whether it ends at all")]
    let begin = Instant::now();
    let answer = answer(text, values);
    assert!(begin.elapsed().as_secs() < 60, "{} took {:?}", cut(text), begin.elapsed());
    println!("{:>8.1} ms {} {answer:?}", begin.elapsed().as_secs_f64() * 1e3, cut(text));
    answer
}

fn cut(text: &str) -> String {
    text.chars().take(70).collect()
}

fn refused(text: &str, values: &Value, why: &str) {
    let error = soon(text, values).expect_err(text);
    assert!(error.contains(why), "{}: {error}", cut(text));
}

const SPENT: &str = "more steps than a condition has";

#[test]
fn a_long_text_is_refused_and_one_at_the_bound_is_not() {
    let fits = format!("{} true", "true &&".repeat(1169));
    assert!(fits.len() <= LONGEST && fits.len() + 7 > LONGEST, "{}", fits.len());
    assert_eq!(soon(&fits, &json!({})), Ok(true));
    refused(&"true &&".repeat(1171), &json!({}), "at most 8192 bytes");
    refused(&"x".repeat(100_000_000), &json!({}), "at most 8192 bytes");
}

#[test]
fn deep_nesting_is_refused() {
    let values = json!({"i": 1, "b": true, "l": [1]});
    for (text, why) in [
        (format!("{}1{} == 1", "(".repeat(4000), ")".repeat(4000)), "nested too deep"),
        (format!("{}1{} == l", "[".repeat(90), "]".repeat(90)), ""),
        ("(".repeat(8192), "nested too deep"),
        ("[".repeat(8192), "nested too deep"),
        ("{".repeat(8192), "nested too deep"),
        (format!("{}i == 1", "i+".repeat(4080)), "nested deeper than 128"),
        (format!("{}i", "i<".repeat(4080)), "nested deeper than 128"),
        (format!("i{} == 1", "[0]".repeat(2700)), "nested deeper than 128"),
        (format!("{}i == 1", "i.".repeat(4000)), "nested deeper than 128"),
        (format!("{}b", "b?b:".repeat(2000)), "nested too deep"),
        (format!("{}b{}", "!(".repeat(2000), ")".repeat(2000)), "nested too deep"),
        (format!("{}b{}", "dyn(".repeat(1500), ")".repeat(1500)), "nested too deep"),
        (format!("l{} == 1", ".map(x,x)".repeat(900)), "nested deeper than 128"),
        (format!("{}1{}", "l.all(x,".repeat(80), ")".repeat(80)), "macros are nested deeper than 3"),
    ] {
        match soon(&text, &values) {
            Err(error) => assert!(error.contains(why), "{}: {error}", cut(&text)),
            Ok(_) => assert_eq!(why, "", "{}", cut(&text)),
        }
    }
}

#[test]
fn chains_that_are_not_deep_are_no_harm() {
    let values = json!({"i": 1, "b": true});
    for text in [
        format!("{}b", "b&&".repeat(2700)),
        format!("{}b", "b||".repeat(2700)),
        format!("{}b", "!".repeat(8190)),
        format!("{}i < 2", "-".repeat(8180)),
        format!("[{}1].size() > 1", "1,".repeat(4000)),
        format!("{{{}1:1}}.size() == 1", "1:1,".repeat(2000)),
        format!("{}i == 101", "i+".repeat(100)),
    ] {
        assert_eq!(soon(&text, &values), Ok(true), "{}", cut(&text));
    }
}

#[test]
fn macros_nest_three_deep() {
    let values = json!({"l": [1, 2]});
    assert_eq!(soon("l.all(x, l.all(y, l.exists(z, z == x && y > 0)))", &values), Ok(true));
    refused("l.all(x, l.all(y, l.all(z, l.all(w, true))))", &values, "nested deeper than 3");
    // One after the other is not one in the other.
    assert_eq!(soon("l.map(x, x).map(x, x).map(x, x).map(x, x).all(x, x > 0)", &values), Ok(true));
}

/// The library adds to the list of a loop in place only where it finds the form of the loop, which the rewriting must keep.
#[test]
fn a_long_list_is_gone_through_once() {
    let values = json!({"l": (0..20_000).collect::<Vec<u32>>()});
    let text = "l.map(x, x + 1).filter(x, x > 0).map(x, x > 10_000, x).size() == 10000".replace('_', "");
    assert_eq!(soon(&text, &values), Ok(true));
    assert_eq!(soon("l.exists(x, x == 19999) && l.exists_one(x, x == 7) && l.all(x, x >= 0)", &values), Ok(true));
}

#[test]
fn turns_are_paid_for_even_where_errors_are_absorbed() {
    let long: Vec<u32> = (0..20_000).collect();
    let values = json!({"l": long, "t": {"a": long}});
    for text in [
        "l.all(x, l.all(y, l.all(z, true)))",
        "l.exists(x, l.exists(y, l.exists(z, false)))",
        "l.all(x, x.nope) || l.exists(x, l.exists(y, x.nope)) || true",
        "l.exists(x, l.all(y, l.all(z, x.nope == 1))) || true",
        "l.exists_one(x, l.exists_one(y, y == x))",
        "l.map(x, l.map(y, l.map(z, x))).size() == 1",
        "l.filter(x, l.filter(y, y == x).size() == 1).size() == 1",
        "l.map(x, l.filter(y, false) == [], x).size() == 1",
        "l.all(x, x in l)",
        "l.all(x, l == l)",
        "l.all(x, t == t)",
        "l.all(x, (l + l).size() > x)",
        "l.all(x, [l].size() == 1)",
        "l.all(x, {\"a\": l}.size() == 1)",
        "l.all(x, dyn(l) - 1 == 1) || true",
        "l.all(x, l[dyn(l)] == 1) || true",
        "l.all(x, [dyn(l)].all(y, true))",
        "l.all(x, dyn(l) < 1) || true",
    ] {
        refused(text, &values, SPENT);
    }
}

#[test]
fn texts_and_lists_do_not_double_for_long() {
    let values = json!({"s": "aaaaaaaaaaaaaaaa"});
    for (begin, body) in [
        ("[s]", "x+x"),
        ("[[s]]", "x+x"),
        ("[s]", "[x,x]"),
        ("[s]", "{1:x,2:x}"),
        ("[b\"aaaa\"]", "x+x"),
        ("[[1]]", "[1].map(y,x+x)[0]"),
    ] {
        refused(&format!("{begin}{}.size()==1", format!(".map(x,{body})").repeat(100)), &values, SPENT);
    }
}

#[test]
fn long_texts_are_paid_for() {
    let text = "a".repeat(4 << 20);
    let values = json!({"s": text, "l": (0..1000).collect::<Vec<_>>()});
    for (text, want) in [
        ("s == s", Some(true)),
        ("s.size() == 4194304", Some(true)),
        ("s.contains(\"b\")", Some(false)),
        ("s.matches(\"b\")", None),
        ("l.all(x, s == s)", None),
        ("l.all(x, s + s != s)", None),
        ("l.all(x, s.size() > x)", None),
        ("l.all(x, !s.contains(\"b\"))", None),
        ("l.all(x, !s.endsWith(\"b\"))", None),
        ("l.all(x, s < \"b\")", None),
        ("l.all(x, s in [s])", None),
        ("l.all(x, bytes(s) != b\"a\")", None),
        ("l.all(x, int(s) == 1) || true", None),
        ("l.all(x, timestamp(s) == timestamp(s)) || true", None),
        ("l.all(x, duration(s) == duration(s)) || true", None),
        ("l.all(x, {s: 1}.size() == 1)", None),
        ("l.all(x, l[s] == 1) || true", None),
        ("l.all(x, {\"a\": 1}[s] == 1) || true", None),
    ] {
        match want {
            Some(want) => assert_eq!(soon(text, &values), Ok(want), "{text}"),
            None => refused(text, &values, SPENT),
        }
    }
}

#[test]
fn hostile_patterns_are_refused_or_paid_for() {
    // Bits in no order: the search finds no state that it knows.
    let bits: String = (1..60_000_u64)
        .map(|at| if at.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29).count_ones() % 2 == 0 { '0' } else { '1' })
        .collect();
    let values =
        json!({"s": "a".repeat(100_000), "z": "01".repeat(500), "r": bits, "l": (0..1000).collect::<Vec<_>>()});
    for (text, why) in [
        ("s.matches(\"((a{100}){100}){100}\")".to_owned(), "the pattern is too large"),
        ("s.matches(\"(?:a?){1000}(?:a){1000}$b\")".to_owned(), SPENT),
        ("s.matches(\"(a|aa)+$b\") || s.matches(\"(a*)*b\")".to_owned(), ""),
        ("z.matches(\"[01]*1[01]{400}$\") || l.all(x, !z.matches(\"[01]*1[01]{500}2\"))".to_owned(), ""),
        ("l.all(x, !z.matches(\"a{\" + string(x + 1) + \"}\"))".to_owned(), ""),
        ("l.all(x, !z.matches(\"\\\\w{8}q\" + string(x)))".to_owned(), SPENT),
        ("l.all(x, !z.matches(\"\\\\w{30}q\" + string(x)) || x > 0) || true".to_owned(), ""),
        (format!("s.matches(\"{}\")", "(".repeat(900)), ""),
        (format!("s.matches(\"{}\")", "a?".repeat(600)), "may have 1024"),
        ("s.matches(\"\\\\p{L}{500}\")".to_owned(), ""),
        ("r.matches(\"[01]*1[01]{400}$b\") == true".to_owned(), ""),
        ("r.matches(\"[01]*1[01]{100}$b\") == true".to_owned(), ""),
        ("s.matches(\"[\")".to_owned(), "no regular expression"),
    ] {
        match soon(&text, &values) {
            Err(error) => assert!(error.contains(why), "{}: {error}", cut(&text)),
            Ok(_) => assert_eq!(why, "", "{}", cut(&text)),
        }
    }
}

#[test]
fn large_and_deep_values_are_refused() {
    let many = json!({"l": vec![1; MOST_VALUES], "small": 1});
    refused("l.size() == 1", &many, "`l` holds more than 250000 values");
    // What is not asked for is not looked at.
    assert_eq!(soon("small == 1", &many), Ok(true));
    let mut deep = json!(1);
    for _ in 0..DEEPEST_VALUE {
        deep = json!([deep]);
    }
    assert_eq!(soon("v == v", &json!({"v": deep})), Ok(true));
    refused("v == v", &json!({"v": [deep]}), "`v` is nested deeper than 128");
}

#[test]
fn what_the_library_panics_on_is_an_error() {
    for text in [
        "timestamp(\"9999-12-31T23:59:59Z\") + duration(\"9223372036s\") == timestamp(0)",
        "timestamp(9223372036854775807) == timestamp(0)",
        "duration(\"99999999999999999999h\") == duration(\"1s\")",
        "-(-9223372036854775807 - 1) == 1",
        "(-9223372036854775807 - 1) / -1 == 1",
        "(-9223372036854775807 - 1) % -1 == 1",
        "int(1e300) == 1",
        "uint(-1) == 1u",
        "timestamp(0).getHours(\"Nowhere/Nope\") == 1",
        "1 / 0 == 1",
    ] {
        assert!(soon(text, &json!({})).is_err(), "{text}");
    }
}

#[test]
fn an_error_far_to_the_right_is_told() {
    let text = format!("{}nope == 1", " ".repeat(8000));
    assert!(answer(&text, &json!({})).unwrap_err().starts_with("1:8001: there is no variable `nope`"));
    let text = format!("{})", " ".repeat(8000));
    assert!(answer(&text, &json!({})).unwrap_err().starts_with("1:8001: `)` does not fit here"));
    assert!(answer(&"@ ".repeat(4000), &json!({})).unwrap_err().starts_with("1:1: `@` means nothing"));
}
