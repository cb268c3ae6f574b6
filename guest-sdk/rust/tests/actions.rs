//! What `#[action]` and `actions!` make of several functions: names, descriptions, undo, and functions of other modules.

use pintle_sdk::fake::Host;
use pintle_sdk::prelude::*;

#[action]
fn pre_setup(ctx: &Context) -> Result<()> {
    state::put("installed-by", ctx.change())
}

/// Waits until the release
/// is ready.
///
/// Not part of the description.
#[action]
fn check(_ctx: &Context) -> Result<()> {
    Err(Error::failed("not ready"))
}

#[action(name = "move-data", description = "Move the data", undo = move_back)]
fn r#move(_ctx: &Context) -> Result<()> {
    Ok(())
}

fn move_back(ctx: &Context, effects: &str) -> Result<()> {
    warn!(effects = effects, "moving the data of {} back", ctx.release());
    state::delete("moved")
}

mod backup {
    use pintle_sdk::prelude::*;

    #[action(description = "Save the data")]
    pub fn save(_ctx: &Context) -> Result<()> {
        state::put("saved", "yes")
    }
}

actions!(pre_setup, check, r#move, backup::save);

#[test]
fn takes_names_from_functions_and_descriptions_from_docs() {
    let described: Vec<_> = ACTIONS.iter().map(|action| (action.name, action.description)).collect();
    assert_eq!(
        described,
        [
            ("pre-setup", ""),
            ("check", "Waits until the release is ready."),
            ("move-data", "Move the data"),
            ("save", "Save the data"),
        ]
    );
}

#[test]
fn runs_each_by_its_name_alone() {
    let host = Host::new().release("shop").install();
    assert_eq!(host.run(ACTIONS, "pre-setup"), Ok(()));
    assert_eq!(host.run(ACTIONS, "check"), Err(Error::failed("not ready")));
    assert_eq!(host.run(ACTIONS, "save"), Ok(()));
    assert_eq!(host.calls(), ["state.put installed-by shop-1", "state.put saved yes"]);
}

#[test]
fn an_unknown_name_lists_the_known_ones() {
    let host = Host::new().install();
    let expected = "the module has no action `pre_setup`; it has pre-setup, check, move-data, save";
    assert_eq!(host.run(ACTIONS, "pre_setup"), Err(Error::NotFound(expected.to_owned())));
}

#[test]
fn undo_gets_the_effects() {
    let host = Host::new().release("shop").install();
    assert_eq!(host.undo(ACTIONS, "move-data", r#"["components.stop"]"#), Ok(()));
    assert_eq!(host.logs(), [r#"warn moving the data of shop back effects=["components.stop"]"#]);
    let missing = Error::NotFound("the action `check` has no undo".to_owned());
    assert_eq!(host.undo(ACTIONS, "check", "[]"), Err(missing));
}

#[test]
fn the_module_describes_itself() {
    let described = pintle_sdk::__private::describe(ACTIONS);
    let with_undo: Vec<&str> = described.iter().filter(|info| info.has_undo).map(|info| info.name.as_str()).collect();
    assert_eq!(described.len(), 4);
    assert_eq!(with_undo, ["move-data"]);
}

#[test]
#[should_panic(expected = "two actions in `actions!` have the same name")]
fn two_actions_of_one_name_are_refused() {
    pintle_sdk::__private::assert_distinct(&[ACTIONS[0], ACTIONS[1], ACTIONS[0]]);
}
