//! Who asks, for the record.

/// Name of the user who runs this process.
#[must_use]
pub fn who() -> String {
    let name = |variable: &str| std::env::var(variable).ok().filter(|name| !name.is_empty());
    name("USER").or_else(|| name("LOGNAME")).unwrap_or_else(|| format!("uid {}", rustix::process::getuid().as_raw()))
}
