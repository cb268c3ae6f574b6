//! Tests that measure this process: they run in one of their own, since what other tests use must not count.

/// Whether this process runs only the named test. Where it does not, runs one that does, and demands that it passes.
pub fn alone(test: &str) -> bool {
    const ALONE: &str = "PINTLE_TEST_ALONE";
    if std::env::var_os(ALONE).is_some() {
        return true;
    }
    let mut alone = std::process::Command::new(std::env::current_exe().unwrap());
    let output = alone.args(["--exact", test, "--nocapture"]).env(ALONE, "1").output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}{}", String::from_utf8_lossy(&output.stderr));
    false
}

/// A number of this process in KiB: `RssAnon`, `VmHWM`.
pub fn status_kib(name: &str) -> u64 {
    status(name).trim_end_matches(" kB").parse().unwrap()
}

/// Threads of this process.
pub fn threads() -> u64 {
    status("Threads").parse().unwrap()
}

fn status(name: &str) -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.unwrap_or_else(|| panic!("no {name} in {status}")).trim().to_owned()
}
