//! A small file system in memory for the states of a soak, which is filled to its last byte now and then, while changes run.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    process::Command,
    sync::{
        PoisonError, RwLock, RwLockReadGuard,
        atomic::{AtomicU32, AtomicU64, Ordering},
    },
    time::Duration,
};

use anyhow::{Context, Result, ensure};
use fastrand::Rng;
use rustix::fs::{FallocateFlags, fallocate, statvfs};

use super::moments::{in_future, passed, pause};
use super::toll::Toll;

/// With less than this free, Pintle opens no change.
const WATERMARK: u64 = 64 << 20;
/// What one state takes: its reserve, its log, modules, and what its processes keep.
const STATE: u64 = 32 << 20;
/// Less than this may be left over by a file system that gives room in pages.
const PAGE: u64 = 4096;

pub struct SmallDisk {
    mount: PathBuf,
    /// Written to while the disk is full; read while it must not be.
    turn: RwLock<()>,
    /// Odd while the disk is full.
    epoch: AtomicU64,
    fills: AtomicU32,
}

/// A moment in the life of a disk.
#[derive(Debug, Clone, Copy)]
pub struct Mark(u64);

impl SmallDisk {
    /// Mounts one for so many states at a folder, which is made.
    pub fn mount(at: &Path, states: u32) -> Result<Self> {
        ensure!(
            rustix::process::geteuid().is_root(),
            "--full-disk mounts a file system of its own (tmpfs), which needs root: run it as root"
        );
        // What a run that was killed left.
        while unmount(at) {}
        fs::create_dir_all(at).with_context(|| format!("cannot make {}", at.display()))?;
        let size = WATERMARK + STATE * u64::from(states);
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("mode=0700,size={size}"), "pintle-soak"]).arg(at);
        let ended = mount.status().context("cannot start mount")?;
        ensure!(ended.success(), "cannot mount a tmpfs at {}: {ended}", at.display());
        Ok(Self { mount: at.to_owned(), turn: RwLock::default(), epoch: AtomicU64::new(0), fills: AtomicU32::new(0) })
    }

    pub fn path(&self) -> &Path {
        &self.mount
    }

    pub fn mark(&self) -> Mark {
        Mark(self.epoch.load(Ordering::SeqCst))
    }

    /// Whether it was full at some time since then, or still was at that moment.
    pub fn was_full_since(&self, Mark(then): Mark) -> bool {
        then % 2 == 1 || self.epoch.load(Ordering::SeqCst) != then
    }

    /// While this is held, the disk has room.
    pub fn calm(&self) -> RwLockReadGuard<'_, ()> {
        self.turn.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fills it again and again, each time for a while, until the soak is over.
    pub fn fill_now_and_then(&self, mut rng: Rng, toll: &Toll) -> Result<()> {
        while !toll.is_over() {
            let pause_end = in_future(Duration::from_millis(rng.u64(500..4_000)));
            while !passed(pause_end) && !toll.is_over() {
                pause(Duration::from_millis(20));
            }
            let _turn = self.turn.write().unwrap_or_else(PoisonError::into_inner);
            self.epoch.fetch_add(1, Ordering::SeqCst);
            // Once, so that whoever gives up a reserve has it; or again and again, so that nothing helps.
            let filled = self.keep_full(Duration::from_millis(rng.u64(100..2_000)), rng.bool());
            self.epoch.fetch_add(1, Ordering::SeqCst);
            filled?;
        }
        println!("the disk was filled to 0 free bytes {} times", self.fills.load(Ordering::SeqCst));
        Ok(())
    }

    fn keep_full(&self, time: Duration, again: bool) -> Result<()> {
        let path = self.mount.join("filler");
        let filler = File::create(&path).with_context(|| format!("cannot make {}", path.display()))?;
        let end = in_future(time);
        let mut length = self.fill(&filler, 0)?;
        let mut least = self.free()?;
        while !passed(end) {
            pause(Duration::from_millis(5));
            if again {
                length = self.fill(&filler, length)?;
                least = least.min(self.free()?);
            }
        }
        drop(filler);
        fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
        ensure!(least < PAGE, "the disk could not be filled: {least} bytes were left");
        self.fills.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }

    /// Lets the file take all that is free; gives its new length.
    fn fill(&self, filler: &File, mut length: u64) -> Result<u64> {
        let mut piece = self.free()?;
        while piece >= PAGE {
            match fallocate(filler, FallocateFlags::empty(), length, piece) {
                Ok(()) => length += piece,
                // Others take and give meanwhile.
                Err(rustix::io::Errno::NOSPC) => piece = piece / 2 / PAGE * PAGE,
                Err(error) => return Err(io::Error::from(error)).context("cannot fill the disk"),
            }
        }
        Ok(length)
    }

    fn free(&self) -> Result<u64> {
        let stat = statvfs(&self.mount).map_err(io::Error::from).context("cannot ask for free space")?;
        Ok(stat.f_bavail * stat.f_frsize)
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        if !unmount(&self.mount) {
            eprintln!("{} is still mounted: end what uses it, and `umount` it", self.mount.display());
        }
    }
}

/// Whether something was mounted there and is not any more.
fn unmount(at: &Path) -> bool {
    let mut unmount = Command::new("umount");
    unmount.arg("--quiet").arg(at).stderr(std::process::Stdio::null());
    unmount.status().is_ok_and(|status| status.success())
}
