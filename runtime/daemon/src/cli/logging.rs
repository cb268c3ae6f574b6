//! Logs of Pintle itself: to stderr, never mixed with what a verb prints.

use tracing_subscriber::EnvFilter;

use super::paint::Paint;
use crate::error::Error;

/// The environment variable with the filter.
pub const FILTER: &str = "PINTLE_LOG";

/// `--log`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    Text,
    Json,
}

/// Starts logging, from warnings up where `PINTLE_LOG` says nothing else.
///
/// # Errors
/// Where `PINTLE_LOG` is no filter.
pub fn start(format: LogFormat, paint: Paint) -> Result<(), Error> {
    let filter = match std::env::var(FILTER) {
        Ok(text) if !text.is_empty() => EnvFilter::try_new(&text).map_err(|error| Error::Usage {
            what: format!("{FILTER}=`{text}` is no filter: {error}"),
            cure: format!("as in {FILTER}=info or {FILTER}=warn,pintle_sandbox=debug"),
        })?,
        _ => EnvFilter::new("warn"),
    };
    let start = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    match format {
        LogFormat::Text => start.with_ansi(paint.is_colored()).init(),
        LogFormat::Json => start.json().init(),
    }
    Ok(())
}
