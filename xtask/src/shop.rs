//! A release of the example in a folder of its own, and what can be asked about it from outside: the shop's database, its processes, the journal's export.

use std::{
    fs,
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::{
    examples, processes,
    workspace::{Workspace, read},
};

/// The shop's port in its manifests, which the copy replaces with a free one.
const PORT: &str = "18081";

/// How `pintle` exits where there is no store, or no such release.
pub const NOT_FOUND: i32 = 6;

/// Hooks around each sync, which write down that they ran.
const HOOKS: &str = r#"
lifecycle:
  preSync:
    - name: before
      type: Job
      onFailure: Fail
      cleanup: OnSuccess
      jobTemplate:
        spec:
          backoffLimit: 0
          template:
            spec:
              restartPolicy: Never
              containers:
                - {name: a, image: host, command: [sh, -c, 'echo $PINTLE_HOOK >>"$PINTLE_RELEASE_DIR/hooks.log"; sleep 0.05']}
  postSync:
    - name: after
      type: Pod
      deleteBeforeCreation: true
      podTemplate:
        spec:
          restartPolicy: Never
          containers:
            - {name: a, image: host, command: [sh, -c, 'echo $PINTLE_HOOK >>"$PINTLE_RELEASE_DIR/hooks.log"; sleep 0.05']}
"#;

/// A copy of the example with a state of its own.
pub struct Shop {
    pintle: PathBuf,
    weakening: Option<String>,
    program: PathBuf,
    folder: PathBuf,
    state: PathBuf,
    port: u16,
}

impl Shop {
    /// Copies the example, with a free port and migrations of `migrate_ms` milliseconds.
    pub fn set(workspace: &Workspace, root: &Path, migrate_ms: u32) -> Result<Self> {
        Self::set_in(workspace, root, &root.join("state"), &workspace.program("pintle"), migrate_ms, None)
    }

    /// As [`Self::set`], for this state folder and this program.
    pub fn set_in(
        workspace: &Workspace,
        root: &Path,
        state: &Path,
        pintle: &Path,
        migrate_ms: u32,
        weakening: Option<&str>,
    ) -> Result<Self> {
        let port = TcpListener::bind("127.0.0.1:0").context("no free port")?.local_addr()?.port();
        let shop = Self {
            pintle: pintle.to_owned(),
            weakening: weakening.map(str::to_owned),
            program: workspace.program("shop"),
            folder: root.join("shop"),
            state: state.to_owned(),
            port,
        };
        if root.exists() {
            shop.end_everything()?;
            fs::remove_dir_all(root).with_context(|| format!("cannot remove {}", root.display()))?;
        }
        examples::copy_to(workspace, &shop.folder)?;
        let manifest = shop.folder.join("manifests/server.yml");
        let text = fs::read_to_string(&manifest).with_context(|| format!("cannot read {}", manifest.display()))?;
        let listen = format!("env: {{SHOP_LISTEN: \"127.0.0.1:{PORT}\"");
        ensure!(text.contains(&listen), "{} has no line `{listen}`", manifest.display());
        let slow = format!("{listen}, SHOP_MIGRATE_MS: \"{migrate_ms}\"");
        fs::write(&manifest, text.replace(&listen, &slow).replace(PORT, &port.to_string()))?;
        Ok(shop)
    }

    /// Gives each document of the release hooks that write down that they ran.
    pub fn add_hooks(&self) -> Result<()> {
        for name in ["release.yml", "release-1.1.0.yml", "release-1.2.0.yml"] {
            let path = self.folder.join(name);
            let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
            fs::write(&path, text + HOOKS)?;
        }
        Ok(())
    }

    /// The names of the hooks' workloads that have run since the release was set up, one for each time.
    pub fn hooks_run(&self) -> Result<Vec<String>> {
        let Some(file) = self.release_folder()?.map(|release| release.join("dir/hooks.log")) else {
            return Ok(Vec::new());
        };
        if !file.exists() {
            return Ok(Vec::new());
        }
        let text = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        Ok(text.lines().map(str::to_owned).collect())
    }

    pub fn document(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }

    pub fn state(&self) -> &Path {
        &self.state
    }

    /// The JSON of a page of the shop.
    pub fn page(&self, path: &str) -> Result<Value> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).context("the shop does not listen")?;
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        write!(stream, "GET {path} HTTP/1.0\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let (head, body) = answer.split_once("\r\n\r\n").context("the shop did not answer by HTTP")?;
        ensure!(head.contains(" 200 "), "the shop answered {head}");
        serde_json::from_str(body.trim()).with_context(|| format!("no JSON: {body}"))
    }

    /// Where everything is that the local platform runs.
    pub fn run_folder(&self) -> PathBuf {
        self.state.join("run")
    }

    /// Pintle with these arguments.
    pub fn pintle(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.pintle);
        command.arg("--state").arg(&self.state).args(args).stdin(Stdio::null());
        if let Some(weakening) = &self.weakening {
            command.env("PINTLE_WEAKENED", weakening);
        }
        command
    }

    /// Starts Pintle with what it prints going to a file.
    pub fn start(&self, args: &[&str], log: &Path) -> Result<Child> {
        let file = fs::File::create(log).with_context(|| format!("cannot write {}", log.display()))?;
        let mut command = self.pintle(args);
        command.stdout(file.try_clone()?).stderr(file);
        command.spawn().context("cannot start pintle")
    }

    /// The journal, record by record.
    pub fn records(&self) -> Result<Vec<Value>> {
        let exported = self.pintle(&["export", "-"]).output().context("cannot start pintle")?;
        match exported.status.code() {
            Some(0) => {}
            // No Pintle has come so far that it made a store.
            Some(NOT_FOUND) => return Ok(Vec::new()),
            _ => bail!("`pintle export` ended with {}: {}", exported.status, String::from_utf8_lossy(&exported.stderr)),
        }
        let lines = exported.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        lines.map(|line| serde_json::from_slice(line).context("the export has a line that is no JSON")).collect()
    }

    /// What `shop db status` says about the newest release; none where it has no data.
    pub fn status(&self) -> Result<Option<Value>> {
        let Some(data) = self.release_folder()?.map(|release| release.join("dir/data")) else { return Ok(None) };
        if !data.join("shop.db").exists() {
            return Ok(None);
        }
        let mut status = Command::new(&self.program);
        status.args(["db", "status", "--json", "--data"]).arg(data);
        Ok(Some(serde_json::from_slice(&read(&mut status)?).context("`shop db status` did not print JSON")?))
    }

    fn release_folder(&self) -> Result<Option<PathBuf>> {
        let run = self.run_folder();
        if !run.exists() {
            return Ok(None);
        }
        let releases = fs::read_dir(&run).with_context(|| format!("cannot read {}", run.display()))?;
        Ok(releases.flatten().map(|entry| entry.path()).find(|path| path.join("dir").is_dir()))
    }

    /// What is known of how processes of the release ended.
    pub fn last_words(&self) -> String {
        let mut words = String::new();
        for workload in ["shop-server", "shop-task-worker"] {
            let Ok(Some(release)) = self.release_folder() else { continue };
            for file in ["shim.json", "process.json", "exit.json", "output.log", "shim.log"] {
                let path = release.join("workloads").join(workload).join("0").join(file);
                let text = fs::read_to_string(&path).unwrap_or_else(|error| error.to_string());
                words.extend([
                    "\n  ",
                    workload,
                    " ",
                    file,
                    ": ",
                    text.trim_end().lines().next_back().unwrap_or_default(),
                ]);
            }
        }
        words
    }

    /// Removes what a deleted release left of data, so that the next one starts empty.
    pub fn forget_data(&self) -> Result<()> {
        while let Some(folder) = self.release_folder()? {
            fs::remove_dir_all(&folder).with_context(|| format!("cannot remove {}", folder.display()))?;
        }
        Ok(())
    }

    /// Removes the journal of a state in which nothing runs, and leaves what is compiled.
    pub fn forget_records(&self) -> Result<()> {
        for entry in fs::read_dir(&self.state).with_context(|| format!("cannot read {}", self.state.display()))? {
            let path = entry?.path();
            let removed = match path.file_name().and_then(|name| name.to_str()) {
                Some("cache" | "modules") => Ok(()),
                _ if path.is_dir() => fs::remove_dir_all(&path),
                _ => fs::remove_file(&path),
            };
            removed.with_context(|| format!("cannot remove {}", path.display()))?;
        }
        Ok(())
    }

    /// Ends the release, however it stands.
    pub fn end_everything(&self) -> Result<()> {
        if !self.state.exists() {
            return Ok(());
        }
        for args in [&["up"][..], &["cancel", "shop"], &["delete", "shop"]] {
            let _ended = self.pintle(args).stdout(Stdio::null()).stderr(Stdio::null()).status();
        }
        // What the journal does not know of any more: a shim that is asked to stop ends its process first.
        processes::end(&processes::shims(&self.run_folder())?)?;
        let left = processes::shims(&self.run_folder())?;
        ensure!(left.is_empty(), "an earlier run left processes in {}: {left:?}", self.state.display());
        Ok(())
    }
}

/// The readable id of a record's change: `shop-12`.
pub fn change_id(record: &Value) -> Option<String> {
    Some(record["change"].as_str()?.rsplit_once('/')?.1.to_owned())
}
