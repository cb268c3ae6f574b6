//! What a process printed, bounded: a pair of files, of which the older is dropped when the newer is full, and the end of both
//! for people.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use pintle_lifecycle::call::Output;

/// A full file becomes the older one: together at most 1 MiB.
const FULL: u64 = 512 << 10;
/// Of the end that is kept with a result.
const TAIL_LINES: usize = 200;
const TAIL_BYTES: usize = 64 << 10;

/// The files of an instance, oldest output first. One of them, or both, may not be there.
pub(super) fn files(dir: &Path) -> [PathBuf; 2] {
    [dir.join("output.1.log"), dir.join("output.log")]
}

/// Writes output as it comes.
#[derive(Debug)]
pub(super) struct Writer {
    files: [PathBuf; 2],
    newer: File,
    len: u64,
}

impl Writer {
    pub(super) fn open(dir: &Path) -> io::Result<Self> {
        let files = files(dir);
        let newer = OpenOptions::new().create(true).append(true).mode(0o600).open(&files[1])?;
        let len = newer.metadata()?.len();
        Ok(Self { files, newer, len })
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.len >= FULL {
            fs::rename(&self.files[1], &self.files[0])?;
            self.newer = OpenOptions::new().create(true).append(true).mode(0o600).open(&self.files[1])?;
            self.len = 0;
        }
        self.newer.write_all(bytes)?;
        self.len += bytes.len() as u64;
        Ok(())
    }

    pub(super) fn sync(&self) -> io::Result<()> {
        self.newer.sync_all()
    }
}

/// The end of what an instance printed.
pub(super) fn tail(dir: &Path) -> io::Result<Output> {
    let mut bytes = Vec::new();
    for file in files(dir) {
        match fs::read(file) {
            Ok(part) => bytes.extend(part),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(tail_of(&bytes))
}

/// The last lines that fit, whole unless a single line is longer than all that may be kept. What is no UTF-8 becomes `�`.
fn tail_of(bytes: &[u8]) -> Output {
    let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let mut lines = Vec::new();
    let mut free = TAIL_BYTES;
    let mut cut = false;
    for line in bytes.rsplit(|&byte| byte == b'\n') {
        let line = String::from_utf8_lossy(line);
        // Each line costs its line break; the last one has none.
        let cost = line.len() + usize::from(!lines.is_empty());
        if lines.len() == TAIL_LINES || cost > free {
            cut = true;
            if lines.is_empty() {
                lines.push(line[line.ceil_char_boundary(line.len() - TAIL_BYTES)..].to_owned());
            }
            break;
        }
        free -= cost;
        lines.push(line.into_owned());
    }
    lines.reverse();
    Output { text: lines.join("\n"), cut }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_output_is_kept_whole() {
        assert_eq!(tail_of(b""), Output::default());
        assert_eq!(tail_of(b"a\nb\n"), Output { text: "a\nb".into(), cut: false });
        assert_eq!(tail_of(b"a\n\n"), Output { text: "a\n".into(), cut: false });
    }

    #[test]
    fn the_last_200_lines_stay() {
        let lines: Vec<String> = (1..=201).map(|n| n.to_string()).collect();
        let kept = tail_of(lines[..200].join("\n").as_bytes());
        assert!(!kept.cut);
        let kept = tail_of(lines.join("\n").as_bytes());
        assert!(kept.cut && kept.text.starts_with("2\n") && kept.text.ends_with("\n201"));
    }

    #[test]
    fn lines_are_dropped_whole_and_a_single_long_line_loses_its_start() {
        let long = "x".repeat(TAIL_BYTES - 2);
        assert_eq!(tail_of(format!("a\n{long}").as_bytes()), Output { text: format!("a\n{long}"), cut: false });
        assert_eq!(tail_of(format!("ab\n{long}").as_bytes()), Output { text: long, cut: true });
        let kept = tail_of("ä".repeat(TAIL_BYTES).as_bytes());
        assert!(kept.cut);
        assert_eq!(kept.text.len(), TAIL_BYTES);
        // An odd start would split a character: it is dropped.
        let kept = tail_of(format!("{}x", "ä".repeat(TAIL_BYTES)).as_bytes());
        assert_eq!(kept.text.len(), TAIL_BYTES - 1);
    }

    #[test]
    fn broken_utf8_counts_with_what_it_becomes() {
        assert_eq!(tail_of(b"a\xffb\n").text, "a\u{fffd}b");
        let kept = tail_of(&vec![0xff; TAIL_BYTES]);
        assert!(kept.cut && kept.text.len() <= TAIL_BYTES);
    }

    #[test]
    fn the_older_file_is_dropped_when_the_newer_is_full() {
        let dir = tempfile::tempdir().unwrap();
        let mut writer = Writer::open(dir.path()).unwrap();
        let line = format!("{}\n", "x".repeat(1023));
        for n in 0..1600 {
            writer.write(format!("{n:08}{line}").as_bytes()).unwrap();
        }
        let sizes = files(dir.path()).map(|file| fs::metadata(file).unwrap().len());
        assert!(sizes.iter().sum::<u64>() <= 2 * FULL + 2 * 1032, "{sizes:?}");
        let kept = tail(dir.path()).unwrap();
        assert!(kept.cut && kept.text.lines().last().unwrap().starts_with("00001599"));
    }
}
