//! All cases give what Go gives, or what our rule of missing keys says, and say where they fail.

use pintle_lifecycle::template::{Render, RenderError, TemplateError};
use pintle_sandbox::{TemplateBounds, Templates};
use serde_json::json;

use crate::rig::{cases, render, sandbox, templates};

#[tokio::test]
async fn every_case_gives_what_it_should() {
    let templates = templates().await;
    let cases = cases();
    assert!(cases.len() >= 117, "{}", cases.len());
    for case in cases {
        let name = &case.name;
        let checked = templates.check(&[&case.template]).await.unwrap().remove(0);
        let at_parse = case.error_at.as_deref() == Some("parse");
        assert_eq!(checked.is_err(), at_parse, "{name}: {checked:?}");
        match (render(&templates, &case.template, &case.values).await, case.want) {
            (Ok(text), Some(want)) => assert_eq!(text, want, "{name}"),
            (Err(error), None) => {
                assert!(error.line.is_some(), "{name}: {error:?}");
                assert_eq!(error.column.is_none(), at_parse, "{name}: {error:?}");
            }
            (got, want) => panic!("{name}: {got:?}, not {want:?}"),
        }
    }
}

#[tokio::test]
async fn one_call_answers_for_each_template_in_its_place() {
    let templates = templates().await;
    let texts = ["plain }} <&>", "{{ .name }}", "{{ nope }}", "", "a\n {{ .count.x }}", "{{ .huge }}", "{{ now }}"];
    let values = json!({"name": "<wéb>\u{0}", "count": 3, "huge": u64::MAX});
    let answers = templates.render(&texts, &values).await.unwrap();
    let error =
        |line, column, message: &str| Err(TemplateError { line: Some(line), column, message: message.to_owned() });
    let absent =
        "the function now is not there: there is no clock, so that a plan renders the same whenever it is made";
    let expected = [
        Ok("plain }} <&>".to_owned()),
        Ok("<wéb>\u{0}".to_owned()),
        error(1, None, "function \"nope\" not defined"),
        Ok(String::new()),
        error(2, Some(5), "at <.count.x>: can't evaluate field x in type int"),
        Ok(u64::MAX.to_string()),
        error(1, Some(4), absent),
    ];
    assert_eq!(answers, expected);
    assert_eq!(
        answers[4].as_ref().unwrap_err().to_string(),
        "line 2, column 5: at <.count.x>: can't evaluate field x in type int"
    );

    let checked = templates.check(&texts).await.unwrap();
    let bad: Vec<usize> = (0..texts.len()).filter(|at| checked[*at].is_err()).collect();
    assert_eq!(bad, [2, 6]);
}

#[tokio::test]
async fn the_same_input_gives_the_same_texts() {
    let templates = templates().await;
    let (texts, values): (Vec<_>, Vec<_>) = cases().into_iter().map(|case| (case.template, case.values)).unzip();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let first = templates.render(&texts, &values[0]).await.unwrap();
    let again = templates.render(&texts, &values[0]).await.unwrap();
    assert_eq!(first, again);

    // What Go itself does not promise: the order of a map, and what one template does to the values of another.
    let texts = [
        "{{ keys .labels }}{{ values .labels }}{{ omit .labels \"app\" | keys }}",
        "{{ set . \"name\" \"x\" | len }}{{ .name }}",
    ];
    let turned = [texts[1], texts[0], "{{ .name }}"];
    let one = templates.render(&texts, &values[0]).await.unwrap();
    let other = templates.render(&turned, &values[0]).await.unwrap();
    assert_eq!((&one[0], &one[1], &Ok("web".to_owned())), (&other[1], &other[0], &other[2]));
}

#[tokio::test]
async fn planning_sees_a_trait() {
    let room: Box<dyn Render> = Box::new(templates().await);
    assert_eq!(room.render(&["{{ .a.b.c }}-"], &json!({})).await.unwrap(), [Ok("-".to_owned())]);
    assert_eq!(room.check(&["{{ .a }}", "a"]).await.unwrap(), [Ok(()), Ok(())]);
}

#[tokio::test]
async fn a_string_without_braces_never_goes_into_the_module() {
    // No instance starts with this little memory.
    let none = TemplateBounds { memory_bytes: 1 << 20, ..TemplateBounds::default() };
    let templates = Templates::open(sandbox().await, none);
    let answers = templates.render(&["a", "{ {", "{{ 1 }}"], &json!({})).await.unwrap();
    assert_eq!(answers[..2], [Ok("a".to_owned()), Ok("{ {".to_owned())]);
    assert!(answers[2].as_ref().is_err_and(|error| error.message.contains("needs too much memory")), "{answers:?}");
}

#[tokio::test]
async fn too_much_input_is_refused() {
    let bounds =
        TemplateBounds { template_bytes: 20, templates_bytes: 30, values_bytes: 40, ..TemplateBounds::default() };
    let templates = Templates::open(sandbox().await, bounds);
    let long = "{{ 1 }} and much more text";
    let answers = templates.render(&["{{ 1 }}", long, "{{ 2 }}"], &json!({})).await.unwrap();
    assert_eq!((&answers[0], &answers[2]), (&Ok("1".to_owned()), &Ok("2".to_owned())));
    assert_eq!(answers[1].as_ref().unwrap_err().message, "the template has 26 bytes, the limit is 20");

    let many = templates.check(&["{{ 1 }}"; 5]).await.unwrap_err();
    assert_eq!(many, RenderError::TooLarge { what: "the templates", bytes: 35, limit: 30 });
    let large =
        templates.render(&["{{ 1 }}"], &json!({"a": "0123456789012345678901234567890123456789"})).await.unwrap_err();
    assert_eq!(large, RenderError::TooLarge { what: "the values", bytes: 48, limit: 40 });
}
