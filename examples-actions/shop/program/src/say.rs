//! Printing that nobody has to read. Whoever started a migration may be killed while it runs; a closed pipe must not be
//! what stops the migration, as it would with `println!`.

use std::{
    fmt,
    io::{self, Write},
};

/// Prints a line to standard output; that it cannot be written is no failure.
pub fn say(line: fmt::Arguments<'_>) {
    let _written = writeln!(io::stdout().lock(), "{line}");
}

/// The same to standard error.
pub fn complain(line: fmt::Arguments<'_>) {
    let _written = writeln!(io::stderr().lock(), "shop: {line}");
}
