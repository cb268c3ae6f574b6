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
const WHOLE: Room = Room { lines: TAIL_LINES, bytes: TAIL_BYTES };

/// What may be kept.
#[derive(Debug, Clone, Copy)]
struct Room {
    lines: usize,
    bytes: usize,
}

/// The files of an instance, oldest output first. One of them, or both, may not be there.
pub(super) fn files(dir: &Path) -> [PathBuf; 2] {
    [dir.join("output.1.log"), dir.join("output.log")]
}

/// The folder in an instance for the output of one of its containers.
pub(super) fn of_container(dir: &Path, name: &str) -> PathBuf {
    dir.join("containers").join(name)
}

/// Writes output as it comes. What cannot be written is counted and cut: a full disk costs output, not the process.
#[derive(Debug)]
pub(super) struct Writer {
    files: [PathBuf; 2],
    newer: File,
    len: u64,
    /// Bytes since the last that were written.
    missing: u64,
    lost: u64,
}

impl Writer {
    pub(super) fn open(dir: &Path) -> io::Result<Self> {
        let files = files(dir);
        let newer = open(&files[1])?;
        let len = newer.metadata()?.len();
        Ok(Self { files, newer, len, missing: 0, lost: 0 })
    }

    pub(super) fn write(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        // Nothing is written behind a gap before the gap is told.
        if self.turn_over().is_ok() && self.tell_gap() {
            rest = &bytes[self.take(bytes)..];
        }
        self.missing += rest.len() as u64;
        self.lost += rest.len() as u64;
    }

    /// Makes durable what could be written. Gives how many bytes were cut.
    pub(super) fn finish(&mut self) -> u64 {
        // What cannot be told here is told with the end.
        let _told = self.tell_gap();
        // Lost output is no reason to lose the result as well.
        let _lost = self.newer.sync_all();
        self.lost
    }

    /// A full file becomes the older one.
    fn turn_over(&mut self) -> io::Result<()> {
        if self.len < FULL {
            return Ok(());
        }
        match fs::rename(&self.files[1], &self.files[0]) {
            // It was renamed before, and no new one could be made.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            renamed => renamed?,
        }
        self.newer = open(&self.files[1])?;
        self.len = 0;
        Ok(())
    }

    fn tell_gap(&mut self) -> bool {
        if self.missing > 0 {
            let line = format!("\n({})\n", cut(self.missing));
            if self.take(line.as_bytes()) < line.len() {
                return false;
            }
            self.missing = 0;
        }
        true
    }

    /// Writes as much as the disk takes; gives how much that was.
    fn take(&mut self, bytes: &[u8]) -> usize {
        let mut taken = 0;
        while taken < bytes.len() {
            match self.newer.write(&bytes[taken..]) {
                Ok(0) => break,
                Ok(more) => taken += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        self.len += taken as u64;
        taken
    }
}

fn open(file: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).mode(0o600).open(file)
}

/// What a person is told of output that is missing.
fn cut(bytes: u64) -> String {
    format!("{bytes} bytes of the output are cut: they could not be written, as on a full disk")
}

/// The ends of what several printed, by their names and folders, each under its name where more than one did. The first has all the
/// room, the others what is left of it. `lost` bytes could not be written.
pub(super) fn tails<'a>(parts: impl Iterator<Item = (&'a str, PathBuf)>, lost: u64) -> io::Result<Output> {
    let mut printed = Vec::new();
    for (name, dir) in parts {
        let bytes = read(&dir)?;
        if !bytes.is_empty() {
            printed.push((name, bytes));
        }
    }
    Ok(without(tails_of(&printed), lost))
}

fn tails_of(printed: &[(&str, Vec<u8>)]) -> Output {
    if let [(_, bytes)] = printed {
        return tail_of(bytes, WHOLE);
    }
    let mut output = Output::default();
    let mut room = WHOLE;
    for (name, bytes) in printed {
        let line_break = if output.text.is_empty() { "" } else { "\n" };
        let head = format!("{line_break}==> {name} <==\n");
        if room.lines < 2 || room.bytes <= head.len() {
            output.cut = true;
            break;
        }
        let tail = tail_of(bytes, Room { lines: room.lines - 1, bytes: room.bytes - head.len() });
        room.lines -= 1 + tail.text.split('\n').count();
        room.bytes -= head.len() + tail.text.len();
        output.text.extend([head.as_str(), &tail.text]);
        output.cut |= tail.cut;
    }
    output
}

