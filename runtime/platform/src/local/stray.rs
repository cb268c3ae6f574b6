//! Shims that run on although somebody removed or replaced their folder under them. Nothing in the folders tells of them, so they
//! are looked for among the processes; else the same would be started a second time beside them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::held::{folder_of_shim, holds};
use super::kin::Kin;
use super::launch::LOCK;
use super::process::Identity;

/// A shim whose folder is not the one that it was started with any more.
#[derive(Debug)]
pub(super) struct Stray {
    shim: Identity,
    dir: PathBuf,
}

impl Stray {
    /// Those whose folder is or was this one, or below it.
    pub(super) fn find(folder: &Path) -> io::Result<Vec<Self>> {
        let mut strays = Vec::new();
        for entry in fs::read_dir("/proc")? {
            let Some(pid) = entry?.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else { continue };
            let Some(dir) = folder_of_shim(pid).filter(|dir| dir.starts_with(folder)) else { continue };
            // In another container the same path is another folder.
            if !sees_our_files(pid) || holds(pid, &dir.join(LOCK))? {
                continue;
            }
            // One that has ended meanwhile is none.
            if let Ok(shim) = Identity::of(pid) {
                strays.push(Self { shim, dir });
            }
        }
        Ok(strays)
    }

    pub(super) fn pid(&self) -> i32 {
        self.shim.pid
    }

    /// Ends it with all that came of it.
    pub(super) async fn end(self) -> io::Result<()> {
        if let Some(shim) = self.shim.open()? {
            tracing::warn!(pid = self.shim.pid, dir = %self.dir.display(), "the folder of this shim was removed: ending it");
            shim.end().await?;
        }
        Kin { dir: self.dir, shim: self.shim, leaders: Vec::new(), container: None }.end().await
    }
}

fn sees_our_files(pid: i32) -> bool {
    let namespace = |process: &str| fs::read_link(format!("/proc/{process}/ns/mnt")).ok();
    namespace("self").is_some_and(|ours| namespace(&pid.to_string()) == Some(ours))
}
