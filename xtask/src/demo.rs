//! `cargo xtask demo`: the main job, shown with real processes. It fails where the shop's own record of its migrations, its
//! health page or the steps do not say what they should.

use std::{
    process::{Child, ExitCode},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::{
    examples,
    shop::Shop,
    stage::stage,
    workspace::{Workspace, read, run},
};

/// How long each migration of the demo takes, in milliseconds: long enough to be killed in.
const MIGRATE_MS: u32 = 1_500;

/// Set up and upgrade the example, kill Pintle in the middle of a migration, and go on
#[derive(clap::Args)]
pub struct Demo {
    /// Leave the shop running at the end, and say how to look at it
    #[arg(long)]
    keep: bool,
}

/// The demo's own copy of the example.
struct Stage(Shop);

impl Demo {
    pub fn run(self, workspace: &Workspace) -> Result<ExitCode> {
        examples::lay_out(workspace)?;
        stage("build the program", || workspace.build_programs(&["pintle"]))?;
        stage("demo", || {
            let demo = Stage(Shop::set(workspace, &workspace.scratch("demo"), MIGRATE_MS)?);
            let shown = demo.play();
            if self.keep {
                let state = demo.0.state().display();
                say(&format!("The shop runs on. Look at it with `--state {state}`; `delete shop` ends it."));
                return shown;
            }
            let ended = demo.pintle(&["delete", "shop"]);
            shown.and(ended)
        })?;
        say("The upgrade that was killed went on, and each schema was migrated once.");
        Ok(ExitCode::SUCCESS)
    }
}

impl Stage {
    fn play(&self) -> Result<()> {
        say("1. Set up the release `shop` at 1.0.0: actions before and after, the sync between them.");
        self.pintle(&["up", &self.0.document("release.yml")])?;
        self.expect("1.0.0", &[])?;

        say("2. Upgrade to 1.1.0 by the driver's action: stop the worker, set the version, migrate, start it again.");
        self.pintle(&["up", &self.0.document("release-1.1.0.yml")])?;
        self.pintle(&["steps", "shop-2"])?;
        self.expect("1.1.0", &["1.1.0"])?;

        say("3. Upgrade to 1.2.0, and kill Pintle with -9 in the middle of the migration.");
        let document = self.0.document("release-1.2.0.yml");
        let mut up = self.start(&["up", &document])?;
        let reached = self.wait_for_migration("1.2.0", &mut up);
        up.kill()?;
        let status = up.wait()?;
        reached?;
        println!("\nPintle {} is dead ({status}); the migration's process runs on.\n", up.id());

        say("4. Start Pintle again: it goes on where the change was.");
        self.pintle(&["up", &document])?;
        self.pintle(&["steps", "shop-3"])?;
        self.expect("1.2.0", &["1.1.0", "1.2.0"])
    }

    /// The shop itself tells: its version and schema on the health page, and one run of each migration in its database.
    fn expect(&self, version: &str, migrated: &[&str]) -> Result<()> {
        let status = self.0.status()?.context("the shop has no data")?;
        println!("shop db status: {status}");
        ensure!(status["schema"] == version, "the schema is {}, not {version}", status["schema"]);
        let runs = status["migrations"].as_array().context("the shop lists no migrations")?;
        let names: Vec<&str> = runs.iter().filter_map(|run| run["version"].as_str()).collect();
        ensure!(names == migrated, "migrations ran for {names:?}, not for {migrated:?}");
        for run in runs {
            ensure!(run["started"] == 1 && run["finished"] == 1, "a migration did not run exactly once: {run}");
        }
        let page = self.0.page("/healthz")?;
        println!("GET /healthz: {page}\n");
        ensure!(page["version"] == version && page["schema"] == version, "the health page says {page}");
        let release: Value = serde_json::from_slice(&read(&mut self.0.pintle(&["get", "releases", "-o", "json"]))?)?;
        ensure!(release.to_string().contains(version), "`get releases` does not say {version}: {release}");
        Ok(())
    }

    /// Waits until the shop has started and not finished the migration.
    #[expect(clippy::disallowed_methods, reason = "the demo watches real processes by the real clock")]
    fn wait_for_migration(&self, version: &str, up: &mut Child) -> Result<()> {
        let end = Instant::now() + Duration::from_secs(20);
        while Instant::now() < end {
            let status = self.0.status()?.context("the shop has no data")?;
            let runs = status["migrations"].as_array().into_iter().flatten();
            if runs.into_iter().any(|run| run["version"] == version && run["finished"] == 0) {
                return Ok(());
            }
            if let Some(ended) = up.try_wait()? {
                bail!("`pintle up` ended with {ended} before the migration could be interrupted");
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        bail!("the migration to {version} did not start")
    }

    fn pintle(&self, args: &[&str]) -> Result<()> {
        announce(args);
        run(&mut self.0.pintle(args))
    }

    fn start(&self, args: &[&str]) -> Result<Child> {
        announce(args);
        self.0.pintle(args).spawn().context("cannot start pintle")
    }
}

fn announce(args: &[&str]) {
    println!("$ pintle {}", args.join(" "));
}

fn say(words: &str) {
    println!("\n── {words}\n");
}
