//! Writes the first inputs of the corpus into a folder: `cargo run --package fuzz --bin fuzz-seeds FOLDER`. They are made of real
//! things: what the store writes, the documents of the example, a record of each kind, small modules. The documents of driver.yml
//! and release.yml in the corpus were written by hand, like those of the tests.

use std::path::Path;
use std::{env, fs, io};

use fuzz::seeds;

fn main() -> io::Result<()> {
    let Some(folder) = env::args_os().nth(1) else {
        return Err(io::Error::other("name the folder to write to"));
    };
    for (target, name, bytes) in seeds::all() {
        let folder = Path::new(&folder).join(target);
        fs::create_dir_all(&folder)?;
        fs::write(folder.join(name), bytes)?;
    }
    Ok(())
}
