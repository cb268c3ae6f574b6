//! Hooks around the sync of an upgrade that has no action.

use pintle_lifecycle::hook::HookPhase;
use pintle_lifecycle::plan::{Health, Node, Plan};

use crate::decide::upgrade_plan;
use crate::decide_hooks::hook;
use crate::story::Story;

/// The sync of an upgrade without an action is gone through to its end, as any other.
#[test]
fn an_upgrade_without_an_action_runs_the_hooks_after_its_sync() {
    let mut plan = upgrade_plan();
    let Node::Mode(mode) = &mut plan.phases[0].nodes[0] else { panic!() };
    mode.actions.clear();
    let hooks = vec![hook(HookPhase::PreSync, "pre"), hook(HookPhase::PostSync, "post")];
    let health = Some(Health { deadline_ms: None, ready_when: Vec::new() });
    let mut story = Story::of(&Plan { hooks, health, ..plan });
    story.go();
    story.succeed("upgrade-core/sync/pre-sync/pre");
    story.go();
    story.apply("upgrade-core/sync/apply");
    assert_eq!(story.go()[..2], ["start upgrade-core/sync/health 1", "start upgrade-core/sync/post-sync/post 1"]);
    story.succeed("upgrade-core/sync/health");
    story.succeed("upgrade-core/sync/post-sync/post");
    assert_eq!(story.go()[0], "finish upgrade-core 1 Succeeded");
}
