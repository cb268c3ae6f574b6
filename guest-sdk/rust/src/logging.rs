//! Lines for the step's log, which people read with `pintle logs`. Lines of a replay are not written again.
//!
//! ```
//! use pintle_sdk::prelude::*;
//! # let _host = pintle_sdk::fake::Host::new().install();
//! let rows = 3;
//! info!("migrated {rows} rows");
//! warn!(rows = rows, table = "orders", "some rows were skipped");
//! ```

use std::borrow::Cow;
use std::fmt;

use crate::imports::logging as host;

/// How much a line matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Level {
    /// Every detail, for the author.
    Trace,
    /// For the search of a mistake.
    Debug,
    /// What happened.
    Info,
    /// What a person should look at some day.
    Warn,
    /// Why the action fails.
    Error,
}

impl Level {
    /// The name in the WIT: `trace`, `debug`, `info`, `warn` or `error`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Trace => "trace",
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Error => "error",
        }
    }
}

/// Writes a line, with fields that a search of the log can use. The macros are shorter.
pub fn log(level: Level, message: fmt::Arguments<'_>, fields: &[(&str, &dyn fmt::Display)]) {
    let fields: Vec<_> = fields.iter().map(|(key, value)| ((*key).to_owned(), value.to_string())).collect();
    let message = message.as_str().map_or_else(|| Cow::Owned(message.to_string()), Cow::Borrowed);
    host::log(level.as_str(), &message, &fields);
}

/// The common form of the macros: `log!(Level::Info, key = value, …, "format", …)`.
#[doc(hidden)]
#[macro_export]
macro_rules! __log {
    ($level:ident, $($key:ident = $value:expr,)+ $format:literal $($rest:tt)*) => {
        $crate::logging::log(
            $crate::logging::Level::$level,
            ::core::format_args!($format $($rest)*),
            &[$((::core::stringify!($key), &$value)),+],
        )
    };
    ($level:ident, $($message:tt)+) => {
        $crate::logging::log($crate::logging::Level::$level, ::core::format_args!($($message)+), &[])
    };
}

/// Logs every detail: `trace!("…")`, `trace!(key = value, "…")`.
#[macro_export]
macro_rules! trace {
    ($($line:tt)+) => { $crate::__log!(Trace, $($line)+) };
}

/// Logs for the search of a mistake: `debug!("…")`, `debug!(key = value, "…")`.
#[macro_export]
macro_rules! debug {
    ($($line:tt)+) => { $crate::__log!(Debug, $($line)+) };
}

/// Logs what happened: `info!("…")`, `info!(key = value, "…")`.
#[macro_export]
macro_rules! info {
    ($($line:tt)+) => { $crate::__log!(Info, $($line)+) };
}

/// Logs what a person should look at: `warn!("…")`, `warn!(key = value, "…")`.
#[macro_export]
macro_rules! warn {
    ($($line:tt)+) => { $crate::__log!(Warn, $($line)+) };
}

/// Logs why the action fails: `error!("…")`, `error!(key = value, "…")`. The first one is shown with a crash.
#[macro_export]
macro_rules! error {
    ($($line:tt)+) => { $crate::__log!(Error, $($line)+) };
}
