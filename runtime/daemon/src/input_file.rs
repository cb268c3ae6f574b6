//! Files that people name: read whole, and only as much as a document or a module may have, so that a pipe does not block and a
//! device does not fill memory.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;

/// The largest document, in bytes: what the reader of documents takes.
pub(crate) const DOCUMENT: u64 = 4 << 20;
/// The largest module, in bytes: what the sandbox admits.
pub(crate) const MODULE: u64 = 32 << 20;

/// The bytes of a file.
///
/// # Errors
/// Where it cannot be read, is a pipe or a device, or has more than `limit` bytes.
pub(crate) fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let metadata = fs::metadata(path)?;
    // A folder has an error of its own when it is read.
    if !metadata.is_file() && !metadata.is_dir() {
        return Err(io::Error::other("it is a pipe or a device, not a file"));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("it has more than {limit} bytes")));
    }
    Ok(bytes)
}

/// The text of a document.
///
/// # Errors
/// As [`read`], and `InvalidData` where it is no UTF-8 text.
pub(crate) fn read_text(path: &Path) -> io::Result<String> {
    String::from_utf8(read(path, DOCUMENT)?).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_and_a_pipe_are_refused_and_a_large_file_is_not_read_whole() {
        assert!(read(Path::new("/dev/zero"), 10).unwrap_err().to_string().contains("a device"));
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        assert!(read(&pipe, 10).unwrap_err().to_string().contains("a pipe"));
        let file = folder.path().join("file");
        fs::write(&file, "0123456789").unwrap();
        assert_eq!(read(&file, 10).unwrap(), b"0123456789");
        let error = read(&file, 9).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
        assert!(error.to_string().contains("more than 9 bytes"));
    }
}