/// The end of what an instance printed, of which `lost` bytes could not be written.
pub(super) fn tail_without(dir: &Path, lost: u64) -> io::Result<Output> {
    Ok(without(tail(dir)?, lost))
}

fn without(mut output: Output, lost: u64) -> Output {
    if lost > 0 {
        output.cut = true;
        let words = cut(lost);
        // Where all of it is in one place, that place tells it.
        if !output.text.contains(&words) {
            let line_break = if output.text.is_empty() || output.text.ends_with('\n') { "" } else { "\n" };
            output.text.extend([line_break, "(", &words, ")"]);
        }
    }
    output
}

/// The end of what an instance printed.
pub(super) fn tail(dir: &Path) -> io::Result<Output> {
    Ok(tail_of(&read(dir)?, WHOLE))
}

fn read(dir: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    for file in files(dir) {
        match fs::read(file) {
            Ok(part) => bytes.extend(part),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(bytes)
}

/// The last lines that fit, whole unless a single line is longer than all that may be kept. What is no UTF-8 becomes `�`.
fn tail_of(bytes: &[u8], room: Room) -> Output {
    let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let mut lines = Vec::new();
    let mut free = room.bytes;
    let mut cut = false;
    for line in bytes.rsplit(|&byte| byte == b'\n') {
        let line = String::from_utf8_lossy(line);
        // Each line costs its line break; the last one has none.
        let cost = line.len() + usize::from(!lines.is_empty());
        if lines.len() == room.lines || cost > free {
            cut = true;
            if lines.is_empty() {
                lines.push(line[line.ceil_char_boundary(line.len() - room.bytes)..].to_owned());
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

    fn tail_of(bytes: &[u8]) -> Output {
        super::tail_of(bytes, WHOLE)
    }

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
    fn the_first_of_several_has_the_room_and_the_others_what_it_leaves() {
        let part = |name, text: &str| (name, text.as_bytes().to_vec());
        assert_eq!(tails_of(&[part("a", "1\n2\n")]).text, "1\n2");
        let kept = tails_of(&[part("b", "1\n2\n"), part("a", "3")]);
        assert_eq!(kept, Output { text: "==> b <==\n1\n2\n==> a <==\n3".into(), cut: false });
        let lines = |count: usize| "x\n".repeat(count);
        for (first, second, kept_of_second, cut) in [(197, 1, 1, false), (190, 20, 8, true), (198, 5, 0, true)] {
            let kept = tails_of(&[part("b", &lines(first)), part("a", &lines(second))]);
            assert!(kept.text.lines().count() <= TAIL_LINES);
            let of_second = kept.text.split_once("==> a <==\n").map_or(0, |(_, text)| text.lines().count());
            assert_eq!((of_second, kept.cut), (kept_of_second, cut), "{first} {second}");
        }
        let long = "x".repeat(TAIL_BYTES - 30);
        let kept = tails_of(&[part("b", &long), part("a", "0123456789")]);
        assert!(
            kept.cut && kept.text.len() == TAIL_BYTES && kept.text.ends_with("==> a <==\n123456789"),
            "{}",
            kept.text.len()
        );
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
            writer.write(format!("{n:08}{line}").as_bytes());
        }
        let sizes = files(dir.path()).map(|file| fs::metadata(file).unwrap().len());
        assert!(sizes.iter().sum::<u64>() <= 2 * FULL + 2 * 1032, "{sizes:?}");
        let kept = tail(dir.path()).unwrap();
        assert!(kept.cut && kept.text.lines().last().unwrap().starts_with("00001599"));
        assert_eq!(writer.finish(), 0);
    }

    #[test]
    fn what_cannot_be_written_is_counted_and_told_where_it_is_missing() {
        let dir = tempfile::tempdir().unwrap();
        let mut writer = Writer::open(dir.path()).unwrap();
        writer.write(b"before");
        // As full as a disk gets.
        let file = std::mem::replace(&mut writer.newer, File::options().write(true).open("/dev/full").unwrap());
        writer.write(b"12345");
        writer.write(b"678");
        assert_eq!(tail_without(dir.path(), 8).unwrap(), Output { text: format!("before\n({})", cut(8)), cut: true });
        writer.newer = file;
        writer.write(b"after");
        assert_eq!(writer.finish(), 8);
        let told = format!("before\n({})\nafter", cut(8));
        assert_eq!(tail_without(dir.path(), 8).unwrap(), Output { text: told.clone(), cut: true });
        assert_eq!(tail_without(dir.path(), 9).unwrap().text, format!("{told}\n({})", cut(9)));
    }
}
