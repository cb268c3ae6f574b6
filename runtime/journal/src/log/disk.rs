//! The three things that the log asks of a disk, behind a trait so that tests can let each of them fail.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use rustix::fs::FallocateFlags;
use rustix::io::Errno;

/// What the log asks of a disk.
pub(crate) trait Disk: Send + Sync + 'static {
    fn write(&self, file: &File, bytes: &[u8], offset: u64) -> io::Result<()>;

    /// Makes what was written durable, and the size of the file where it grew.
    fn sync(&self, file: &File) -> io::Result<()>;

    /// Makes the file longer by zeros that have their place on the disk.
    fn allocate(&self, file: &File, offset: u64, len: u64) -> io::Result<()>;
}

/// The disk of this machine.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RealDisk;

impl Disk for RealDisk {
    fn write(&self, file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
        file.write_all_at(bytes, offset)
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        file.sync_data()
    }

    fn allocate(&self, file: &File, offset: u64, len: u64) -> io::Result<()> {
        match rustix::fs::fallocate(file, FallocateFlags::empty(), offset, len) {
            Ok(()) => Ok(()),
            // The file system has no such call: the zeros then get their place when they are overwritten.
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => file.set_len(offset + len),
            Err(error) => Err(error.into()),
        }
    }
}
