//! `--skip-hooks`: hooks that are left out of one change.

use pintle_lifecycle::document::release::HookSkip;
use pintle_lifecycle::hook::HookPhase;

/// Hooks that are left out of one change.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct Skips {
    /// Hooks that do not run in this change: a name, or `name=…`, `phase=…`, `weight=…`, together with commas; each is recorded as
    /// Skipped
    #[arg(long, value_name = "HOOK", value_parser = parse, allow_hyphen_values = true)]
    pub skip_hooks: Vec<HookSkip>,
}

fn parse(text: &str) -> Result<HookSkip, String> {
    let mut skip = HookSkip { name: None, phase: None, weight: None };
    for part in text.split(',') {
        let (key, value) = part.split_once('=').unwrap_or(("name", part));
        match key {
            "name" if !value.is_empty() => skip.name = Some(value.to_owned()),
            "phase" => skip.phase = Some(phase(value)?),
            "weight" => {
                let bad = |_| format!("`{value}` is no weight: a whole number of 32 bits");
                skip.weight = Some(value.parse().map_err(bad)?);
            }
            _ => return Err(format!("`{part}` says no hook: write a name, or name=…, phase=…, weight=…")),
        }
    }
    Ok(skip)
}

fn phase(text: &str) -> Result<HookPhase, String> {
    let all = HookPhase::ALL.map(HookPhase::as_str).join(", ");
    let known = HookPhase::ALL.into_iter().find(|phase| phase.as_str() == text);
    known.ok_or_else(|| format!("`{text}` is no phase of hooks: {all}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hook_is_said_by_name_phase_and_weight() {
        let skip = |name: Option<&str>, phase, weight| HookSkip { name: name.map(str::to_owned), phase, weight };
        for (text, said) in [
            ("migrate", skip(Some("migrate"), None, None)),
            ("phase=preSync", skip(None, Some(HookPhase::PreSync), None)),
            ("phase=preSync,name=a,weight=-5", skip(Some("a"), Some(HookPhase::PreSync), Some(-5))),
        ] {
            assert_eq!(parse(text), Ok(said), "{text}");
        }
        for (text, why) in [
            ("", "says no hook"),
            ("phase=presync", "no phase of hooks: preSync, "),
            ("weight=x", "no weight"),
            ("kind=Job", "says no hook"),
        ] {
            assert!(parse(text).unwrap_err().contains(why), "{text}");
        }
    }
}
