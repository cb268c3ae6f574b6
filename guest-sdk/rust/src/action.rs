//! The list of a module's actions and how Pintle reaches them. A plain list, filled by `actions!`, because WebAssembly has no
//! code that runs before the first call that we would rely on.

use crate::bindings::exports::pintle::hooks::actions::ActionInfo;
use crate::bindings::pintle::hooks::types;
use crate::{Context, Error, Result};

/// An action as `#[action]` describes it.
#[derive(Debug, Clone, Copy)]
pub struct ActionDef {
    /// The name that driver.yml writes after `actions.wasm::`.
    pub name: &'static str,
    /// One line for people; may be empty.
    pub description: &'static str,
    /// The function.
    pub run: fn(&Context) -> Result<()>,
    /// Takes back what `run` did, given its effects as JSON.
    pub undo: Option<fn(&Context, &str) -> Result<()>>,
}

/// Stops the build of a module in which two actions have the same name.
///
/// # Panics
///
/// In that case; `actions!` calls it while the module is compiled.
pub const fn assert_distinct(actions: &[ActionDef]) {
    let mut a = 0;
    while a < actions.len() {
        let mut b = a + 1;
        while b < actions.len() {
            assert!(
                !same(actions[a].name.as_bytes(), actions[b].name.as_bytes()),
                "two actions in `actions!` have the same name"
            );
            b += 1;
        }
        a += 1;
    }
}

const fn same(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    let mut i = 0;
    while i < a.len() {
        if a[i] != b[i] {
            return false;
        }
        i += 1;
    }
    true
}

/// What the module offers.
#[must_use]
pub fn describe(actions: &[ActionDef]) -> Vec<ActionInfo> {
    let info = |action: &ActionDef| ActionInfo {
        name: action.name.to_owned(),
        description: action.description.to_owned(),
        has_undo: action.undo.is_some(),
    };
    actions.iter().map(info).collect()
}

/// Runs an action.
///
/// # Errors
///
/// The action's own, or `not-found` for a name that the module does not have.
pub fn run(actions: &[ActionDef], name: &str) -> Result<(), types::Error> {
    find(actions, name).and_then(|action| (action.run)(&Context::new())).map_err(Error::into_host)
}

/// Runs the undo of an action.
///
/// # Errors
///
/// The undo's own, or `not-found` for a name that the module does not have and for an action without undo.
pub fn undo(actions: &[ActionDef], name: &str, effects_json: &str) -> Result<(), types::Error> {
    find(actions, name)
        .and_then(|action| match action.undo {
            Some(undo) => undo(&Context::new(), effects_json),
            None => Err(Error::NotFound(["the action `", name, "` has no undo"].concat())),
        })
        .map_err(Error::into_host)
}

fn find<'a>(actions: &'a [ActionDef], name: &str) -> Result<&'a ActionDef> {
    actions.iter().find(|action| action.name == name).ok_or_else(|| {
        let offered: Vec<&str> = actions.iter().map(|action| action.name).collect();
        Error::NotFound(["the module has no action `", name, "`; it has ", &offered.join(", ")].concat())
    })
}

/// Exports a list of actions from a component.
#[cfg(target_family = "wasm")]
#[doc(hidden)]
#[macro_export]
macro_rules! __export {
    ($actions:expr) => {
        const _: () = {
            use $crate::bindings::exports::pintle::hooks::actions;

            struct Module;

            impl actions::Guest for Module {
                fn describe() -> ::std::vec::Vec<actions::ActionInfo> {
                    $crate::__private::describe($actions)
                }

                fn run(name: ::std::string::String) -> ::core::result::Result<(), actions::Error> {
                    $crate::__private::run($actions, &name)
                }

                fn undo(
                    name: ::std::string::String,
                    effects_json: ::std::string::String,
                ) -> ::core::result::Result<(), actions::Error> {
                    $crate::__private::undo($actions, &name, &effects_json)
                }
            }

    $crate::bindings::export!(Module with_types_in $crate::bindings);
        };
    };
}

/// Exports nothing: a native build is for tests.
#[cfg(not(target_family = "wasm"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __export {
    ($actions:expr) => {};
}
