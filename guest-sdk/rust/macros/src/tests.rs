//! What authors get to read when a function is no action, and what the macros write when it is one.

use proc_macro2::TokenStream;

/// The messages of all `compile_error!` in the output.
fn refusals(output: &TokenStream) -> Vec<String> {
    let file: syn::File = syn::parse2(output.clone()).expect("the output is Rust");
    let messages = file.items.into_iter().filter_map(|item| match item {
        syn::Item::Macro(call) if call.mac.path.segments.last()?.ident == "compile_error" => {
            Some(call.mac.parse_body::<syn::LitStr>().expect("a message").value())
        }
        _ => None,
    });
    messages.collect()
}

fn tokens(code: &str) -> TokenStream {
    code.parse().expect("tokens")
}

fn action(options: &str, function: &str) -> Vec<String> {
    refusals(&crate::action::expand(tokens(options), &tokens(function)))
}

const GO: &str = "fn go(ctx: &Context) -> Result<()> {}";

#[test]
fn a_wrong_signature_says_the_right_one() {
    let form = "an action is `fn go(ctx: &Context) -> Result<()>`: ";
    let arguments = "it takes the context and nothing else; arguments of the hook are in `ctx.args_json()`";
    for (function, problem) in [
        (
            "async fn go(ctx: &Context) -> Result<()> {}",
            "it is not `async`; parallel work is `Job::start` and `jobs::wait_any`",
        ),
        ("unsafe fn go(ctx: &Context) -> Result<()> {}", "it is not `unsafe`"),
        ("extern \"C\" fn go(ctx: &Context) -> Result<()> {}", "it has no `extern`; `actions!` exports it"),
        ("fn go<T>(ctx: &Context) -> Result<()> {}", "it is not generic"),
        ("fn go() -> Result<()> {}", arguments),
        ("fn go(ctx: &Context, to: &str) -> Result<()> {}", arguments),
        ("fn go(ctx: Context) -> Result<()> {}", "it takes `&Context`"),
        ("fn go(ctx: &mut Context) -> Result<()> {}", "it takes `&Context`"),
        ("fn go(&self) -> Result<()> {}", "it takes `&Context`"),
        ("fn go(ctx: &Context) {}", "it returns `Result<()>`"),
    ] {
        assert_eq!(action("", function), [format!("{form}{problem}")], "{function}");
    }
}

#[test]
fn a_refused_function_stays() {
    let output = crate::action::expand(tokens(""), &tokens("fn go() {}")).to_string();
    assert!(output.contains("fn go () { }"), "{output}");
}

#[test]
fn wrong_options_say_the_right_ones() {
    for (options, message) in [
        ("hook = \"upgrade\"", "`hook` is no option of #[action]; it has `name`, `description` and `undo`"),
        ("name = \"a\", name = \"b\"", "`name` is given twice"),
        ("name = a", "expected string literal"),
        ("description", "expected `=`"),
    ] {
        let found = action(options, GO);
        assert!(found.len() == 1 && found[0].ends_with(message), "{options}: {found:?}");
    }
}

#[test]
fn names_are_lower_case_with_single_dashes() {
    let refused = |options: &str, function: &str| {
        let found = action(options, function);
        found.len() == 1 && found[0].contains("is no name for an action")
    };
    let long = "a".repeat(64);
    for name in ["", "Go", "pre_setup", "1st", "a--b", "a-", "-a", "ä", &long] {
        assert!(refused(&format!("name = {name:?}"), GO), "{name}");
    }
    assert!(refused("", "fn _go(ctx: &Context) -> Result<()> {}"));
    assert!(action("name = \"a-1\",", GO).is_empty());
}

#[test]
fn something_else_than_a_function_is_refused() {
    assert_eq!(action("", "struct Go;").len(), 1);
}

#[test]
fn the_list_names_constants_by_the_paths_of_functions() {
    let output = crate::list::expand(tokens("upgrade, steps::r#move")).to_string();
    assert!(output.contains("& [__pintle_action_upgrade , steps :: __pintle_action_move]"), "{output}");
}

#[test]
fn the_list_takes_at_least_one_path_and_paths_alone() {
    let message = |paths| refusals(&crate::list::expand(tokens(paths)));
    assert_eq!(message(""), ["name at least one function that has #[action]: `actions!(upgrade);`"]);
    assert_eq!(message("upgrade::<u8>"), ["an action is a plain function: write its path only"]);
    assert_eq!(message("\"upgrade\"").len(), 1);
}
