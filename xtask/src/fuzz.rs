//! `cargo xtask fuzz`: what reads foreign bytes is given what libFuzzer makes up, from the corpus in `tests/fuzz`. The stable
//! compiler does: the counters are LLVM's own, and libFuzzer is built from source by the C++ compiler of the machine.

mod cover;

use std::{
    ffi::OsString,
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    io,
    path::{Path, PathBuf},
    process::{Command, ExitCode, ExitStatus, Stdio},
    time::Instant,
};

use anyhow::{Context, Result, ensure};

use crate::{
    stage::stage,
    workspace::{Workspace, read, run, shown},
};

/// What reads foreign bytes, and what one input may cost it.
struct Target {
    name: &'static str,
    /// Bytes of the longest input.
    longest: u32,
    /// An input that takes more seconds is a fault.
    slowest: u32,
    /// So is a process that grows beyond this many MiB: one input takes too much, or all leave something behind.
    memory: u32,
}

const TARGETS: [Target; 5] = [
    Target { name: "segment", longest: 16 << 10, slowest: 10, memory: 512 },
    Target { name: "record", longest: 16 << 10, slowest: 10, memory: 512 },
    Target { name: "driver", longest: 16 << 10, slowest: 10, memory: 512 },
    Target { name: "release", longest: 16 << 10, slowest: 10, memory: 512 },
    // A module may compute for 2 s while it describes itself.
    Target { name: "admission", longest: 64 << 10, slowest: 20, memory: 1024 },
];

/// What the repository keeps of each: so many inputs, of so many bytes.
const KEPT: usize = 36;
const KEPT_BYTES: u64 = 8 << 10;

/// Whose program needs wasmtime, which takes minutes to compile.
const HEAVY: &str = "admission";

/// What libFuzzer calls inputs that it writes because they failed.
const FAILED: [&str; 4] = ["crash-", "timeout-", "oom-", "leak-"];

/// Give what reads foreign bytes inputs that nobody thought of
///
/// Fails with the path of the input that panics, takes too long or too much memory. Needs a C++ compiler.
#[derive(clap::Args)]
pub struct Fuzz {
    /// One of segment, record, driver, release, admission; by default each of them
    #[arg(value_parser = TARGETS.map(|target| target.name))]
    target: Option<String>,
    /// How long each runs
    #[arg(long, default_value_t = 60)]
    seconds: u32,
    /// Seed of what is made up; by default a new one, which is printed
    #[arg(long)]
    seed: Option<u32>,
    /// Make the corpus anew, of itself and of what is found: the few inputs that reach the most
    #[arg(long)]
    keep: bool,
}

/// Where things are.
struct Places {
    /// Corpus, faults and dictionaries.
    kept: PathBuf,
    programs: PathBuf,
    /// Of this run.
    scratch: PathBuf,
}

impl Fuzz {
    pub fn run(self, workspace: &Workspace) -> Result<ExitCode> {
        let is_wanted = |target: &&Target| self.target.as_deref().is_none_or(|name| name == target.name);
        let targets: Vec<_> = TARGETS.iter().filter(is_wanted).collect();
        let programs = stage("build what reads bytes, with counters", || build(workspace, &targets))?;
        let scratch = workspace.scratch("fuzz").join("run");
        let places = Places { kept: workspace.root().join("tests/fuzz"), programs, scratch };
        // libFuzzer takes 0 for none.
        let seed = self.seed.unwrap_or_else(|| fastrand::u32(1..));
        println!("seed {seed}");
        let mut failed = 0;
        for target in targets {
            let found = places.fuzz(target, self.seconds, seed)?;
            failed += u32::from(found.is_some());
            if self.keep {
                places.keep(target)?;
            }
        }
        ensure!(failed == 0, "{failed} of them failed");
        Ok(ExitCode::SUCCESS)
    }
}

