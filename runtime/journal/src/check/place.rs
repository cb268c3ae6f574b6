//! The check of where the store lies: whether there is room, and whether this user may write there. What is amiss here loses
//! nothing, and yet nothing goes on until somebody does something about it.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{Access, AtFlags, CWD, StatVfsMountFlags, accessat, major, minor, statvfs};

use super::{CheckReport, Severity};
use crate::log::segment;
use crate::store::{StoreOptions, lock};

/// Looks at the file system of the store in `dir`, and at the permissions of what a start opens for writing.
pub(super) fn check(dir: &Path, report: &mut CheckReport) {
    // A file system that does not tell may have room: a start says if it has none.
    if let Ok(stat) = statvfs(dir) {
        if stat.f_flag.contains(StatVfsMountFlags::RDONLY) || is_given_up(dir) {
            let cure = "mount it for writing; after an error of the disk the kernel makes a file system read-only by itself, and \
                        `dmesg` says so";
            return report.find(Severity::Warning, dir, None, "its file system is mounted read-only", cure);
        }
        let (free, wanted) = (stat.f_bavail.saturating_mul(stat.f_frsize), StoreOptions::default().watermark_bytes);
        if free < wanted {
            let what =
                format!("{free} bytes are free on its file system; with fewer than {wanted} no new change opens");
            report.find(Severity::Warning, dir, None, what, "free some space there");
        }
    }
    let log = dir.join("log");
    let last = segment::list(&log).ok().and_then(|numbers| numbers.last().map(|number| segment::path(&log, *number)));
    let files = [dir.join("acked"), lock::file(dir), dir.join("index-v1")];
    for path in [dir.to_owned(), log].into_iter().chain(last).chain(files) {
        if path.exists() && accessat(CWD, &path, Access::WRITE_OK, AtFlags::EACCESS).is_err() {
            let cure = "run Pintle as the owner of the store, or give its owner the permissions on it back";
            report.find(Severity::Warning, &path, None, "this user may not write it", cure);
        }
    }
}

/// Whether the kernel writes nothing any more to the file system of `dir` after an error of the disk: it says so among the options
/// and nowhere else.
fn is_given_up(dir: &Path) -> bool {
    let (Ok(metadata), Ok(mounts)) = (dir.metadata(), std::fs::read_to_string("/proc/self/mountinfo")) else {
        return false;
    };
    let device = format!("{}:{}", major(metadata.dev()), minor(metadata.dev()));
    mounts.lines().filter(|line| line.split(' ').nth(2) == Some(&device)).any(|line| {
        let options = line.rsplit(' ').next().unwrap_or_default();
        options.split(',').any(|option| matches!(option, "emergency_ro" | "shutdown"))
    })
}
