//! A change in full.

use pintle_journal::journal::Journal;
use pintle_lifecycle::ids::ChangeKey;
use pintle_lifecycle::plan_view;
use serde::Serialize;

use super::{next, pairs};
use crate::cli::shape::Change;
use crate::cli::table::{indented, or_none};
use crate::error::Error;
use crate::lookup;
use crate::story::Story;

/// What `-o json` prints.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Described {
    #[serde(flatten)]
    change: Change,
    reason: String,
    /// sha256 of the modules that it runs.
    modules: Vec<String>,
    /// What helps, as commands.
    verbs: Vec<String>,
    #[serde(skip)]
    plan: String,
}

impl Described {
    pub async fn read(journal: &dyn Journal, key: &ChangeKey) -> Result<Self, Error> {
        let view = lookup::change(journal, key).await?;
        let newest = lookup::release(journal, &key.release).await?.newest().number;
        let plan = Story::read(journal, key).await?.history.plan;
        Ok(Self {
            change: Change::of(&view),
            reason: plan.reason.clone(),
            modules: plan.modules().into_iter().map(str::to_owned).collect(),
            verbs: next::of_change(key, view.state, key.number == newest)
                .into_iter()
                .map(|next| next.command)
                .collect(),
            plan: plan_view::text(&plan),
        })
    }

    pub fn text(&self) -> String {
        let change = &self.change;
        let versions = match &change.from_version {
            Some(from) if *from != change.to_version => format!("{from} → {}", change.to_version),
            _ => change.to_version.clone(),
        };
        let mut all = vec![
            ("Change", change.id.clone()),
            ("Release", change.release.clone()),
            ("Tenant", change.tenant.clone()),
            ("Kind", format!("{} {versions}", change.kind)),
            ("Reason", self.reason.clone()),
            ("State", change.state.clone()),
        ];
        all.extend(change.message.clone().map(|message| ("Message", message)));
        all.extend([
            ("Asked by", change.by.clone()),
            ("Opened", change.opened_at.clone()),
            ("Finished", or_none(change.finished_at.clone())),
            ("Records", change.records.to_string()),
        ]);
        all.extend(self.modules.iter().map(|digest| ("Module", format!("sha256:{digest}"))));
        let verbs = indented(&self.verbs.join("\n"));
        format!("{}\nPlan:\n{}\nWhat helps:\n{verbs}", pairs(&all), indented(&self.plan))
    }
}