/// Builds the programs in a folder of their own; says where they are.
fn build(workspace: &Workspace, targets: &[&Target]) -> Result<PathBuf> {
    let compiler = Command::new("c++").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    ensure!(compiler.is_ok_and(|status| status.success()), "there is no C++ compiler (c++): install g++ or clang");
    let folder = workspace.scratch("fuzz").join("build");
    let host = host()?;
    let features = if targets.iter().any(|target| target.name == HEAVY) { "libfuzzer,admission" } else { "libfuzzer" };
    let mut command = workspace.cargo(["build", "--package", "fuzz", "--no-default-features", "--features", features]);
    // With a target named, build scripts and macros get no flags.
    command.args(["--target", &host, "--target-dir"]).arg(&folder);
    for target in targets {
        command.args(["--bin", &format!("fuzz-{}", target.name)]);
    }
    let wrapper = workspace.root().join("tests/fuzz/instrumented-rustc");
    let mut content = DefaultHasher::new();
    fs::read(&wrapper).with_context(|| format!("cannot read {}", wrapper.display()))?.hash(&mut content);
    // Cargo does not look into a wrapper; this makes it build anew when the wrapper changes.
    command.env("RUSTFLAGS", format!("-Cmetadata=fuzz-{:x}", content.finish())).env_remove("CARGO_ENCODED_RUSTFLAGS");
    command.env("RUSTC_WRAPPER", wrapper);
    run(&mut command)?;
    Ok(folder.join(host).join("debug"))
}

/// The machine that the compiler runs on, as it calls it.
fn host() -> Result<String> {
    let version = String::from_utf8(read(Command::new("rustc").arg("-vV"))?).context("rustc does not print text")?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc names no host")?.to_owned())
}

impl Places {
    /// Runs a target and says in one line what came of it. The input that failed, if one did.
    #[expect(clippy::disallowed_methods, reason = "a run is bounded by the real clock")]
    fn fuzz(&self, target: &Target, seconds: u32, seed: u32) -> Result<Option<PathBuf>> {
        let found = self.found(target);
        emptied(&found)?;
        let Target { name, longest, slowest, memory } = target;
        let mut command = self.program(target);
        command.args([
            format!("-max_total_time={seconds}"),
            format!("-seed={seed}"),
            format!("-max_len={longest}"),
            format!("-timeout={slowest}"),
            format!("-rss_limit_mb={memory}"),
            "-print_final_stats=1".to_owned(),
        ]);
        let dictionary = self.kept.join("dictionaries").join(format!("{name}.dict"));
        if dictionary.exists() {
            command.arg(argument("-dict=", &dictionary));
        }
        // What fails is written beside the folder of what is found.
        let failures = self.scratch.join(format!("{name}-"));
        command.arg(argument("-artifact_prefix=", &failures));
        command.arg(&found).args(self.inputs(target));
        let start = Instant::now();
        let (status, said) = self.log(target, &mut command)?;
        let number = |name: &str| {
            let prefix = format!("stat::{name}:");
            said.lines()
                .rev()
                .find_map(|line| line.strip_prefix(&prefix)?.trim().parse::<u64>().ok())
                .unwrap_or_default()
        };
        let (executions, new) = (number("number_of_executed_units"), number("new_units_added"));
        let failed = if status.success() { None } else { Some(self.failed(target, status)?) };
        println!(
            "{name}: {executions} executions in {} s, {new} new corpus entries, {} crashes",
            start.elapsed().as_secs(),
            u32::from(failed.is_some())
        );
        if let Some(input) = &failed {
            let why = said.lines().skip_while(|line| !line.contains("panicked at")).take(2);
            let why: Vec<_> = why.map(|line| line.chars().take(2_000).collect::<String>()).collect();
            println!("  {}\n  again: {} {}", why.join("\n  "), self.program_path(target).display(), input.display());
            println!("  keep it: put it into tests/fuzz/faults/{name}, where `cargo xtask test` tries it from then on");
        }
        Ok(failed)
    }

