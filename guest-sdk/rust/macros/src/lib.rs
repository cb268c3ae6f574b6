//! The macros of `pintle-sdk`. They are documented and re-exported there; nobody depends on this crate alone.

mod action;
mod list;
#[cfg(test)]
mod tests;

use proc_macro::TokenStream;

/// Makes a function an action.
///
/// The function is `fn name(ctx: &Context) -> Result<()>`. It stays a plain function, so that tests can call it.
///
/// * `name = "…"`: the action's name, as driver.yml writes it. Without it: the function's name with `-` for `_`.
/// * `description = "…"`: one line for people. Without it: the first paragraph of the doc comment.
/// * `undo = path`: a `fn(ctx: &Context, effects: &str) -> Result<()>` that takes back what the action did; `effects` is a
///   JSON list of its calls that had an effect, newest first.
///
/// List the action in [`actions!`] to export it.
#[proc_macro_attribute]
pub fn action(options: TokenStream, function: TokenStream) -> TokenStream {
    action::expand(options.into(), &function.into()).into()
}

/// Exports the actions of a module: `actions!(pre_setup, upgrade, checks::check);`
///
/// Use it once, in `lib.rs`. It takes the paths of functions that have `#[action]`; one from another module needs its whole
/// path, because an import of the function alone does not bring the action along. It also defines `pub const ACTIONS`, the list
/// that tests give to the fake host.
///
/// An action that is not listed gets the compiler's warning that the function is never used. A listed function without
/// `#[action]` is the error that there is no value `__pintle_action_…`.
#[proc_macro]
pub fn actions(paths: TokenStream) -> TokenStream {
    list::expand(paths.into()).into()
}