    /// Makes the corpus anew of what it has and what was found: the inputs that together reach the most.
    fn keep(&self, target: &Target) -> Result<()> {
        let corpus = self.kept.join("corpus").join(target.name);
        fs::create_dir_all(&corpus).with_context(|| format!("cannot create {}", corpus.display()))?;
        let merged = self.scratch.join("merged");
        emptied(&merged)?;
        // Not from before: a merge would go on with it.
        let control = merged.with_extension("control");
        fs::write(&control, "").with_context(|| format!("cannot create {}", control.display()))?;
        let mut command = self.program(target);
        // By the places that are reached, and not by how often: else hundreds of inputs differ.
        command.args(["-set_cover_merge=1", "-use_counters=0", &format!("-timeout={}", target.slowest)]);
        command.arg(argument("-merge_control_file=", &control));
        command.arg(&merged).arg(&corpus).arg(self.found(target));
        let (status, _) = self.log(target, &mut command)?;
        ensure!(status.success(), "{} ended with {status}", shown(&command));
        let reaches = fs::read_to_string(&control).with_context(|| format!("cannot read {}", control.display()))?;
        let chosen = cover::choose(cover::read(&reaches), KEPT, KEPT_BYTES);
        let inside = |folder: &Path| fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()));
        for entry in inside(&corpus)? {
            let path = entry.context("cannot read the corpus")?.path();
            if !chosen.contains(&path) {
                fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
            }
        }
        for from in chosen.iter().filter(|file| !file.starts_with(&corpus)) {
            let to = corpus.join(from.file_name().context("an input without a name")?);
            fs::copy(from, &to).with_context(|| format!("cannot create {}", to.display()))?;
        }
        println!("{}: {} files are in {}", target.name, inside(&corpus)?.count(), corpus.display());
        Ok(())
    }

    fn found(&self, target: &Target) -> PathBuf {
        self.scratch.join(target.name)
    }

    /// The folders of what is kept.
    fn inputs(&self, target: &Target) -> impl Iterator<Item = PathBuf> {
        ["corpus", "faults"].map(|kind| self.kept.join(kind).join(target.name)).into_iter().filter(|path| path.is_dir())
    }

    fn program_path(&self, target: &Target) -> PathBuf {
        self.programs.join(format!("fuzz-{}", target.name))
    }

    fn program(&self, target: &Target) -> Command {
        Command::new(self.program_path(target))
    }

    /// Runs a program to its end; gives what it said, which stays in a file as well.
    fn log(&self, target: &Target, command: &mut Command) -> Result<(ExitStatus, String)> {
        let path = self.scratch.join(format!("{}.log", target.name));
        let file = fs::File::create(&path).with_context(|| format!("cannot create {}", path.display()))?;
        let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(file).status();
        let status = status.with_context(|| format!("cannot start {}", shown(command)))?;
        let said = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        Ok((status, String::from_utf8_lossy(&said).into_owned()))
    }

    /// The input that libFuzzer wrote when it ended so.
    fn failed(&self, target: &Target, status: ExitStatus) -> Result<PathBuf> {
        let entries = fs::read_dir(&self.scratch).with_context(|| format!("cannot read {}", self.scratch.display()))?;
        let is_failed = |path: &PathBuf| {
            let name = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_prefix(target.name));
            let kind = name.and_then(|name| name.strip_prefix('-'));
            kind.is_some_and(|kind| FAILED.iter().any(|failed| kind.starts_with(failed)))
        };
        let newest = entries
            .flatten()
            .map(|entry| entry.path())
            .filter(is_failed)
            .max_by_key(|path| fs::metadata(path).and_then(|metadata| metadata.modified()).ok());
        let log = self.scratch.join(format!("{}.log", target.name));
        newest.with_context(|| format!("{} ended with {status}, without an input: see {}", target.name, log.display()))
    }
}

fn argument(name: &str, path: &Path) -> OsString {
    let mut argument = OsString::from(name);
    argument.push(path);
    argument
}

/// A folder with nothing in it.
fn emptied(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", folder.display()))
        }
        _ => fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display())),
    }
}
